package podres

// Found reports whether a kubelet's socket stands at one of the paths, which are as in Config.Sockets. A directory or a file
// in its place counts too: there somebody meant a kubelet to be, and Read says what is wrong.
func Found(sockets []string) bool {
	if len(sockets) == 0 {
		sockets = usualSockets()
	}
	for _, path := range sockets {
		if _, err := lookAt(path); err != errAbsent {
			return true
		}
	}
	return false
}
