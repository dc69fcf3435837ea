// Package framework runs the validators of github.com/operator-framework/api on a bundle, in this process. See
// package validate for their cost.
//
// It runs those that operator-sdk bundle validate always runs (ClusterServiceVersion, CRDs, bundle), the optional
// ones that apply to any bundle (objects, good practices, removed APIs), and on request those for publication on
// OperatorHub.io. It leaves out three: the one for multiple architectures runs docker, the one for community
// operators is deprecated and needs a Dockerfile, and the one for OperatorGroups does not apply to bundles.
package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	verrors "github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Checker implements validate.Checker.
type Checker struct{}

// Check runs the validators. The order of the problems is undefined. The error is about an invalid Subject, or ctx's.
func (Checker) Check(ctx context.Context, s validate.Subject) ([]validate.Problem, error) {
	r, err := read(s)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(){r.always, r.goodPractices, r.deprecatedAPIs} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step()
	}
	if s.OperatorHub { // the CSV only: deprecatedAPIs reports the rest of what these validators would say
		b := &manifests.Bundle{Name: r.bundle.Name, CSV: r.bundle.CSV}
		r.add(r.ask("operatorhub", 0, validation.OperatorHubV2Validator, b))
		r.add(r.ask("standardcapabilities", 0, validation.StandardCapabilitiesValidator, b))
		r.add(r.ask("standardcategories", 0, validation.StandardCategoriesValidator, b))
	}
	return r.problems, nil
}

type run struct {
	bundle   *manifests.Bundle
	crds     []any // by index of the object: a typed CRD, or nil
	problems []validate.Problem
}

// read converts the subject to what the API's own loader makes of a directory.
func read(s validate.Subject) (*run, error) {
	r := &run{crds: make([]any, len(s.Objects)), bundle: &manifests.Bundle{
		Package: s.Package, Channels: s.Channels, DefaultChannel: s.DefaultChannel,
		Size: s.Size, CompressedSize: s.CompressedSize,
	}}
	for i, data := range s.Objects {
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(data, &u.Object); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		r.bundle.Objects = append(r.bundle.Objects, u)
		switch {
		case i == 0:
			r.bundle.CSV = &v1alpha1.ClusterServiceVersion{}
			if err := json.Unmarshal(data, r.bundle.CSV); err != nil {
				return nil, fmt.Errorf("the ClusterServiceVersion: %w", err)
			}
			var atoms rbac.Counter // a validator looks at each group of a rule with each resource and verb
			spec := r.bundle.CSV.Spec.InstallStrategy.StrategySpec
			for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
				for _, rule := range p.Rules {
					if err := atoms.Add(rule); err != nil {
						return nil, fmt.Errorf("the ClusterServiceVersion: %w", err)
					}
				}
			}
			r.bundle.Name = r.bundle.CSV.Name
		case u.GetKind() == "CustomResourceDefinition":
			r.readCRD(i, u.GetAPIVersion(), data)
		}
	}
	if r.bundle.CSV == nil {
		return nil, errors.New("no ClusterServiceVersion")
	}
	return r, nil
}

// readCRD decodes a CRD. A value of the wrong type is a problem, and the validators do not see the CRD.
func (r *run) readCRD(i int, apiVersion string, data []byte) {
	var err error
	switch apiVersion {
	case apiextensionsv1.SchemeGroupVersion.String():
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err = json.Unmarshal(data, crd); err == nil {
			r.crds[i], r.bundle.V1CRDs = crd, append(r.bundle.V1CRDs, crd)
		}
	case apiextensionsv1beta1.SchemeGroupVersion.String():
		crd := &apiextensionsv1beta1.CustomResourceDefinition{}
		if err = json.Unmarshal(data, crd); err == nil {
			r.crds[i], r.bundle.V1beta1CRDs = crd, append(r.bundle.V1beta1CRDs, crd)
		}
	}
	if err == nil {
		return
	}
	p := validate.Problem{Validator: "crd", Level: findings.Error, Object: i, Message: oneLine(err.Error())}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		p.Field, p.Message = te.Field, "has the wrong type: "+te.Value
	}
	r.problems = append(r.problems, p)
}

