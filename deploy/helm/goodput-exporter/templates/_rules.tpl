{{/* Whether the rules in files/ are those of the configuration's objectives; "" for no. */}}
{{- define "goodput-exporter.ownRules" -}}
{{- $slos := (include "goodput-exporter.tree" . | fromJson).slos -}}
{{- $made := (.Files.Get "files/rules.config.yaml" | fromYaml).slos -}}
{{- if eq (toJson $slos) (toJson $made) -}}yes{{- end -}}
{{- end }}

{{/*
The groups of rules. Alerts on an objective hold its name and its share, so those of other objectives would watch what is
not there, and say nothing of what is: they are left out.
*/}}
{{- define "goodput-exporter.ruleGroups" -}}
{{- $text := .Values.prometheusRule.rules -}}
{{- $given := ternary $text (.Files.Get "files/goodput.prometheusrule.yaml") (ne $text "") | fromYaml -}}
{{- $groups := ($given.spec | default $given).groups -}}
{{- if not $groups -}}
{{- fail (printf "prometheusRule.rules holds no groups of rules: give it what goodput-exporter generate rules --format=operator writes%s" ($given.Error | default "" | printf " %s")) -}}
{{- end -}}
{{- $keep := or (ne $text "") (include "goodput-exporter.ownRules" .) -}}
{{- range $group := $groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- if or $keep (not (dig "labels" "slo" "" $rule)) -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- if $rules }}
{{ list (mergeOverwrite (deepCopy $group) (dict "rules" $rules)) | toYaml }}
{{- end -}}
{{- end -}}
{{- end }}
