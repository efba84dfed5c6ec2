{{/* The name of everything: the release's, which holds the chart's. */}}
{{- define "goodput-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* A Service's name becomes one of DNS: no dots, which a release may have. */}}
{{- define "goodput-exporter.otlpName" -}}
{{- printf "%s-otlp" (include "goodput-exporter.fullname" . | replace "." "-" | trunc 58 | trimSuffix "-") -}}
{{- end }}

{{- define "goodput-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "goodput-exporter.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{- define "goodput-exporter.priorityClassName" -}}
{{- .Values.priorityClass.name | default (ternary (include "goodput-exporter.fullname" .) "" .Values.priorityClass.create) -}}
{{- end }}

{{/*
What selects the pods. A selector cannot be changed once it is there, so neither can this: no version, no chart, nothing that
a value decides but the mode, which is another object. The name is not the user's to choose either: it becomes the job
that the rules look for.
*/}}
{{- define "goodput-exporter.selectorLabels" -}}
app.kubernetes.io/name: goodput-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.mode }}
{{- end }}

{{/* Labels of everything that no user may give. */}}
{{- define "goodput-exporter.ownLabels" -}}
{{ include "goodput-exporter.selectorLabels" . }}
app.kubernetes.io/part-of: goodput-exporter
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." }}
{{- end }}

{{- define "goodput-exporter.labels" -}}
{{- mergeOverwrite (deepCopy .Values.commonLabels) (include "goodput-exporter.ownLabels" . | fromYaml) | toYaml -}}
{{- end }}

{{/* The same, and with them what is given for one kind of object: (list . labels). */}}
{{- define "goodput-exporter.labelsAnd" -}}
{{- mergeOverwrite (deepCopy (last .)) (include "goodput-exporter.labels" (first .) | fromYaml) | toYaml -}}
{{- end }}

{{/* Labels of pods. Versions are not among them: another chart with the same image leaves the pods as they are. */}}
{{- define "goodput-exporter.podLabels" -}}
{{- $own := include "goodput-exporter.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "goodput-exporter" -}}
{{- mergeOverwrite (deepCopy .Values.commonLabels) .Values.podLabels $own | toYaml -}}
{{- end }}

{{/* The image; with goodput-dcgm in it where DCGM is read. */}}
{{- define "goodput-exporter.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- $dcgm := (include "goodput-exporter.facts" . | fromJson).child -}}
{{- printf "%s:%s%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) (ternary "-dcgm" "" $dcgm) -}}
{{- end -}}
{{- end }}
