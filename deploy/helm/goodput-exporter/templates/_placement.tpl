{{/*
Taints that GPU nodes have: of the GPU Operator, the device plugin and clouds, and GKE's on nodes with ARM processors, such as
those with GH200 and GB200.
*/}}
{{- define "goodput-exporter.tolerations" -}}
{{- if and .Values.defaultTolerations (eq .Values.mode "node") }}
- {key: nvidia.com/gpu, operator: Exists}
- {key: kubernetes.io/arch, operator: Equal, value: arm64, effect: NoSchedule}
{{- end }}
{{- with .Values.extraTolerations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Nodes with a GPU, and over that the user's affinity: another list of node selectors is in place of this one. */}}
{{- define "goodput-exporter.affinity" -}}
{{- $own := dict -}}
{{- if and .Values.gpuNodesOnly (eq .Values.mode "node") -}}
{{- $own = include "goodput-exporter.gpuNodes" . | fromYaml -}}
{{- end -}}
{{- with mergeOverwrite $own (deepCopy .Values.affinity) -}}
{{- toYaml . -}}
{{- end -}}
{{- end }}

{{- define "goodput-exporter.gpuNodes" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    # Any of these.
    nodeSelectorTerms:
      - matchExpressions: # the GPU Operator, and the device plugin's chart
          - {key: nvidia.com/gpu.present, operator: In, values: ["true"]}
      - matchExpressions: # Node Feature Discovery, by vendor only, as the GPU Operator and the device plugin set it up
          - {key: feature.node.kubernetes.io/pci-10de.present, operator: In, values: ["true"]}
      - matchExpressions: # Node Feature Discovery by itself: class and vendor, a 3D controller
          - {key: feature.node.kubernetes.io/pci-0302_10de.present, operator: In, values: ["true"]}
      - matchExpressions: # the same, a card with a display controller
          - {key: feature.node.kubernetes.io/pci-0300_10de.present, operator: In, values: ["true"]}
      - matchExpressions: # GKE; what begins with tpu has a label of its own
          - {key: cloud.google.com/gke-accelerator, operator: Exists}
      - matchExpressions: # AKS
          - {key: kubernetes.azure.com/accelerator, operator: In, values: [nvidia]}
      - matchExpressions: # Karpenter on AWS
          - {key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]}
      - matchExpressions: # EKS Auto Mode
          - {key: eks.amazonaws.com/instance-gpu-manufacturer, operator: In, values: [nvidia]}
      - matchExpressions: # kubectl label node NODE goodput-exporter/node=true
          - {key: goodput-exporter/node, operator: In, values: ["true"]}
{{- end }}
