package plan

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
)

// Refusal is why the API server does not take an object.
type Refusal struct {
	Text      string
	Forbidden bool // by RBAC, a quota or a policy: OLM does not give up
}

// invalidObject returns what the API server says to an object (apimachinery: pkg/api/errors, NewInvalid).
func invalidObject(group string, o *manifest.Object, causes []string) *Refusal {
	kind := o.Kind
	if group != "" {
		kind += "." + group
	}
	why := causes[0]
	if len(causes) > 1 {
		why = "[" + strings.Join(causes, ", ") + "]"
	}
	return &Refusal{Text: fmt.Sprintf("%s %q is invalid: %s", kind, o.Name, why)}
}

// writer writes objects as an account does, or as OLM itself if there is none.
type writer struct {
	*world.World
	ctx     context.Context // of api
	account *rbac.Account
	api     writes.Checker // nil if nobody asks
	unknown []string       // what was not looked at
	unasked bool           // nobody answered for a Deployment

	admission *Admission // of the cluster as it is; nil before it is asked
	err       error      // of api
}

// ask returns why the API server refuses an object that is made, or that takes the place of an existing one. Where
// nobody asks it, only fields that it does not let change count.
func (w *writer) ask(existing, made *manifest.Object) []string {
	if w.err != nil {
		return nil
	}
	answers := []writes.Answer{{}}
	if w.api != nil {
		asked, err := writes.Of(existing, made)
		if err != nil {
			return []string{err.Error()}
		}
		if answers, w.err = w.api.Check(w.ctx, []writes.Write{asked}); w.err != nil {
			return nil
		}
		w.unasked = w.unasked || !answers[0].Known && made.Kind == "Deployment"
	}
	if existing != nil && !answers[0].Known {
		answers[0].Causes = Fixed(existing, made)
	}
	return lists.Map(answers[0].Causes, writes.Cause.String)
}

// Fixed returns why the API server refuses an object that takes the place of an existing one, as far as the immutable
// fields of its kind say it, without asking anybody.
func Fixed(existing, made *manifest.Object) (causes []writes.Cause) {
	for _, at := range olm.ImmutableFields(made.Group(), made.Kind) {
		path := strings.Split(at, ".")
		is, _ := made.Get(path...)
		if was, _ := existing.Get(path...); was != nil && is != nil && !reflect.DeepEqual(was, is) {
			message := field.Invalid(nil, is, path[len(path)-1]+" is immutable").ErrorBody()
			causes = append(causes, writes.Cause{Field: at, Message: message})
		}
	}
	return causes
}

// Refused returns why the API server refuses an object that takes the place of an existing one, or nil. The error is
// that of the API, which may be nil.
func Refused(ctx context.Context, api writes.Checker, existing, made *manifest.Object) (*Refusal, error) {
	w := &writer{ctx: ctx, api: api}
	causes := w.ask(existing, made)
	if len(causes) == 0 {
		return nil, w.err
	}
	return invalidObject(made.Group(), made, causes), nil
}

// write makes an object, or puts it in the place of the one that exists, and returns why the API server refuses that:
// known is what OLM's own rules find, which count where nobody asks the API server. It asks for rights first, then what
// the object says, then policies and quotas (Kubernetes: apiserver/pkg/registry/generic/registry/store.go). What is
// being deleted goes once its finalizers are done.
func (w *writer) write(existing, made *manifest.Object, known ...*field.Error) *Refusal {
	if refusal := w.mayWrite(existing, made); refusal != nil {
		return refusal
	}
	causes := w.ask(existing, made)
	if len(causes) == 0 {
		causes = lists.Map(append(known, invalidMeta(made)...), (*field.Error).Error)
	}
	if len(causes) > 0 {
		return invalidObject(made.Group(), made, causes)
	}
	if w.admission == nil {
		w.admission = AdmissionOf(w.World)
	}
	refusal, unknown := w.admission.Denies(existing, made)
	for _, u := range unknown {
		w.unknown = lists.Add(w.unknown, u)
	}
	if refusal != nil {
		return refusal
	}
	if existing != nil && existing.Has("metadata", "deletionTimestamp") {
		w.Delete(existing)
		return nil
	}
	if existing == nil {
		if refusal := w.quotas(made); refusal != nil {
			return refusal
		}
	}
	if made.Group() == admissionv1.GroupName {
		w.admission = nil // it may be a policy
	}
	w.Put(made)
	return nil
}

// resourceOf returns the plural of a kind.
func resourceOf(o *manifest.Object) string {
	kind, _ := olm.KindOf(o.Group(), o.Kind)
	return kind.Plural
}

// qualified is the name of a resource with its group.
func qualified(o *manifest.Object) string {
	return strings.TrimSuffix(resourceOf(o)+"."+o.Group(), ".")
}

// Denied returns what the API server says if an account may not do something with an object, or "".
func Denied(w *world.World, account rbac.Account, verb string, o *manifest.Object) string {
	rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{o.Group()}, Resources: []string{resourceOf(o)}}
	of := ""
	if verb != "create" {
		rule.ResourceNames, of = []string{o.Name}, " "+strconv.Quote(o.Name)
	}
	if w.RBAC.Allows(account, o.Namespace, rule) {
		return ""
	}
	where := "in the namespace " + strconv.Quote(o.Namespace)
	if o.Namespace == "" {
		where = "at the cluster scope"
	}
	return fmt.Sprintf("%s%s is forbidden: User %q cannot %s resource %q in API group %q %s", qualified(o), of,
		account.User(), verb, resourceOf(o), o.Group(), where)
}