// always runs the validators of single objects and the one for the whole bundle.
func (r *run) always() {
	r.add(r.ask("csv", 0, validation.ClusterServiceVersionValidator, r.bundle.CSV))
	for i, crd := range r.crds {
		if crd != nil {
			r.add(r.ask("crd", i, validation.CustomResourceDefinitionValidator, crd))
		}
	}
	r.add(r.ask("bundle", 0, validation.BundleValidator, r.bundle))
	for i, u := range r.bundle.Objects {
		r.add(r.ask("object", i, validation.ObjectValidator, u))
	}
}

// goodPractices checks the CSV, then each channel by itself: the validator lists several in random order.
func (r *run) goodPractices() {
	base := manifests.Bundle{Name: r.bundle.Name, CSV: r.bundle.CSV}
	var parts []part
	for _, channel := range append([]string{r.bundle.DefaultChannel}, r.bundle.Channels...) {
		b := base
		b.Channels = []string{channel}
		parts = append(parts, part{validate.NoObject, &b})
	}
	r.inParts("good-practices", validation.GoodPracticesValidator, &base, parts)
}

// deprecatedAPIs checks the CSV, then each object: for several the validator has one message, without their names.
func (r *run) deprecatedAPIs() {
	base := manifests.Bundle{Name: r.bundle.Name, CSV: r.bundle.CSV, Objects: r.bundle.Objects[:1]}
	var parts []part
	for i, u := range r.bundle.Objects {
		b := base
		switch crd := r.crds[i].(type) {
		case *apiextensionsv1beta1.CustomResourceDefinition:
			b.Objects, b.V1beta1CRDs = nil, []*apiextensionsv1beta1.CustomResourceDefinition{crd}
		case nil:
			b.Objects = []*unstructured.Unstructured{u}
		default:
			continue
		}
		parts = append(parts, part{i, &b})
	}
	r.inParts(deprecated, validation.AlphaDeprecatedAPIsValidator, &base, parts)
}

const deprecated = "alpha-deprecated-apis"

// part is a bundle with one thing more than the base, and the index of the object that this is.
type part struct {
	object int
	bundle *manifests.Bundle
}

// inParts validates the base, then each part. A problem that only a part has is about the part's object.
func (r *run) inParts(name string, v interfaces.Validator, base *manifests.Bundle, parts []part) {
	known := map[string]bool{}
	for _, p := range r.ask(name, 0, v, base) {
		known[p.Message] = true
		r.add([]validate.Problem{p})
	}
	for _, part := range parts {
		for _, p := range r.ask(name, part.object, v, part.bundle) {
			if known[p.Message] {
				continue
			}
			if name == deprecated {
				p.Field = "apiVersion"
			}
			r.add([]validate.Problem{p})
		}
	}
}

func (r *run) add(list []validate.Problem) { r.problems = append(r.problems, list...) }

// ask runs one validator on one value. Some validators panic on unexpected input, such as an empty list of icons.
func (r *run) ask(name string, object int, v interfaces.Validator, value any) (list []validate.Problem) {
	defer func() {
		if cause := recover(); cause != nil {
			list = append(list, validate.Problem{Validator: name, Level: findings.Warning, Object: object,
				Message: oneLine(fmt.Sprintf("the validator fails on this bundle: %v", cause))})
		}
	}()
	for _, result := range v.Validate(value) {
		for _, e := range slices.Concat(result.Errors, result.Warnings) {
			list = append(list, r.problem(name, object, e))
		}
	}
	return list
}

// maxMessage limits the length of a message, because some quote whole annotations.
const maxMessage = 600

