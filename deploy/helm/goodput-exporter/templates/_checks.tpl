{{/* Values that contradict one another, each with a remedy. */}}
{{- define "goodput-exporter.checks" -}}
{{- $facts := include "goodput-exporter.facts" . | fromJson -}}
{{- $tree := include "goodput-exporter.tree" . | fromJson -}}
{{- $engines := $tree.engines | default dict -}}
{{- $gpu := $tree.gpu | default dict -}}
{{- if not $tree.slos -}}
{{- fail "config.slos is empty: name at least one objective, such as {name: chat, clauses: {ttft: 500ms}, objective: 0.95}" -}}
{{- end -}}
{{- if eq .Values.mode "node" -}}
  {{- if and $facts.pods (eq $facts.scope "cluster") -}}
  {{- fail "mode is node, and config.engines.kubernetes.scope is cluster: every node would poll all engines. Set mode: central, or leave scope out" -}}
  {{- end -}}
  {{- if $engines.targets -}}
  {{- fail "mode is node, and config.engines.targets has addresses: every node would poll them, and every request would be counted once a node. Set mode: central in a release of its own" -}}
  {{- end -}}
  {{- if not (or $facts.pods $engines.files) -}}
  {{- fail "mode is node, and config has neither engines.kubernetes nor engines.files: no engine would be found. Set config.engines.kubernetes to {}" -}}
  {{- end -}}
{{- else -}}
  {{- if and $facts.pods (ne $facts.scope "cluster") -}}
  {{- fail "mode is central, and engines.kubernetes.scope in configFile is not cluster: pods of one node would be looked at. Set it to cluster" -}}
  {{- end -}}
  {{- if not (or $facts.pods $engines.targets $engines.files) -}}
  {{- fail "mode is central, and config names no engines: set config.engines.kubernetes to {}, or give engines.targets or engines.files" -}}
  {{- end -}}
  {{- $asked := .Values.config.gpu | default dict -}}
  {{- if or $facts.kubelet (eq (toString (dig "pod_resources" "enabled" "" $asked)) "true") (has (dig "source" "" $asked) (list "dcgm" "dcgm-exporter")) $asked.url $asked.kubernetes $asked.engines $asked.cost -}}
  {{- fail "mode is central, and config.gpu asks for the GPUs of a node: install mode node for these, and take that out of config.gpu here" -}}
  {{- end -}}
{{- end -}}
{{- if and $facts.of $facts.page (not (dig "namespaces" list ($gpu.kubernetes | default dict))) -}}
{{- fail "config.engines.kubernetes.namespaces restricts what may be read, and the dcgm-exporter's namespace is not known: set config.gpu.kubernetes.namespaces, such as [gpu-operator], or config.gpu.source to none" -}}
{{- end -}}
{{- if $facts.child -}}
  {{- $address := dig "address" "" ($gpu.dcgm | default dict) -}}
  {{- if dig "embedded" false ($gpu.dcgm | default dict) -}}
  {{- if $address -}}
  {{- fail "config.gpu.dcgm has embedded and an address, and there is one host engine: set config.gpu.dcgm.address to null" -}}
  {{- end -}}
  {{- else if or (not $address) (hasPrefix "localhost:" $address) (hasPrefix "127." $address) -}}
  {{- fail "DCGM is to be read, and no host engine listens inside the pod: set config.gpu.dcgm.address to where it is, such as nvidia-dcgm.gpu-operator.svc:5555, or config.gpu.dcgm.embedded to true" -}}
  {{- end -}}
{{- end -}}
{{- if and $facts.child (eq (empty .Values.dcgm.image) (empty .Values.dcgm.libraryHostPath)) -}}
{{- fail "goodput-dcgm needs one libdcgm.so.4: set dcgm.image to the image of the host engine, out of which it is copied, or else dcgm.libraryHostPath to a directory of the nodes" -}}
{{- end -}}
{{- if and (not $facts.child) (or .Values.dcgm.image .Values.dcgm.libraryHostPath) -}}
{{- fail (printf "dcgm says where goodput-dcgm has its library from, and with mode %s and config.gpu.source %s it is not run: set that to dcgm or auto, or take out dcgm" .Values.mode $facts.source) -}}
{{- end -}}
{{- if and .Values.dra.enabled (not (and $facts.kubelet $facts.pods)) -}}
{{- fail "dra.enabled is about the claims that the kubelet tells of, for pods that are engines: set config.gpu.pod_resources.enabled to true and config.engines.kubernetes to {} as well" -}}
{{- end -}}
{{- if regexMatch "://[^/\"@]+@" (include "goodput-exporter.tree" .) -}}
{{- fail "a URL in config holds a user, and a ConfigMap keeps no secret: put the password into a Secret, name that under secrets, and set access.basic_auth with its password_file" -}}
{{- end -}}
{{- $own := include "goodput-exporter.ownLabels" . | fromYaml -}}
{{- range list "commonLabels" "podLabels" -}}
  {{- range $key, $value := get $.Values . -}}
  {{- if hasKey $own $key -}}
  {{- fail (printf "%s is a label that the chart gives, and selectors, jobs or helm go by it: take it out of commonLabels and podLabels" $key) -}}
  {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and .Values.prometheusAnnotations .Values.podMonitor.enabled -}}
{{- fail "prometheusAnnotations and podMonitor.enabled are both set: a Prometheus that heeds both would scrape each pod twice. Keep one" -}}
{{- end -}}
{{- end }}
