package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// invalid returns what the API server says to an object that is made, or that takes the place of an existing one.
func invalid(existing, made *manifest.Object) (errs field.ErrorList) {
	if made.Group() == rbacv1.GroupName && strings.HasSuffix(made.Kind, "Role") {
		errs = append(errs, invalidRules(made)...)
	}
	if existing == nil {
		return errs
	}
	for _, at := range Changed(existing, made) {
		value, _ := made.Get(strings.Split(at, ".")...)
		path := field.NewPath(at)
		switch {
		case at == "roleRef":
			var ref rbacv1.RoleRef
			_ = made.Field(&ref, "roleRef") // what cannot be read is refused already
			errs = append(errs, field.Invalid(path, ref, "cannot change roleRef"))
		case made.Kind == "PriorityClass" && at == "value":
			errs = append(errs, field.Forbidden(path, "may not be changed in an update."))
		case strings.HasSuffix(strings.ToLower(at), "data") || at == "immutable":
			errs = append(errs, field.Forbidden(path, "field is immutable when `immutable` is set"))
		default:
			errs = append(errs, field.Invalid(path, value, "field is immutable"))
		}
	}
	return errs
}

// invalidRules returns what the API server says to the rules of a role (Kubernetes: pkg/apis/rbac/validation,
// ValidatePolicyRule).
func invalidRules(role *manifest.Object) (errs field.ErrorList) {
	var typed rbacv1.ClusterRole
	if _, err := role.Into(&typed); err != nil {
		return nil
	}
	for i, rule := range typed.Rules {
		at := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if role.Kind == "Role" {
				errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), rule.NonResourceURLs,
					"namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), rule.NonResourceURLs,
					"rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(at.Child("apiGroups"),
				"resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(at.Child("resources"),
				"resource rules must supply at least one resource"))
		}
	}
	return errs
}

// defaults are the values that the API server fills in for immutable fields.
var defaults = map[string]any{"type": "Opaque", "preemptionPolicy": "PreemptLowerPriority", "spec.scope": "Namespaced",
	"value": 0}

// Changed returns the fields in which two releases of an object differ, and which the API server does not let change.
func Changed(old, now *manifest.Object) (out []string) {
	fields := olm.ImmutableFields(now.Group(), now.Kind)
	if locked, _ := old.Get("immutable"); locked == true { // a ConfigMap or a Secret
		fields = append(slices.Clip(fields), "data", "binaryData", "stringData", "immutable")
	}
	for _, at := range fields {
		a, b := valueAt(old, at), valueAt(now, at)
		if a == b || now.Kind == "Service" && b == "null" { // the API server keeps the address
			continue
		}
		out = append(out, at)
	}
	return out
}

func valueAt(o *manifest.Object, at string) string {
	value, err := o.Get(strings.Split(at, ".")...)
	if err != nil || value == nil || reflect.ValueOf(value).IsZero() {
		value = defaults[at]
	}
	if m, ok := value.(map[string]any); ok && at == "roleRef" {
		value = []any{m["kind"], m["name"]} // of one API group
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}
