package catalog

// UnmatchedMeaning is what a reason of goodput_spans_unmatched_total means and what to do about it, as two sentences
// without their last stop; "" for a word that is none of its reasons.
func UnmatchedMeaning(reason string) (meaning, remedy string) {
	const name = "have each engine name itself: OTEL_RESOURCE_ATTRIBUTES=goodput.engine=ID, with the id of its target"
	switch reason {
	case "engine":
		return "its goodput.engine is the id of no target", "give the target that id, or the engine the id that its target has"
	case "pod":
		return "no target is of its pod", "give its target the label pod_uid, or pod_name and pod_namespace; or poll that engine too"
	case "ambiguous":
		return "several targets are of its pod or at its address", name
	case "nothing":
		return "nothing on it tells which of several targets it is of", name
	case "no_target":
		return "there is no target", "name the engine under engines.targets, or find out who sends spans here"
	}
	return "", ""
}
