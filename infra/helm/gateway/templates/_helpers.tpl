{{- define "gateway.selectorLabels" -}}
app.kubernetes.io/name: clusterset-doh
app.kubernetes.io/component: gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "gateway.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gateway.host" -}}
{{- required "host: give the name by which clients reach the gateway, such as --set host=doh.example.org" .Values.host -}}
{{- end }}

{{- define "gateway.tlsSecret" -}}
{{ .Values.certificate.secretName | default (printf "%s-tls" .Release.Name) }}
{{- end }}

{{- define "gateway.tokensSecret" -}}
{{ .Values.tokensSecret | default (printf "%s-tokens" .Release.Name) }}
{{- end }}

{{- define "gateway.storeSecret" -}}
{{ .Values.storeSecret | default (printf "%s-store" .Release.Name) }}
{{- end }}

{{- /* The config file: what the pod needs, then `clusters`, then `config` over it. */ -}}
{{- define "gateway.config" -}}
{{- $config := dict "listen" ":8443" -}}
{{- if .Values.store -}}
{{- $_ := set $config "store" (merge (deepCopy .Values.store) (dict "passwordFile" "/etc/clusterset-doh/store/password")) -}}
{{- else -}}
{{- $_ := set $config "stateDirectory" "/var/lib/clusterset-doh" -}}
{{- end -}}
{{- $_ := set $config "tls" (dict "certificateFile" "/etc/clusterset-doh/tls/tls.crt" "keyFile" "/etc/clusterset-doh/tls/tls.key") -}}
{{- $port := 443 -}}
{{- if not (or .Values.ingress.enabled .Values.httpRoute.enabled .Values.tlsRoute.enabled) }}{{ $port = int .Values.service.port }}{{ end -}}
{{- with .Values.host }}{{ $_ := set $config "publicUrl" (printf "https://%s%s" . (ternary "" (printf ":%d" $port) (eq $port 443))) }}{{ end -}}
{{- $credentials := list -}}
{{- range $id, $cluster := .Values.clusters -}}
{{- $credential := omit ($cluster | default dict) "token" -}}
{{- if not (or $credential.oidc $credential.certificate $credential.tokenSha256) -}}
{{- $credential = set $credential "tokenFile" (printf "/etc/clusterset-doh/tokens/%s" $id) -}}
{{- end -}}
{{- $credentials = append $credentials (set $credential "clusterId" $id) -}}
{{- end -}}
{{- $given := deepCopy .Values.config -}}
{{- if not (hasKey $given "access") }}{{ fail "config.access: say who may query: --set config.access.public=true answers every client, docs/how-to/access.md has rules" }}{{ end -}}
{{- if $credentials -}}
{{- $push := $given.push | default dict -}}
{{- $_ := set $push "credentials" (concat $credentials ($push.credentials | default list)) -}}
{{- $_ := set $given "push" $push -}}
{{- end -}}
{{- toYaml (mergeOverwrite $config $given) -}}
{{- end }}

{{- /* The ports of plain DNS and DNS over TLS, by what the config listens on: a list of name, protocol, containerPort and port. */ -}}
{{- define "gateway.dnsPorts" -}}
{{- $ports := list -}}
{{- $seen := dict -}}
{{- range $kind, $first := dict "dns" .Values.service.dnsPort "dot" .Values.service.dotPort -}}
{{- range $index, $place := (index $.Values.config $kind | default dict).listen | default list -}}
{{- $address := ternary $place ($place | toJson | fromJson).address (kindIs "string" $place) -}}
{{- $container := regexFind "[0-9]+$" $address | int -}}
{{- $port := ternary $first $container (eq $index 0) -}}
{{- $suffix := ternary "" (printf "-%d" $container) (eq $index 0) -}}
{{- if not (hasKey $seen (toString $container)) -}}
{{- $_ := set $seen (toString $container) true -}}
{{- if eq $kind "dns" -}}
{{- $ports = append $ports (dict "name" (printf "dns%s" $suffix) "protocol" "UDP" "containerPort" $container "port" $port) -}}
{{- $ports = append $ports (dict "name" (printf "dns-tcp%s" $suffix) "protocol" "TCP" "containerPort" $container "port" $port) -}}
{{- else -}}
{{- $ports = append $ports (dict "name" (printf "dot%s" $suffix) "protocol" "TCP" "containerPort" $container "port" $port) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "ports" $ports) -}}
{{- end }}

{{- define "gateway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What the pod runs as: of one user, or of whom OpenShift chooses for the namespace. */ -}}
{{- define "gateway.podSecurityContext" -}}
{{- $own := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- if not (.Capabilities.APIVersions.Has "security.openshift.io/v1") -}}
{{- range $key := list "runAsUser" "runAsGroup" "fsGroup" }}{{ $_ := set $own $key 65532 }}{{ end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $own .Values.podSecurityContext) -}}
{{- end }}
