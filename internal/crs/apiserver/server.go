// Package apiserver judges custom resources with the code of the API server.
package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/meta"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/crs"
)

// Server does with an object of one version what the API server does. The order of the steps is that of
// apiextensions-apiserver: pkg/apiserver/customresource_handler.go (unstructuredSchemaCoercer, unstructuredDefaulter)
// and pkg/registry/customresource/strategy.go.
type Server struct {
	namespaced      bool
	preserveUnknown bool
	status          bool // the version has the status subresource
	scale           *apiextensionsv1.CustomResourceSubresourceScale
	schema          *structural.Structural
	validator       validation.SchemaValidator
	cel             *schemacel.Validator
	listed          *Server // of the version as the cluster has it; may be nil
	creates         bool    // objects are created, and nothing else is asked
}

// New returns a Server of a version. The error says why the API server cannot use the schema.
func New(v crs.Version) (*Server, error) {
	s := &Server{
		namespaced:      !v.ClusterScoped,
		preserveUnknown: v.PreserveUnknownFields,
		status:          v.Subresources != nil && v.Subresources.Status != nil,
		creates:         v.Creates,
	}
	if v.Subresources != nil {
		s.scale = v.Subresources.Scale
	}
	internal := &apiextensions.CustomResourceValidation{}
	if v.Schema != nil {
		err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
			v.Schema.DeepCopy(), internal, nil)
		if err != nil {
			return nil, err
		}
		if s.schema, err = structural.NewStructural(internal.OpenAPIV3Schema); err != nil && !s.preserveUnknown {
			return nil, err
		}
		if !s.preserveUnknown {
			s.schema = s.schema.DeepCopy()
			if err := defaulting.PruneDefaults(s.schema); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if s.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if s.schema != nil {
		s.cel = schemacel.NewValidator(s.schema, true, celconfig.PerCallLimit)
	}
	if v.Listed != nil {
		s.listed, err = New(*v.Listed)
	}
	return s, err
}

// judge returns what the API server and OLM say to an object.
func (s *Server) judge(data []byte) (crs.Verdict, error) {
	u := &unstructured.Unstructured{}
	err := utiljson.Unmarshal(data, &u.Object)
	if err != nil {
		return crs.Verdict{}, err
	}
	s.setNamespace(u)
	v := crs.Verdict{}
	if !s.creates {
		listed := u
		if s.listed != nil {
			listed = u.DeepCopy()
			if _, err := s.listed.decode(listed); err != nil {
				v.Error = err.Error()
				return v, nil //nolint:nilerr // the verdict says so
			}
		}
		v.OLM = faults(validation.ValidateCustomResource(nil, listed.Object, s.validator))
		if len(v.OLM) > 0 {
			said := validation.ValidateCustomResource(field.NewPath(""), listed.Object, s.validator)
			v.OLMSays = said.ToAggregate().Error()
		}
	}
	if v.Unknown, err = s.decode(u); err != nil {
		v.Error = err.Error()
		return v, nil //nolint:nilerr // the verdict says so
	}
	slices.Sort(v.Unknown)
	created := u
	if !s.creates {
		created = u.DeepCopy()
	}
	if s.status {
		delete(created.Object, "status")
	}
	if v.Create = faults(s.create(created)); s.creates {
		return v, nil
	}
	touched := u.DeepCopy()
	err = unstructured.SetNestedField(touched.Object, "true", "metadata", "annotations", "olmgen.dev/touched")
	v.Update = faults(s.update(touched, u))
	return v, err
}

// Creates returns what is wrong with a new object, its status included, and then the dropped fields without a message.
func (s *Server) Creates(object map[string]any) []crs.Fault {
	u, dropped, refused := s.decoded(object)
	if refused != nil {
		return refused
	}
	refused = faults(s.create(u))
	for _, path := range dropped {
		refused = append(refused, crs.Fault{Path: path})
	}
	return refused
}

// Updates returns what is wrong with an object that takes the place of another one.
func (s *Server) Updates(old, now map[string]any) []crs.Fault {
	var sides [2]*unstructured.Unstructured
	for i, object := range []map[string]any{old, now} {
		u, _, refused := s.decoded(object)
		if refused != nil {
			return refused
		}
		u.SetResourceVersion("1")
		sides[i] = u
	}
	return faults(s.update(sides[1], sides[0]))
}

// decoded returns a copy of an object as the API server reads it.
func (s *Server) decoded(object map[string]any) (u *unstructured.Unstructured, dropped []string, refused []crs.Fault) {
	u = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	s.setNamespace(u)
	before := nulls("", u.Object, nil)
	dropped, err := s.decode(u)
	if err != nil {
		return nil, nil, []crs.Fault{{Path: "metadata", Message: err.Error()}}
	}
	after := nulls("", u.Object, nil)
	// the API server does not tell that it drops nulls
	return u, lists.SortedUnique(append(dropped, sets.List(sets.New(before...).Delete(after...))...)), nil
}

// nulls appends the paths of the fields of a value that are null.
func nulls(path string, value any, paths []string) []string {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			at := strings.TrimPrefix(path+"."+key, ".")
			if inner == nil {
				paths = append(paths, at)
			}
			paths = nulls(at, inner, paths)
		}
	case []any:
		for i, inner := range v {
			paths = nulls(fmt.Sprintf("%s[%d]", path, i), inner, paths)
		}
	}
	return paths
}

