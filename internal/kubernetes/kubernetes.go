// Package kubernetes asks the code of Kubernetes what an API server says to objects that are created or updated. It
// links most of an API server, so only a program beside olmgen does: see cmd/internal/beside.
package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	kjson "sigs.k8s.io/json"

	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/writes"
)

// Checker implements writes.Checker.
type Checker struct{}

// Check answers what the API server says to writes: of each, whether its kind is known, and why it is refused. An
// error is that of ctx.
func (Checker) Check(ctx context.Context, asked []writes.Write) ([]writes.Answer, error) {
	answers := make([]writes.Answer, len(asked))
	for i, w := range asked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		answers[i] = check(ctx, w)
	}
	return answers, nil
}

// check does what an API server does with a request before it stores the object (Kubernetes:
// apiserver/pkg/registry/generic/registry/store.go, Create and Update). Fields that the type does not have are dropped
// unless the write is strict.
func check(ctx context.Context, w writes.Write) (a writes.Answer) {
	defer func() { // as an API server does, which ends the request
		if why := recover(); why != nil {
			a = refused(fmt.Errorf("the code of Kubernetes panics: %v", why))
		}
	}()
	var head metav1.TypeMeta
	if err := json.Unmarshal(w.Object, &head); err != nil {
		return refused(err)
	}
	gvk := head.GroupVersionKind()
	k, ok := kinds[gvk.GroupKind()]
	if !ok || !k.scheme.Recognizes(gvk) ||
		versions.Unserved(gvk.GroupVersion().String(), gvk.Kind, writes.Minor) != "" {
		return writes.Answer{}
	}
	obj, unknown, err := k.decode(w.Object, gvk, w.Strict)
	if err != nil {
		return refused(err)
	}
	if len(unknown) > 0 { // server-side apply compares before anything else
		return writes.Answer{Known: true, Causes: unknown}
	}
	meta, err := meta.Accessor(obj)
	if err != nil {
		return refused(err)
	}
	namespace := meta.GetNamespace()
	switch {
	case !k.strategy.NamespaceScoped():
		namespace = ""
	case namespace == "": // whoever applies the object knows it
		namespace = metav1.NamespaceDefault
	}
	meta.SetNamespace(namespace)
	ctx = request.WithRequestInfo(request.WithNamespace(ctx, namespace), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: gvk.Group, APIVersion: gvk.Version, Namespace: namespace,
		Name: meta.GetName()})
	if w.Existing == nil {
		return create(ctx, k, obj, meta)
	}
	old, _, err := k.decode(w.Existing, gvk, false)
	if err != nil {
		return writes.Answer{} // of another version
	}
	return update(ctx, k, obj, old, meta)
}

func create(ctx context.Context, k kind, obj runtime.Object, meta metav1.Object) writes.Answer {
	rest.FillObjectMetaSystemFields(meta)
	knowOwners(meta)
	if err := allocate(ctx, obj, nil); err != nil {
		return refused(err)
	}
	return refused(rest.BeforeCreate(brief{k.strategy}, ctx, obj))
}

func update(ctx context.Context, k kind, obj, old runtime.Object, now metav1.Object) writes.Answer {
	before, err := meta.Accessor(old)
	if err != nil {
		return refused(err)
	}
	if before.GetUID() == "" {
		rest.FillObjectMetaSystemFields(before)
	}
	if before.GetResourceVersion() == "" {
		before.SetResourceVersion("1")
	}
	before.SetNamespace(now.GetNamespace())
	now.SetUID(before.GetUID())
	now.SetCreationTimestamp(before.GetCreationTimestamp())
	now.SetResourceVersion(before.GetResourceVersion())
	now.SetGeneration(before.GetGeneration())
	now.SetDeletionTimestamp(before.GetDeletionTimestamp())
	now.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	if crd, ok := old.(*apiextensions.CustomResourceDefinition); ok && len(crd.Status.Conditions) == 0 {
		crd.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{ // as in a cluster; a file has none
			{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
	}
	knowOwners(before)
	knowOwners(now)
	_ = allocate(ctx, old, nil) // what is wrong with it was taken
	if err := allocate(ctx, obj, old); err != nil {
		return refused(err)
	}
	return refused(rest.BeforeUpdate(brief{k.strategy}, ctx, obj, old))
}

// knowOwners sets a UID of owners: OLM knows it, a file does not. An owner that is named twice counts once (Kubernetes:
// apiserver/pkg/endpoints/handlers/rest.go, dedupOwnerReferences).
func knowOwners(m metav1.Object) {
	var owners []metav1.OwnerReference
	for _, o := range m.GetOwnerReferences() {
		o.UID = cmp.Or(o.UID, types.UID(o.Kind+" "+o.Name))
		known := func(p metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(o, p) }
		if !slices.ContainsFunc(owners, known) {
			owners = append(owners, o)
		}
	}
	m.SetOwnerReferences(owners)
}

// most is how long a value may be that an error prints, in bytes.
const most = 100

// brief is a strategy whose errors do not print long values.
type brief struct{ strategy }

func (b brief) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return shortened(b.strategy.Validate(ctx, obj))
}

func (b brief) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return shortened(b.strategy.ValidateUpdate(ctx, obj, old))
}

func shortened(errs field.ErrorList) field.ErrorList {
	for _, e := range errs {
		if whole := e.ErrorBody(); len(whole)-len(e.Detail) > most {
			e.BadValue = field.OmitValueType{}
		}
	}
	return errs
}

// refused returns the answer for an error of the API server's code.
func refused(err error) writes.Answer {
	a := writes.Answer{Known: true}
	if err == nil {
		return a
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		for _, cause := range status.Status().Details.Causes {
			a.Causes = append(a.Causes, writes.Cause{Field: cause.Field, Message: cause.Message,
				Missing: cause.Type == metav1.CauseTypeFieldValueRequired})
		}
		return a
	}
	a.Causes = []writes.Cause{{Message: err.Error()}}
	return a
}

// decode returns an object in the internal version of its type, with its defaults, and, if it is strict, the fields
// that the type does not have.
func (k kind) decode(data []byte, gvk schema.GroupVersionKind, strict bool) (obj runtime.Object,
	unknown []writes.Cause, err error) {
	external, err := k.scheme.New(gvk)
	if err != nil {
		return nil, nil, err
	}
	var faults []error
	if strict {
		faults, err = kjson.UnmarshalStrict(data, external, kjson.DisallowUnknownFields)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, external)
	}
	for _, e := range faults {
		if f := kjson.FieldError(nil); errors.As(e, &f) {
			unknown = append(unknown, writes.Undeclared(reflect.TypeOf(external), f.FieldPath()))
		}
	}
	if err == nil {
		k.scheme.Default(external)
		// As the API server does, which goes on with what the defaults share, as the labels of a Job.
		obj, err = k.scheme.UnsafeConvertToVersion(external,
			schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", gvk.Kind, gvk.Version, gvk.Kind,
			err)
	}
	return obj, unknown, nil
}
