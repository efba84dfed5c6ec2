{{/* Copies libdcgm.so.4 out of an image of DCGM: the exporter's own image has none, and both engine and library want one version. */}}
{{- define "goodput-exporter.libdcgm" -}}
- name: libdcgm
  image: {{ .Values.dcgm.image | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command:
    - sh
    - -c
    - |
      for found in /usr/lib/*-linux-gnu/libdcgm.so.4 /usr/lib64/libdcgm.so.4 /usr/lib/libdcgm.so.4 /usr/local/lib/libdcgm.so.4; do
        [ -e "$found" ] && exec cp -L "$found" /libdcgm/
      done
      echo "this image has no libdcgm.so.4: it has to be one of DCGM 4" >&2
      exit 1
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
  volumeMounts:
    - {name: libdcgm, mountPath: /libdcgm}
{{- end }}