// setNamespace is EnsureObjectNamespaceMatchesRequestNamespace of k8s.io/apiserver: pkg/registry/rest/meta.go.
func (s *Server) setNamespace(u *unstructured.Unstructured) {
	switch {
	case !s.namespaced:
		u.SetNamespace(metav1.NamespaceNone)
	case u.GetNamespace() == "":
		u.SetNamespace(metav1.NamespaceDefault)
	}
}

// decode drops unknown fields and applies defaults. It returns the paths of the unknown fields.
func (s *Server) decode(u *unstructured.Unstructured) (unknown []string, err error) {
	kind, apiVersion := u.GetKind(), u.GetAPIVersion()
	om, found, paths, err := objectmeta.GetObjectMetaWithOptions(u.Object,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, paths...)
	if !s.preserveUnknown {
		unknown = append(unknown, pruning.PruneWithOptions(u.Object, s.schema, true,
			structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
		defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, s.schema)
	}
	fault, paths := objectmeta.CoerceWithOptions(nil, u.Object, s.schema, false,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fault != nil {
		return nil, fault
	}
	unknown = append(unknown, paths...)
	u.SetKind(kind)
	u.SetAPIVersion(apiVersion)
	if found {
		if err := objectmeta.SetObjectMeta(u.Object, om); err != nil {
			return nil, err
		}
	}
	defaulting.Default(u.Object, s.schema)
	return unknown, nil
}

// create validates a new object.
func (s *Server) create(u *unstructured.Unstructured) field.ErrorList {
	accessor, err := meta.Accessor(u)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("metadata"), nil, err.Error())}
	}
	errs := slices.Concat(metavalidation.ValidateObjectMetaAccessor(accessor, s.namespaced,
		metavalidation.NameIsDNSSubdomain, field.NewPath("metadata")),
		validation.ValidateCustomResource(nil, u.Object, s.validator), s.scaleErrors(u),
		objectmeta.Validate(nil, u.Object, s.schema, false),
		listtype.ValidateListSetsAndMaps(nil, s.schema, u.Object))
	if s.cel != nil && !blocks(errs) {
		found, _ := s.cel.Validate(context.Background(), nil, s.schema, u.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, found...)
	}
	return errs
}

