package main

import "strings"

// shell takes apart what engine-flags prints: assignments of variables, which stand before a command, and the options
// that stand behind it. Comments say things to a person and are left out.
func shell(text string) (env, options string) {
	var before, behind []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSpace(line), `\`)
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "-"):
			behind = append(behind, line)
		default:
			before = append(before, line)
		}
	}
	return strings.Join(before, " "), strings.Join(behind, " ")
}
