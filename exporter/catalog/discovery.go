package catalog

// PodStates are the words of the label state: what became of the pods that are meant for engines.
func PodStates() []string {
	return []string{"polled", "starting", "pending", "ended", "terminating", "no_endpoint", "refused"}
}

func discoverySeries() []Series {
	source := []string{LabelSource}
	return in(GroupSelf,
		Series{
			Name: DiscoveryUp, Kind: Gauge, Unit: "boolean", Stability: Experimental, Labels: source,
			What: "1 while what discovery has found is all there is, else 0: then, in all namespaces or in one of those that are named, the engines that it found last are polled on, new ones are not seen, and those that went are down. Absent where discovery is not configured.",
		},
		Series{
			Name: DiscoverySynced, Kind: Gauge, Unit: "seconds since 1970", Stability: Experimental, Labels: source,
			What: "When discovery was last told what there is, or that nothing is new. The oldest such word, where several namespaces are named; one of which nothing was heard yet is left out, and holds " + DiscoveryUp + " at 0. Absent until something was heard.",
		},
		Series{
			Name: DiscoveryPods, Kind: Gauge, Unit: "pods", Stability: Experimental, Labels: []string{LabelState},
			What: "Pods that a selector fits, by what became of them. A pod may hold several engines. 0 for a state that no pod is in; absent until discovery was told what there is. Where several namespaces are named, those of which nothing was heard yet are left out, and " + DiscoveryUp + " is 0. Pods that no selector fits are not counted.",
		},
		Series{
			Name: EnginesStarting, Kind: Gauge, Unit: "engines", Stability: Experimental,
			What: "Engines that discovery has found, that have not become ready since their container started and have never answered, as while a model is loaded. They have no " + EngineUp + ". Absent where discovery is not configured.",
		},
	)
}
