{{/* Where the pods connect to: names, the API server, engines, and what tells of the node's GPUs. */}}
{{- define "goodput-exporter.egress" -}}
{{- $facts := include "goodput-exporter.facts" . | fromJson -}}
{{- $egress := .Values.networkPolicy.egress -}}
# DNS, wherever it is: nodes may have a cache at an address of their own. OpenShift's pods listen at 5353.
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
    - {port: 5353, protocol: UDP}
    - {port: 5353, protocol: TCP}
{{- if and $egress.apiServerPorts (or $facts.pods .Values.dra.enabled) }}
# The API server, which is no pod.
- ports:
    {{- range $egress.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- end }}
# Engines and dcgm-exporters, at any port.
- to:
    {{- if $egress.engines }}
    {{- toYaml $egress.engines | nindent 4 }}
    {{- else if $facts.namespaces }}
    - namespaceSelector:
        matchExpressions:
          - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson $facts.namespaces }}}
    {{- else }}
    - namespaceSelector: {}
    {{- end }}
{{- with $egress.ports }}
# The same where they are no pods to a policy.
- ports:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- with $egress.extra }}
{{ toYaml . }}
{{- end }}
{{- end }}