// problem converts an error of the API to a Problem, with its place in the bundle as far as the error has one.
func (r *run) problem(validator string, object int, e verrors.Error) validate.Problem {
	p := validate.Problem{Validator: validator, Level: findings.Error, Object: object, Field: e.Field}
	if e.Level == verrors.LevelWarn {
		p.Level = findings.Warning
	}
	msg := strings.TrimPrefix(e.Detail, "("+r.bundle.Name+") ")
	switch v := e.BadValue.(type) {
	case schema.GroupVersionKind:
		if !strings.Contains(msg, v.String()) {
			msg += ": " + v.String()
		}
		if i := r.crdOf(v); i >= 0 && validator == "bundle" {
			p.Object = i
		}
	case error:
		msg += ": " + v.Error()
	case string:
		if strings.HasPrefix(v, "spec.") { // some errors have the field as the value
			p.Field = v
		}
		if i := slices.IndexFunc(r.bundle.Objects, func(u *unstructured.Unstructured) bool {
			return u.GetKind() == "ServiceAccount" && u.GetName() == v
		}); i >= 0 && validator == "bundle" {
			p.Object = i
		}
	}
	switch validator {
	case "csv":
		p.Field = csvField(p.Field)
		if p.Field == "" && strings.Contains(msg, "example") {
			p.Field = r.examples()
		}
	case "crd":
		msg = withoutValue(strings.TrimPrefix(msg, p.Field+": "), e)
	case deprecated:
		msg = inOrder(msg)
	}
	p.Message = oneLine(msg)
	return p
}

// withoutValue removes a value that is more than a word from a message about a CRD: it would hide the rest.
func withoutValue(msg string, e verrors.Error) string {
	switch reflect.Indirect(reflect.ValueOf(e.BadValue)).Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map:
		kind := field.ErrorType(e.Type)
		body := (&field.Error{Type: kind, BadValue: e.BadValue}).ErrorBody()
		if rest, ok := strings.CutPrefix(msg, body); ok {
			return kind.String() + rest
		}
	}
	return msg
}

func (r *run) crdOf(gvk schema.GroupVersionKind) int {
	for i, u := range r.bundle.Objects {
		if r.crds[i] == nil {
			continue
		}
		spec, _ := u.Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		if spec["group"] == gvk.Group && names["kind"] == gvk.Kind {
			return i
		}
	}
	return -1
}

func (r *run) examples() string {
	for _, key := range []string{"alm-examples", "olm.examples"} {
		if _, ok := r.bundle.CSV.Annotations[key]; ok {
			return `metadata.annotations["` + key + `"]`
		}
	}
	return "metadata.annotations"
}

// csvField converts a path of Go names, such as Spec.InstallStrategy.StrategyName, to JSON names.
func csvField(path string) string {
	if path == "" {
		return ""
	}
	var fields []string
	t := reflect.TypeFor[v1alpha1.ClusterServiceVersion]()
	for name := range strings.SplitSeq(path, ".") {
		f, ok := reflect.StructField{}, false
		if t.Kind() == reflect.Struct {
			f, ok = t.FieldByName(name)
		}
		if !ok {
			return path
		}
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
			fields = append(fields, tag)
		}
		t = f.Type
	}
	return strings.Join(fields, ".")
}

// inOrder sorts the kinds in a message about removed APIs, which are in map order, each followed by a comma.
func inOrder(msg string) string {
	const before = "Migrate the API(s) for "
	head, list, ok := strings.Cut(msg, before)
	if !ok {
		return msg
	}
	kinds := strings.SplitAfter(strings.TrimSuffix(list, ","), "),")
	for i, k := range kinds {
		kinds[i] = strings.TrimSuffix(k, ",")
	}
	slices.Sort(kinds)
	return head + before + strings.Join(kinds, ", ")
}

func oneLine(s string) string {
	s = strings.TrimSuffix(strings.Join(strings.Fields(s), " "), ".")
	if len(s) > maxMessage {
		s = fmt.Sprintf("%s... (%d bytes more)", strings.ToValidUTF8(s[:maxMessage], ""), len(s)-maxMessage)
	}
	return s
}