// update validates an object that takes the place of an older one. Faults of what does not change are tolerated
// (ratcheting, https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
func (s *Server) update(u, old *unstructured.Unstructured) field.ErrorList {
	if s.schema == nil { // of preserveUnknownFields: there is nothing to compare by
		return append(validation.ValidateCustomResource(nil, u.Object, s.validator), s.scaleErrors(u)...)
	}
	same := common.NewCorrelatedObject(u.Object, old.Object, &model.Structural{Structural: s.schema})
	errs := validation.ValidateCustomResourceUpdate(nil, u.Object, old.Object, s.validator,
		validation.WithRatcheting(same))
	errs = append(errs, s.scaleErrors(u)...)
	errs = append(errs, objectmeta.Validate(nil, u.Object, s.schema, false)...)
	if len(listtype.ValidateListSetsAndMaps(nil, s.schema, old.Object)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, u.Object)...)
	}
	if s.cel != nil && !blocks(errs) {
		found, _ := s.cel.Validate(context.Background(), nil, s.schema, u.Object, old.Object,
			celconfig.RuntimeCELCostBudget, schemacel.WithRatcheting(same))
		errs = append(errs, found...)
	}
	return errs
}

// blocks reports whether errors keep the API server from evaluating CEL rules.
func blocks(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(e *field.Error) bool {
		return slices.Contains([]field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired,
			field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}, e.Type)
	})
}

// scaleErrors checks the fields that the scale subresource reads (registry/customresource/validator.go).
func (s *Server) scaleErrors(u *unstructured.Unstructured) field.ErrorList {
	if s.scale == nil {
		return nil
	}
	var errs field.ErrorList
	for _, path := range []string{s.scale.SpecReplicasPath, s.scale.StatusReplicasPath} {
		n, _, err := unstructured.NestedInt64(u.Object, strings.Split(strings.TrimPrefix(path, "."), ".")...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(path), n, err.Error()))
		case n < 0:
			errs = append(errs, field.Invalid(field.NewPath(path), n, "should be a non-negative integer"))
		case n > math.MaxInt32:
			errs = append(errs, field.Invalid(field.NewPath(path), n,
				fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)))
		}
	}
	if path := s.scale.LabelSelectorPath; path != nil {
		selector, _, err := unstructured.NestedString(u.Object, strings.Split(strings.TrimPrefix(*path, "."), ".")...)
		if err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

// faults puts each error on one line. Several errors at one path become one fault.
func faults(errs field.ErrorList) []crs.Fault {
	var out []crs.Fault
	at := map[string]int{} // of a path
	for _, e := range errs {
		path := strings.TrimPrefix(e.Field, ".")
		if path == "<nil>" {
			path = ""
		}
		message, detail := faultMessage(e), text.Shorten(detailOf(e), mostDetail)
		i, known := at[path]
		switch {
		case !known:
			at[path] = len(out)
			out = append(out, crs.Fault{Path: path, Message: message, Detail: detail})
		case !strings.Contains(out[i].Message, message):
			out[i].Message += "; " + message
			out[i].Detail += "; " + detail
		}
	}
	slices.SortFunc(out, func(a, b crs.Fault) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func detailOf(e *field.Error) string {
	return strings.TrimPrefix(text.OneLine(e.Detail), e.Field+" in body ")
}

// mostDetail is how much of an error of the API server is shown, in bytes, and most how much of a value.
const (
	mostDetail = 240
	most       = 60
)

// faultMessage leaves out the values of lists and maps, which can be the whole object.
func faultMessage(e *field.Error) string {
	detail := detailOf(e)
	message := strings.ToLower(e.Type.String()[:1]) + e.Type.String()[1:]
	switch v := e.BadValue.(type) {
	case string, bool, int64, float64:
		// CEL and schemas of objects have the type, or nothing, in the place of the value.
		if e.Type == field.ErrorTypeInvalid && v != "" && v != "object" && v != "array" ||
			e.Type == field.ErrorTypeNotSupported {
			message += " " + text.Shorten(text.OneLine(fmt.Sprintf("%#v", v)), most)
		}
	}
	if detail != "" {
		message += ": " + text.Shorten(detail, mostDetail)
	}
	return message
}

// Checker implements crs.Checker.
type Checker struct{}

// Judge returns what judges the objects of a version.
func (Checker) Judge(v crs.Version) (crs.Judge, error) {
	s, err := New(v)
	if err != nil {
		return nil, err
	}
	return s.judge, nil
}
