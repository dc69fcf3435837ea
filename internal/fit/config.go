package fit

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// configSchema is that of operator-controller, rukpak/bundle/registryv1bundleconfig.json, without descriptions. It is
// the same in every release that has one. TestConfigSchema makes it.
//
//go:embed config.schema.json
var configSchema []byte

// Configure reads spec.config.inline of the ClusterExtension that installs the operator, nil if it has none. The error
// is OLM v1's refusal in a release, with all feature gates on. It asks OLM v1's validator with OLM v1's schema
// (operator-controller: internal/operator-controller/config/config.go). Of several errors, which OLM v1 has in a random
// order, it has the order of their texts. The words of v1.6 and v1.7 differ a little.
func (o *Operator) Configure(inline any, install string, r versions.Release) error {
	o.Config, _ = inline.(map[string]any)
	if _, ok := r.Does(versions.ValidatesConfig); !ok {
		return nil
	}
	schema, none := o.schema(install, r), any(map[string]any{})
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(cmp.Or(inline, none))); ok {
		return fmt.Errorf("invalid ClusterExtension configuration: invalid configuration: %s", worded(invalid))
	}
	text, err := json.Marshal(o.Config["deploymentConfig"])
	if err = cmp.Or(err, json.Unmarshal(text, &o.deployments)); err != nil { // a quantity is text for the schema
		return fmt.Errorf("invalid deploymentConfig: failed to unmarshal deploymentConfig: %w", err)
	}
	return nil
}

