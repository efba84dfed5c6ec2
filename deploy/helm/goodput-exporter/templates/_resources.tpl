{{/* Requests and limits: the user's, or those that were measured for the mode; see docs/operations.md. */}}
{{- define "goodput-exporter.resources" -}}
{{- if .Values.resources -}}
{{- toYaml .Values.resources -}}
{{- else if eq .Values.mode "central" -}}
requests: {cpu: 250m, memory: 512Mi}
limits: {memory: 1Gi}
{{- else if (include "goodput-exporter.facts" . | fromJson).child -}}
requests: {cpu: 100m, memory: 192Mi}
limits: {memory: 384Mi}
{{- else -}}
requests: {cpu: 50m, memory: 128Mi}
limits: {memory: 256Mi}
{{- end -}}
{{- end }}

{{/*
GOMEMLIMIT, in MiB: four fifths of the memory limit, and 96 MiB less where goodput-dcgm lives in it too, whose memory is
libdcgm's, of which Go knows nothing. "" where there is no limit.
*/}}
{{- define "goodput-exporter.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" (include "goodput-exporter.resources" . | fromYaml) -}}
{{- $limit = kindIs "string" $limit | ternary $limit (int64 $limit | toString) -}}
{{- if $limit -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- $unit := regexFind "[A-Za-z]*$" $limit -}}
{{- $number := trimSuffix $unit $limit -}}
{{- if not (and (hasKey $units $unit) (regexMatch "^[0-9]+([.][0-9]+)?$" $number)) -}}
{{- fail (printf "resources.limits.memory: %q is not understood: write it in Mi or Gi, such as 256Mi" $limit) -}}
{{- end -}}
{{- $mib := divf (mulf (float64 $number) (get $units $unit)) 1048576 -}}
{{- $go := sub (floor (mulf $mib 0.8) | int) (ternary 96 0 (include "goodput-exporter.facts" . | fromJson).child) -}}
{{- if lt $go 32 -}}
{{- fail (printf "resources.limits.memory: %s leaves the exporter %d MiB: give it more" $limit $go) -}}
{{- end -}}
{{- printf "%dMiB" $go -}}
{{- end -}}
{{- end }}
