{{/* The pod of both modes. */}}
{{- define "goodput-exporter.podTemplate" -}}
{{- $facts := include "goodput-exporter.facts" . | fromJson -}}
{{- $scheme := ternary ", scheme: HTTPS" "" (eq .Values.web.scheme "https") -}}
metadata:
  labels:
    {{- include "goodput-exporter.podLabels" . | nindent 4 }}
  annotations:
    {{- include "goodput-exporter.podAnnotations" . | nindent 4 }}
spec:
  serviceAccountName: {{ include "goodput-exporter.serviceAccountName" . }}
  automountServiceAccountToken: {{ or $facts.pods .Values.dra.enabled }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with include "goodput-exporter.priorityClassName" . }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.dcgm.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  nodeSelector:
    {{- mergeOverwrite (dict "kubernetes.io/os" "linux") .Values.nodeSelector | toYaml | nindent 4 }}
  {{- with include "goodput-exporter.affinity" . }}
  affinity:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with include "goodput-exporter.tolerations" . | trim }}
  tolerations:
    {{- . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "goodput-exporter.podSecurityContext" . | nindent 4 }}
  {{- if and $facts.child .Values.dcgm.image }}
  initContainers:
    {{- include "goodput-exporter.libdcgm" . | nindent 4 }}
  {{- end }}
  containers:
    - name: goodput-exporter
      image: {{ include "goodput-exporter.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        - --config.file=/etc/goodput-exporter/goodput.yaml
        - --web.listen-address=:9810
        - --log.level={{ .Values.log.level }}
        - --log.format={{ .Values.log.format }}
        {{- with .Values.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with include "goodput-exporter.env" . | trim }}
      env:
        {{- . | nindent 8 }}
      {{- end }}
      ports:
        - {name: metrics, containerPort: 9810, protocol: TCP}
        {{- with $facts.http }}
        - {name: otlp-http, containerPort: {{ . }}, protocol: TCP}
        {{- end }}
        {{- with $facts.grpc }}
        - {name: otlp-grpc, containerPort: {{ . }}, protocol: TCP}
        {{- end }}
      livenessProbe:
        httpGet: {path: /-/healthy, port: metrics{{ $scheme }}}
        periodSeconds: 20
        timeoutSeconds: 5
      readinessProbe:
        httpGet: {path: /-/ready, port: metrics{{ $scheme }}}
        periodSeconds: 5
        timeoutSeconds: 3
      resources:
        {{- include "goodput-exporter.resources" . | nindent 8 }}
      securityContext:
        {{- include "goodput-exporter.securityContext" . | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/goodput-exporter, readOnly: true}
        {{- if $facts.kubelet }}
        - {name: pod-resources, mountPath: /var/lib/kubelet/pod-resources, readOnly: true}
        {{- end }}
        {{- if $facts.child }}
        - {name: libdcgm, mountPath: /libdcgm, readOnly: true}
        {{- end }}
        {{- range $i, $name := .Values.secrets }}
        - {name: secret-{{ $i }}, mountPath: /var/run/secrets/goodput-exporter/{{ $name }}, readOnly: true}
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "goodput-exporter.fullname" . }}
    {{- if $facts.kubelet }}
    - name: pod-resources
      hostPath: {path: {{ .Values.podResources.hostPath }}, type: Directory}
    {{- end }}
    {{- if $facts.child }}
    - name: libdcgm
      {{- if .Values.dcgm.image }}
      emptyDir: {sizeLimit: 64Mi}
      {{- else }}
      hostPath: {path: {{ .Values.dcgm.libraryHostPath }}, type: Directory}
      {{- end }}
    {{- end }}
    {{- range $i, $name := .Values.secrets }}
    - name: secret-{{ $i }}
      secret: {secretName: {{ $name }}, defaultMode: 0440}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/*
A running exporter does not look at its configuration again by itself. The sum makes another configuration another pod.
*/}}
{{- define "goodput-exporter.podAnnotations" -}}
{{- $own := dict "kubectl.kubernetes.io/default-container" "goodput-exporter" "checksum/config" (include "goodput-exporter.config" . | sha256sum) -}}
{{- if .Values.prometheusAnnotations -}}
{{- $own = merge $own (dict "prometheus.io/scrape" "true" "prometheus.io/port" "9810" "prometheus.io/path" "/metrics" "prometheus.io/scheme" .Values.web.scheme) -}}
{{- end -}}
{{- mergeOverwrite (deepCopy .Values.podAnnotations) $own | toYaml -}}
{{- end }}

{{/* The environment; what a user gives takes the place of the chart's. */}}
{{- define "goodput-exporter.env" -}}
{{- $own := list -}}
{{- if eq .Values.mode "node" -}}
{{- $own = append $own (dict "name" "NODE_NAME" "valueFrom" (dict "fieldRef" (dict "fieldPath" "spec.nodeName"))) -}}
{{- end -}}
{{- with include "goodput-exporter.goMemLimit" . -}}
{{- $own = append $own (dict "name" "GOMEMLIMIT" "value" .) -}}
{{- end -}}
{{- $facts := include "goodput-exporter.facts" . | fromJson -}}
{{- if $facts.child -}}
{{- $own = append $own (dict "name" "LD_LIBRARY_PATH" "value" "/libdcgm") -}}
{{- /* NVIDIA's runtime gives the driver to those who ask for it by this name, and the image does not. */ -}}
{{- if $facts.embedded -}}
{{- $own = append $own (dict "name" "NVIDIA_VISIBLE_DEVICES" "value" "all") -}}
{{- $own = append $own (dict "name" "NVIDIA_DRIVER_CAPABILITIES" "value" "utility,compute") -}}
{{- end -}}
{{- end -}}
{{- $given := list -}}
{{- range .Values.extraEnv -}}
{{- $given = append $given .name -}}
{{- end -}}
{{- range $own -}}
{{- if not (has .name $given) }}
{{ list . | toYaml }}
{{- end -}}
{{- end -}}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end }}

{{/* Only root may open the kubelet's socket; it needs no capability for that. */}}
{{- define "goodput-exporter.podSecurityContext" -}}
{{- $root := (include "goodput-exporter.facts" . | fromJson).kubelet -}}
{{- $id := ternary 0 65532 $root -}}
{{- $context := dict "runAsUser" $id "runAsGroup" $id "runAsNonRoot" (not $root) "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- if and .Values.secrets (not $root) -}}
{{- $_ := set $context "fsGroup" $id -}}
{{- end -}}
{{- mergeOverwrite $context (deepCopy .Values.podSecurityContext) | toYaml -}}
{{- end }}

{{- define "goodput-exporter.securityContext" -}}
{{- $context := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- mergeOverwrite $context (deepCopy .Values.securityContext) | toYaml -}}
{{- end }}
