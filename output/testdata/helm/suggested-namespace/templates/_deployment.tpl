{{- /*
Changes a Deployment by the chart's values: replicas, and what spec.config of a Subscription says in Operator Lifecycle
Manager. It takes a list of the decoded Deployment and the values, and prints nothing.
*/}}
{{- define "olmgen.deployment" }}
{{- $deployment := index . 0 }}
{{- $values := index . 1 }}
{{- $template := $deployment.spec.template }}
{{- $pod := $template.spec }}
{{- if not (hasKey $template "metadata") }}
{{- $_ := set $template "metadata" dict }}
{{- end }}
{{- if hasKey ($values.replicas | default dict) $deployment.metadata.name }}
{{- $_ := set $deployment.spec "replicas" (index $values.replicas $deployment.metadata.name) }}
{{- end }}
{{- include "olmgen.annotations" (list $deployment $values) }}
{{- include "olmgen.annotations" (list $template $values) }}
{{- with $values.podLabels }}
{{- $_ := set $template.metadata "labels" (mergeOverwrite dict . ($template.metadata.labels | default dict)) }}
{{- end }}
{{- if not (kindIs "invalid" $values.nodeSelector) }}
{{- $_ := set $pod "nodeSelector" $values.nodeSelector }}
{{- if not $values.nodeSelector }}
{{- $_ := unset $pod "nodeSelector" }}
{{- end }}
{{- end }}
{{- range $field := list "tolerations" "imagePullSecrets" }}
{{- with index $values $field }}
{{- $have := list }}
{{- range index $pod $field }}
{{- $have = append $have (toJson .) }}
{{- end }}
{{- $all := index $pod $field | default list }}
{{- range . }}
{{- if not (has (toJson .) $have) }}
{{- $all = append $all . }}
{{- end }}
{{- end }}
{{- $_ := set $pod $field $all }}
{{- end }}
{{- end }}
{{- if not (kindIs "invalid" $values.affinity) }}
{{- include "olmgen.affinity" (list $pod $values.affinity) }}
{{- end }}
{{- with $values.env }}
{{- $given := dict }}
{{- range . }}
{{- $_ := set $given .name . }}
{{- end }}
{{- range $container := $pod.containers }}
{{- include "olmgen.env" (list $container $values.env $given) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Adds annotations that an object does not have. */}}
{{- define "olmgen.annotations" }}
{{- $meta := (index . 0).metadata }}
{{- with (index . 1).annotations }}
{{- $_ := set $meta "annotations" (mergeOverwrite dict . ($meta.annotations | default dict)) }}
{{- end }}
{{- end }}

{{- /* Each kind of affinity takes the place of the operator's. An empty affinity or podAntiAffinity clears all of it. */}}
{{- define "olmgen.affinity" }}
{{- $pod := index . 0 }}
{{- $want := index . 1 }}
{{- $clear := or (empty $want) (and $pod.affinity (hasKey $want "podAntiAffinity") (empty $want.podAntiAffinity)) }}
{{- if $clear }}
{{- $_ := unset $pod "affinity" }}
{{- else if empty $pod.affinity }}
{{- $_ := set $pod "affinity" $want }}
{{- else }}
{{- range $kind, $terms := $want }}
{{- $_ := set $pod.affinity $kind $terms }}
{{- if empty $terms }}
{{- $_ := unset $pod.affinity $kind }}
{{- end }}
{{- end }}
{{- if empty $pod.affinity }}
{{- $_ := unset $pod "affinity" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A variable takes the place of the container's of that name. Others follow, before OLM's own last one. */}}
{{- define "olmgen.env" }}
{{- $container := index . 0 }}
{{- $list := index . 1 }}
{{- $given := index . 2 }}
{{- $env := list }}
{{- $last := list }}
{{- $done := list }}
{{- $count := len ($container.env | default list) }}
{{- range $i, $e := $container.env }}
{{- if and (eq $e.name "OPERATOR_CONDITION_NAME") (eq (add1 $i | int) $count) }}
{{- $last = list $e }}
{{- else if not (hasKey $given $e.name) }}
{{- $env = append $env $e }}
{{- else if not (has $e.name $done) }}
{{- $env = append $env (index $given $e.name) }}
{{- $done = append $done $e.name }}
{{- end }}
{{- end }}
{{- range $list }}
{{- if not (has .name $done) }}
{{- $env = append $env (index $given .name) }}
{{- $done = append $done .name }}
{{- end }}
{{- end }}
{{- $_ := set $container "env" (concat $env $last) }}
{{- end }}