// schema returns the schema that the install modes give in a release (operator-controller:
// internal/operator-controller/rukpak/bundle/registryv1.go).
func (o *Operator) schema(install string, release versions.Release) *jsonschema.Schema {
	var document map[string]any
	err := json.Unmarshal(configSchema, &document)
	properties, _ := document["properties"].(map[string]any)
	_, takes := release.Does(versions.TakesConfig)
	if _, given := o.Config["deploymentConfig"]; !takes || !given {
		delete(properties, "deploymentConfig")
		delete(document, "components") // of the former: they take long to compile
	}
	compiler := jsonschema.NewCompiler()
	watch := map[string]any{"type": "string", "minLength": 1, "maxLength": 63,
		"pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
	only := func(format string, takes bool, must string) {
		watch["format"] = format
		compiler.RegisterFormat(&jsonschema.Format{Name: format, Validate: func(value any) error {
			if install == "" || (value == install) == takes {
				return nil
			}
			return fmt.Errorf("invalid value %q: must be "+must, value, install)
		}})
	}
	own := olm.Supports(o.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeOwnNamespace)
	single := olm.Supports(o.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeSingleNamespace)
	switch {
	case own && !single:
		only("ownNamespaceInstallMode", true, "%q (the namespace where the operator is installed) because this "+
			"operator only supports OwnNamespace install mode")
	case single && !own:
		only("singleNamespaceInstallMode", false, "different from %q (the install namespace) because this operator "+
			"uses SingleNamespace install mode to watch a different namespace")
	}
	switch {
	case !own && !single:
		delete(properties, "watchNamespace")
	case olm.Supports(o.CSV.Spec.InstallModes, v1alpha1.InstallModeTypeAllNamespaces):
		properties["watchNamespace"] = map[string]any{"anyOf": []any{map[string]any{"type": "null"}, watch}}
	default:
		properties["watchNamespace"], document["required"] = watch, []any{"watchNamespace"}
	}
	if err = cmp.Or(err, compiler.AddResource("config-schema.json", document)); err != nil {
		panic("config-schema.json: " + err.Error()) // TestConfigure
	}
	return compiler.MustCompile("config-schema.json")
}

// worded returns the words of OLM v1 for what is invalid (config.go, formatSchemaError).
func worded(invalid *jsonschema.ValidationError) string {
	var list []string
	for _, unit := range invalid.BasicOutput().Errors {
		says := unit.Error.String()
		field := strings.ReplaceAll(strings.TrimPrefix(unit.InstanceLocation, "/"), "/", ".")
		switch k := unit.Error.Kind.(type) {
		case *kind.Required:
			says = fmt.Sprintf("required field %q is missing", k.Missing[0])
		case *kind.AdditionalProperties:
			says = fmt.Sprintf("unknown field %q", slices.Min(k.Properties))
		case *kind.Type:
			says = fmt.Sprintf("invalid type for field %q: %s", field, says)
			if k.Got == "null" {
				says = fmt.Sprintf("required field %q is missing", field)
			}
		case *kind.Format:
			says = fmt.Sprintf("invalid format for field %q: %s", field, says)
		case *kind.AnyOf:
			says = fmt.Sprintf("invalid value for field %q", field)
		case *kind.MaxLength:
			says = fmt.Sprintf("field %q must have maximum length of %d (len=%d)", field, k.Want, k.Got)
		case *kind.MinLength:
			says = fmt.Sprintf("field %q must have minimum length of %d (len=%d)", field, k.Want, k.Got)
		case *kind.Pattern:
			says = fmt.Sprintf("field %q must match pattern %q", field, k.Want)
		}
		list = append(list, says)
	}
	if slices.Sort(list); len(list) == 1 {
		return list[0]
	}
	return "multiple errors found:\n  - " + strings.Join(list, "\n  - ")
}

// Configured returns what a release of OLM v1 takes of the configuration only with other CRDs or a feature gate.
func (o Operator) Configured(r versions.Release) []findings.Finding {
	q := &question{Operator: o}
	standard, _ := r.State(olm.KindClusterExtension, versions.FieldConfig, versions.Standard)
	experimental, _ := r.State(olm.KindClusterExtension, versions.FieldConfig, versions.Experimental)
	_, validates := r.Does(versions.ValidatesConfig)
	deployments, _, _ := gate(r, gateConfig)
	switch {
	case o.Config == nil:
	case standard == versions.Absent && experimental == versions.Absent:
		q.add(RuleConfig, findings.Error, "", fmt.Sprintf("%s has no %s, which says the install mode and the "+
			"deployment config (the CRDs of the release)", r, versions.FieldConfig), "")
	case standard == versions.Absent:
		q.add(RuleConfig, findings.Warning, "", fmt.Sprintf("%s has %s only in its experimental CRDs", r,
			versions.FieldConfig), "")
	case !validates:
		q.behind(r, RuleConfig, "", versions.FieldConfig, gateNamespaces)
	case o.Config["deploymentConfig"] != nil && deployments == versions.Disabled:
		q.behind(r, RuleConfig, "", "a deploymentConfig", gateConfig)
	}
	return q.list
}

func (q *question) config() {
	if q.Config == nil {
		return
	}
	for _, r := range q.Controllers() {
		q.list = append(q.list, q.Configured(r)...)
	}
}

// annotations reports what an operator reads of annotations that OLM v0 writes into its pods, and that a release of OLM
// v1 does not write: it is empty.
func (q *question) annotations() {
	if q.form != OLMv1 {
		return
	}
	for i, d := range q.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		template := &d.Spec.Template
		if q.deployments != nil {
			configured := appsv1.Deployment{Spec: *d.Spec.DeepCopy()}
			olmv1.Configure(q.deployments, &configured, true, true)
			template = &configured.Spec.Template
		}
		read := olm.AnnotationsRead(&template.Spec)
		for _, key := range []string{olm.AnnotationGroup, olm.AnnotationNamespace, olm.AnnotationTargets} {
			if !read[key] || template.Annotations[key]+q.CSV.Annotations[key] != "" {
				continue
			}
			for _, r := range q.Controllers() {
				if _, writes := r.Does(versions.Annotates + key); !writes {
					q.add(RuleAnnotations, findings.Warning, fmt.Sprintf("spec.install.spec.deployments[%d]", i),
						fmt.Sprintf("Deployment %s reads the annotation %s of its pods, which %s does not write: it "+
							"is empty", d.Name, key, r), "")
				}
			}
		}
	}
}
