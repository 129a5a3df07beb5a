{{- define "worker.selectorLabels" -}}
app.kubernetes.io/name: clusterset-doh
app.kubernetes.io/component: sync-worker
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "worker.labels" -}}
labels:
  {{- include "worker.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "worker.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
{{ include "worker.labels" . }}
{{- end }}

{{- define "worker.tokenSecret" -}}
{{ .Values.tokenSecret | default (printf "%s-token" .Release.Name) }}
{{- end }}

{{- define "worker.settings" -}}
gateway: {{ required "gateway: give the address of the gateway, such as --set gateway=https://doh.example.org" .Values.gateway | quote }}
clusterId: {{ required "clusterId: give the cluster id that the gateway has for this cluster's token, such as --set clusterId=east" .Values.clusterId | quote }}
{{- end }}

{{- /* A ClusterRole and its binding: a list of the name's end and the rules. */ -}}
{{- define "worker.access" -}}
{{- $root := index . 0 -}}
{{- $name := printf "%s-%s%s" $root.Release.Namespace $root.Release.Name (index . 1) -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  {{- include "worker.labels" $root | nindent 2 }}
rules:
  {{- index . 2 | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  {{- include "worker.labels" $root | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $root.Release.Name }}
    namespace: {{ $root.Release.Namespace }}
  {{- if $root.Values.control.enabled }}
  - kind: ServiceAccount
    name: {{ $root.Release.Name }}-control
    namespace: {{ $root.Release.Namespace }}
  {{- end }}
{{- end }}

{{- define "worker.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What the pod runs as: of one user, or of whom OpenShift chooses for the namespace. */ -}}
{{- define "worker.podSecurityContext" -}}
{{- $own := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- if not (.Capabilities.APIVersions.Has "security.openshift.io/v1") -}}
{{- range $key := list "runAsUser" "runAsGroup" "fsGroup" }}{{ $_ := set $own $key 65532 }}{{ end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $own .Values.podSecurityContext) -}}
{{- end }}