// mayWrite asks for the rights of the account. OLM creates an object, and patches the one that is there (OLM:
// pkg/controller/operators/catalog/step_ensurer.go).
func (w *writer) mayWrite(existing, made *manifest.Object) *Refusal {
	if w.account == nil {
		return nil
	}
	verbs := []string{"create"}
	if existing != nil {
		verbs = append(verbs, "get", "patch")
	}
	for _, verb := range verbs {
		if denied := Denied(w.World, *w.account, verb, made); denied != "" {
			return &Refusal{denied, true}
		}
	}
	if made.Group() == rbacv1.GroupName {
		return w.escalates(made)
	}
	return nil
}

// escalates returns why an account may not make a role or a binding: it grants what the account does not have
// (Kubernetes: pkg/registry/rbac/role/policybased, rolebinding/policybased).
func (w *writer) escalates(o *manifest.Object) *Refusal {
	role, verb := o, "escalate"
	if strings.HasSuffix(o.Kind, "Binding") {
		var ref rbacv1.RoleRef
		_ = o.Field(&ref, "roleRef") // what cannot be read is refused already
		verb = "bind"
		role = manifest.New(map[string]any{"apiVersion": o.APIVersion, "kind": ref.Kind,
			"metadata": map[string]any{"name": ref.Name}})
		if role.Namespace = o.Namespace; ref.Kind == rbac.KindClusterRole {
			role.Namespace = ""
		}
		if found := w.Get(rbacv1.GroupName, ref.Kind, role.Namespace, ref.Name); found != nil {
			role = found
		}
	}
	asked := *role
	asked.Namespace = o.Namespace
	if Denied(w.World, *w.account, verb, &asked) == "" {
		return nil
	}
	var typed rbacv1.ClusterRole
	_, _ = role.Into(&typed)
	lacks := slices.DeleteFunc(typed.Rules, func(rule rbacv1.PolicyRule) bool {
		return w.RBAC.Allows(*w.account, o.Namespace, rule)
	})
	if len(lacks) == 0 {
		return nil
	}
	return &Refusal{fmt.Sprintf("%s %q is forbidden: user %q (groups=%q) is attempting to grant RBAC permissions not "+
		"currently held: %s", qualified(o), o.Name, w.account.User(), w.account.Groups(),
		strings.Join(lists.Map(lacks, rbac.RuleText), "; ")), true}
}

// quotas returns why a ResourceQuota forbids a new object, and counts it otherwise (Kubernetes:
// apiserver/pkg/quota/v1/generic/evaluator.go; pkg/quota/v1/evaluator/core). Quotas with scopes are for pods.
func (w *writer) quotas(made *manifest.Object) *Refusal {
	if made.Namespace == "" {
		return nil
	}
	keys := []corev1.ResourceName{corev1.ResourceName("count/" + qualified(made))}
	if made.Group() == "" {
		keys = append(keys, corev1.ResourceName(resourceOf(made)))
	}
	for _, o := range w.Of("", "ResourceQuota") {
		var quota corev1.ResourceQuota
		if _, err := o.Into(&quota); err != nil || o.Namespace != made.Namespace {
			continue
		}
		if made.Kind == "Deployment" && limitsPods(&quota) {
			w.unknown = lists.Add(w.unknown, fmt.Sprintf("whether ResourceQuota %s leaves room for the pods of %s",
				o.Name,
				made.Name))
		}
		if len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
			continue
		}
		for _, key := range keys {
			hard, limited := quota.Spec.Hard[key]
			if !limited {
				continue
			}
			used, known := quota.Status.Used[key]
			if !known {
				same := lists.Filter(w.Of(made.Group(), made.Kind), func(x *manifest.Object) bool {
					return x.Namespace == made.Namespace
				})
				used = *resource.NewQuantity(int64(len(same)), resource.DecimalSI)
			}
			before := used.String()
			if used.Add(resource.MustParse("1")); used.Cmp(hard) > 0 {
				return &Refusal{fmt.Sprintf("%s %q is forbidden: exceeded quota: %s, requested: %s=1, used: %s=%s, "+
					"limited: %s=%s", qualified(made), made.Name, o.Name, key, key, before, key, hard.String()), true}
			}
			w.count(o, string(key), used.String())
		}
	}
	return nil
}

// limitsPods reports whether a quota counts pods, or what they ask for.
func limitsPods(q *corev1.ResourceQuota) bool {
	for key := range q.Spec.Hard {
		name := strings.TrimPrefix(strings.TrimPrefix(string(key), "requests."), "limits.")
		if slices.Contains([]string{"pods", "count/pods", "cpu", "memory", "ephemeral-storage"}, name) {
			return true
		}
	}
	return false
}

// count writes what a quota has counted.
func (w *writer) count(quota *manifest.Object, key, used string) {
	value, err := quota.Value()
	if err != nil {
		return
	}
	value, counted := normalize.CopyAt(value, "status", "used")
	counted[key] = used
	now := quota.Derive(value, func(field string) string { return field })
	now.Namespace = quota.Namespace
	w.Put(now)
}

// invalidMeta returns what the API server says to the metadata of an object (Kubernetes:
// apimachinery/pkg/api/validation/objectmeta.go).
func invalidMeta(o *manifest.Object) field.ErrorList {
	var meta metav1.ObjectMeta
	if o.Field(&meta, "metadata") != nil {
		return nil // a status, which the API server does not read
	}
	meta.Namespace, meta.OwnerReferences = o.Namespace, nil // of which OLM knows the UID
	return apivalidation.ValidateObjectMeta(&meta, o.Namespace != "", func(name string, _ bool) []string {
		return install.NameProblems(o.Kind, name)
	}, field.NewPath("metadata"))
}
