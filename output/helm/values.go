package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

type values struct {
	c *Chart
	m *model
	s *settings
}

func (v values) single() bool {
	return v.c.InstallMode == v1alpha1.InstallModeTypeSingleNamespace
}

func (v values) crds() bool {
	return v.c.CRDs != CRDsDirectory && slices.ContainsFunc(v.m.entries, func(e entry) bool { return isCRD(e.object) })
}

func (v values) values() (File, error) {
	text, err := static.ReadFile("static/values.yaml")
	if err != nil {
		return File{}, err
	}
	t, err := template.New("values.yaml").Option("missingkey=error").Funcs(template.FuncMap{
		"str":  manifest.Scalar,
		"yaml": func(indent int, v any) string { return manifest.Block(v, indent) },
	}).Parse(string(text))
	if err != nil {
		return File{}, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Chart                       *Chart
		Namespace, TargetNamespaces []string // comments
		CRDs                        bool
		Deployments                 map[string]bool
		Images, Resources, Replicas map[string]any
	}{v.c, v.aboutNamespace(), v.aboutTargets(), v.crds(), v.m.deployments, v.s.images, v.s.resources, v.replicas()})
	return File{"values.yaml", b.Bytes()}, err
}

func (v values) replicas() map[string]any {
	out := maps.Clone(v.s.replicas)
	maps.DeleteFunc(out, func(name string, _ any) bool { return !v.m.deployments[name] })
	return out
}

func (v values) aboutNamespace() []string {
	about := []string{"The namespace of the operator."}
	if v.c.manyNamespaces() {
		return append(about, fmt.Sprintf("It is fixed: the bundle and its options mention %d namespaces, and a chart "+
			"is compared in at most %d. Render the chart for another one.", len(v.c.FixedNamespaces), mostNamespaces))
	}
	if !v.m.namespace {
		return append(about,
			"It is fixed: in another namespace the operator's objects would be others. Render the chart for that one.")
	}
	if len(v.m.refused) > 0 {
		about = append(about, "It can't be "+strings.Join(v.m.refused, ", ")+": render the chart for that.")
	}
	return about
}

func (v values) aboutTargets() []string {
	about := []string{"The namespaces that the operator watches: two or more."}
	switch {
	case !v.m.targets:
		return []string{"The namespaces that the operator watches.",
			"They are fixed: with others the operator's objects would be others. Render the chart for those."}
	case v.single():
		about[0] = "The namespace that the operator watches: one, other than its own."
	case !v.m.own:
		about = append(about, "The operator's own namespace can't be one of them: the operator does not support it.")
	}
	return about
}

type object = map[string]any

// strict returns the schema of a mapping that has exactly these fields.
func strict(fields object) object {
	return object{"type": "object", "additionalProperties": false, "required": slices.Sorted(maps.Keys(fields)),
		"properties": fields}
}

// schema makes values.schema.json. What it has in every chart, and of values that a chart may lack, is a file.
func (v values) schema() (File, error) {
	text, err := static.ReadFile("static/values.schema.json")
	if err != nil {
		return File{}, err
	}
	var s object
	if err := json.Unmarshal(text, &s); err != nil {
		return File{}, err
	}
	fields := dig(s, "properties")
	fields["namespace"] = v.namespaceSchema()
	if v.c.Targets != nil {
		fields["targetNamespaces"] = v.targetsSchema()
	}
	if !v.crds() {
		delete(fields, "crds")
	}
	if len(v.s.images) > 0 {
		fields["images"] = perContainer(v.s.images, "The images, by Deployment and container.",
			object{"type": "string", "minLength": 1})
		fields["resources"] = perContainer(v.s.resources,
			"What the containers ask for and may take, by Deployment and container.",
			object{"$ref": "#/definitions/resources"})
	} else {
		delete(s, "definitions")
	}
	replicas := object{}
	for name := range v.m.deployments {
		replicas[name] = object{"type": "integer", "minimum": 0}
	}
	dig(fields, "replicas")["properties"] = replicas
	required := []string{"crds", "images", "namespace", "resources", "targetNamespaces"}
	s["required"] = lists.Filter(required, func(name string) bool { return fields[name] != nil })
	if len(v.m.deployments) == 0 { // the others are about Deployments
		maps.DeleteFunc(fields, func(name string, _ any) bool {
			return name != "global" && !slices.Contains(required, name)
		})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(s)
	return File{"values.schema.json", b.Bytes()}, err
}

const label = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`

func namespaceSchema() object {
	return object{"type": "string", "pattern": label, "maxLength": 63}
}

func (v values) namespaceSchema() object {
	s := namespaceSchema()
	if !v.m.namespace {
		s = object{"const": v.c.Namespace}
	} else if len(v.m.refused) > 0 {
		s["not"] = object{"enum": v.m.refused}
	}
	s["description"] = strings.Join(v.aboutNamespace(), " ")
	return s
}

func (v values) targetsSchema() object {
	s := object{"type": "array", "items": namespaceSchema(), "uniqueItems": true, "minItems": 2}
	switch {
	case !v.m.targets:
		s = object{"const": v.c.Targets}
	case v.single():
		s["minItems"], s["maxItems"] = 1, 1
	}
	s["description"] = strings.Join(v.aboutTargets(), " ")
	return s
}

func perContainer(have map[string]any, description string, schema object) object {
	deployments := object{}
	for name := range have {
		containers := object{}
		for c := range dig(have, name) {
			containers[c] = schema
		}
		deployments[name] = strict(containers)
	}
	s := strict(deployments)
	s["description"] = description
	return s
}

// checks makes the template that refuses what the schema can't: the operator's own namespace as a target.
func (v values) checks() (File, error) {
	multiple := v.c.InstallMode == v1alpha1.InstallModeTypeMultiNamespace
	if v.c.Targets == nil || !v.m.targets || multiple && v.m.own {
		return File{}, nil
	}
	why := "SingleNamespace needs a target namespace other than the operator's own"
	if multiple {
		why = "the operator does not support its own namespace as a target"
	}
	return File{"templates/checks.yaml", fmt.Appendf(nil, "{{- if has .Values.namespace .Values.targetNamespaces }}\n"+
		"{{- fail (printf %q .Values.namespace) }}\n{{- end }}\n", "targetNamespaces: %s: "+why)}, nil
}
