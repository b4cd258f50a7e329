{{/* Names and labels. */}}
{{- define "headwater.fullname" -}}
{{- if contains "headwater" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-headwater" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "headwater.labels" -}}
app.kubernetes.io/name: headwater
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "headwater.selector" -}}
app.kubernetes.io/name: headwater
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "headwater.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Secrets of a process: variable -> key of the Secret, as YAML. Each process sees its own and no others. */}}
{{- define "headwater.secretVariables" -}}
{{- $variables := deepCopy .root.Values.secretVariables -}}
{{- $_ := set $variables "HEADWATER_BROKER_URL" .process.brokerSecret -}}
{{- if .process.hasDatabase }}{{ $_ := set $variables "HEADWATER_DB_URL" "db_url" }}{{ end -}}
{{- range $variable, $secret := .process.secretVariables }}{{ $_ := set $variables $variable $secret }}{{ end -}}
{{ toYaml $variables }}
{{- end }}

{{/* The command that a probe runs: the process wrote its file a moment ago (broker/processes/heartbeat.py). */}}
{{- define "headwater.alive" -}}
test $(( $(date +%s) - $(stat -c %Y /tmp/alive) )) -lt {{ .Values.silentSeconds }}
{{- end }}

{{/* The pod of a process. */}}
{{- define "headwater.pod" -}}
{{- $variables := include "headwater.secretVariables" . | fromYaml -}}
metadata:
  labels:
    {{- include "headwater.labels" . | nindent 4 }}
  {{- with .root.Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- if .process.isJob }}
  restartPolicy: OnFailure
  {{- else }}
  terminationGracePeriodSeconds: {{ .root.Values.stopSeconds }}
  {{- end }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: { type: RuntimeDefault }
  {{- if not .process.isJob }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "headwater.selector" . | nindent 10 }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .name }}
      image: {{ include "headwater.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: {{ concat (list "python" "-P" "-m" "headwater") .process.command | toJson }}
      env:
        - { name: HEADWATER_ALIVE_FILE, value: /tmp/alive }
        - { name: HEADWATER_LOG_FORMAT, value: json }
        - { name: HEADWATER_POOLS_DRAIN_TIMEOUT, value: {{ .root.Values.drainSeconds | quote }} }
        - { name: HEADWATER_BROKER_REPLICAS, value: "3" }
        - { name: HEADWATER_API_EXTERNAL_URL, value: {{ .root.Values.publicUrl | quote }} }
        - { name: HEADWATER_AUTH_SITE_URL, value: {{ .root.Values.siteUrl | quote }} }
        - { name: HEADWATER_INBUCKET_ENABLED, value: "false" }
        - { name: HEADWATER_STORAGE_BACKEND, value: s3 }
        - { name: HEADWATER_STORAGE_S3_BUCKET, value: {{ .root.Values.objects.bucket | quote }} }
        - { name: HEADWATER_STORAGE_S3_ENDPOINT, value: {{ .root.Values.objects.endpoint | quote }} }
        - { name: HEADWATER_STORAGE_S3_FORCE_PATH_STYLE, value: {{ .root.Values.objects.forcePathStyle | quote }} }
        {{- if .process.isEdge }}
        - { name: HEADWATER_GATEWAY_HOST, value: 0.0.0.0 }
        - { name: HEADWATER_GATEWAY_DRAIN_DELAY, value: {{ .root.Values.leaveSeconds | quote }} }
        - { name: HEADWATER_GATEWAY_TRUSTED_PROXIES, value: {{ join "," .root.Values.trustedProxies | quote }} }
        {{- end }}
        {{- if and .process.hasDatabase .root.Values.replicas.urls }}
        - { name: HEADWATER_DB_REPLICAS_URLS, value: {{ .root.Values.replicas.urls | quote }} }
        - { name: HEADWATER_DB_REPLICAS_ROLES, value: {{ join "," .root.Values.replicas.roles | quote }} }
        - { name: HEADWATER_DB_REPLICAS_MAX_LAG, value: {{ .root.Values.replicas.maxLag | quote }} }
        {{- end }}
        {{- range $name, $value := .process.environment }}
        {{- if or $.root.Values.project.existingClaim (not (has $name (list "HEADWATER_PROJECT_FOLDER" "HEADWATER_EDGE_RUNTIME_PATH"))) }}
        - { name: {{ $name }}, value: {{ $value | quote }} }
        {{- end }}
        {{- end }}
        {{- range $variable, $secret := $variables }}
        - { name: {{ $variable }}_FILE, value: /run/secrets/{{ $secret }} }
        {{- end }}
        {{- range $name, $value := .root.Values.environment }}
        - { name: {{ $name }}, value: {{ $value | quote }} }
        {{- end }}
      {{- if .process.isEdge }}
      ports:
        - { name: http, containerPort: 54321 }
      startupProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /health/gateway, port: http }
        periodSeconds: 1
        timeoutSeconds: 3
        failureThreshold: 1
      {{- else if not .process.isJob }}
      startupProbe:
        exec: { command: [sh, -c, test -e /tmp/alive] }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        exec: { command: [sh, -c, {{ include "headwater.alive" .root | quote }}] }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 3
      readinessProbe:
        exec: { command: [sh, -c, test -e /tmp/alive] }
        periodSeconds: 5
        timeoutSeconds: 3
      {{- end }}
      {{- with .process.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: {{ .process.readOnly | default false }}
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: secrets, mountPath: /run/secrets, readOnly: true }
        - { name: tmp, mountPath: /tmp }
        {{- if .process.dataVolume }}
        - { name: {{ .process.dataVolume }}, mountPath: /srv/headwater/data }
        {{- end }}
        {{- if and .process.project .root.Values.project.existingClaim }}
        - { name: project, mountPath: /srv/project/supabase, readOnly: true }
        {{- end }}
  volumes:
    - name: secrets
      secret:
        secretName: {{ .root.Values.existingSecret }}
        defaultMode: 0440
        items:
          {{- range $variables | values | uniq | sortAlpha }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    - name: tmp
      emptyDir: {}
    {{- if and .process.project .root.Values.project.existingClaim }}
    - name: project
      persistentVolumeClaim: { claimName: {{ .root.Values.project.existingClaim }}, readOnly: true }
    {{- end }}
{{- end }}
