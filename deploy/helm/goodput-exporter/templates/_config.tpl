{{/* goodput.yaml as a tree, in JSON. In central mode pods of all nodes are meant, seconds matter less than what many pages
cost, and there is no GPU to read. */}}
{{- define "goodput-exporter.tree" -}}
{{- $tree := deepCopy .Values.config -}}
{{- if .Values.configFile -}}
{{- $tree = fromYaml .Values.configFile -}}
{{- with $tree.Error -}}
{{- fail (printf "configFile is not YAML: %s" .) -}}
{{- end -}}
{{- else if eq .Values.mode "central" -}}
{{- $engines := $tree.engines | default dict -}}
{{- if kindIs "map" $engines.kubernetes -}}
{{- $_ := set $engines "kubernetes" (mergeOverwrite (dict "scope" "cluster") $engines.kubernetes) -}}
{{- end -}}
{{- $_ := set $tree "poll" (mergeOverwrite (dict "interval" "5s") ($tree.poll | default dict)) -}}
{{- $_ := set $tree "gpu" (dict "source" "none") -}}
{{- end -}}
{{- toJson $tree -}}
{{- end }}

{{/* goodput.yaml as text. */}}
{{- define "goodput-exporter.config" -}}
{{- if .Values.configFile -}}
{{- .Values.configFile -}}
{{- else -}}
{{- include "goodput-exporter.tree" . | fromJson | toYaml -}}
{{- end -}}
{{- end }}

{{/*
What the configuration says about the pod, in JSON:
  pods        pods are looked at for engines
  scope       node or cluster, when they are
  namespaces  the only ones in which pods are looked at, those of the dcgm-exporter included; none: all
  of          the only ones in which engines are
  source      of GPUs
  child       goodput-dcgm is run: DCGM is read, or may be because its library is there
  embedded    the host engine is inside it, and needs the driver
  page        pods are looked at for a dcgm-exporter
  kubelet     the kubelet is asked which container holds which GPU
  http, grpc  ports at which spans are taken in; "" for none
*/}}
{{- define "goodput-exporter.facts" -}}
{{- $tree := include "goodput-exporter.tree" . | fromJson -}}
{{- $engines := $tree.engines | default dict -}}
{{- $gpu := $tree.gpu | default dict -}}
{{- $spans := $tree.spans | default dict -}}
{{- $pods := hasKey $engines "kubernetes" -}}
{{- $kubernetes := $engines.kubernetes | default dict -}}
{{- $scope := $kubernetes.scope | default "node" -}}
{{- $source := $gpu.source | default "auto" -}}
{{- $page := and $pods (eq $scope "node") (has $source (list "auto" "dcgm-exporter")) (not $gpu.url) -}}
{{- $of := $kubernetes.namespaces | default list -}}
{{- $namespaces := $of -}}
{{- if and $of $page -}}
{{- $namespaces = concat $of (($gpu.kubernetes | default dict).namespaces | default list) | uniq -}}
{{- end -}}
{{- dict "pods" $pods "scope" $scope "namespaces" $namespaces "of" $of "source" $source "page" $page
      "child" (or (eq $source "dcgm") (and (eq $source "auto") (not (empty (print .Values.dcgm.image .Values.dcgm.libraryHostPath)))))
      "embedded" (eq (toString (dig "embedded" "" ($gpu.dcgm | default dict))) "true")
      "kubelet" (eq (toString (dig "enabled" "auto" ($gpu.pod_resources | default dict))) "true")
      "http" (include "goodput-exporter.port" $spans.listen)
      "grpc" (include "goodput-exporter.port" $spans.grpc_listen) | toJson -}}
{{- end }}

{{/* The port of an address to listen at; "" for none. */}}
{{- define "goodput-exporter.port" -}}
{{- with . -}}
{{- $port := regexFind ":[0-9]+$" . | trimPrefix ":" -}}
{{- if not $port -}}
{{- fail (printf "config.spans: %q has no port: write :4318" .) -}}
{{- end -}}
{{- $host := trimSuffix (printf ":%s" $port) . -}}
{{- if or (hasPrefix "127." $host) (has $host (list "localhost" "[::1]")) -}}
{{- fail (printf "config.spans: at %s no engine in another pod can reach the exporter: write :%s" . $port) -}}
{{- end -}}
{{- $port -}}
{{- end -}}
{{- end }}
