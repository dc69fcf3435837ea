package used

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
)

// event is what counts of an Event of audit.k8s.io/v1 (Kubernetes: apiserver/pkg/apis/audit/v1/types.go).
type event struct {
	Level      string `json:"level"`
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser *struct {
		Username string              `json:"username"`
		UID      string              `json:"uid"`
		Groups   []string            `json:"groups"`
		Extra    map[string][]string `json:"extra"`
	} `json:"impersonatedUser"`
	AuthenticationMetadata struct {
		ImpersonationConstraint string `json:"impersonationConstraint"`
	} `json:"authenticationMetadata"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Details struct {
			Name  string `json:"name"`
			Group string `json:"group"`
			Kind  string `json:"kind"`
		} `json:"details"`
	} `json:"responseStatus"`
	RequestObject jsontext.Value `json:"requestObject"`
	Annotations   struct {
		Decision string `json:"authorization.k8s.io/decision"`
		Reason   string `json:"authorization.k8s.io/reason"`
	} `json:"annotations"`
	StageTimestamp string `json:"stageTimestamp"`
}

// asked returns what the authorizer was asked for. The body of a request gives an event the name of a new object, which
// the authorizer does not know (Kubernetes: apiserver/pkg/audit/request.go, LogRequestObject).
func (e *event) asked() Asked {
	if e.ObjectRef == nil {
		path := e.RequestURI
		if u, err := url.ParseRequestURI(path); err == nil {
			path = u.Path
		}
		return Asked{Atom: rbac.Atom{Verb: e.Verb, IsURL: true, URL: path}}
	}
	o := e.ObjectRef
	a := Asked{rbac.Atom{Group: o.APIGroup, Resource: o.Resource, Verb: e.Verb}, o.Namespace}
	if o.Subresource != "" {
		a.Resource += "/" + o.Subresource
	}
	if o.Name != "" && (e.Verb != "create" || o.Subresource != "") {
		a.Named, a.Name = true, o.Name
	}
	return a
}

// event adds an event.
func (l *Log) event(e *event) {
	if !l.seen(e.Verb, e.StageTimestamp) {
		return
	}
	for _, a := range l.accounts[e.User.Username] {
		e.add(a)
	}
	if e.ImpersonatedUser == nil || !e.allowed() {
		return
	}
	for _, a := range l.accounts[e.ImpersonatedUser.Username] {
		a.note(e.asked(), Use{Needed: KeptActs})
		e.implies(a, e.asked())
		e.gives(a, e.asked())
	}
}

// allowed reports whether the authorizer allows the request. An export may have dropped the annotations: it asks before
// an object is looked for or changed (Kubernetes: apiserver/pkg/server/config.go, DefaultBuildHandlerChain).
func (e *event) allowed() bool {
	code := e.ResponseStatus.Code
	return e.Annotations.Decision == "allow" || e.Annotations.Decision == "" &&
		(code/100 == 2 || slices.Contains([]int{101, 404, 409, 410, 415, 422}, code))
}

// add adds an event of an account.
func (e *event) add(a *Account) {
	mark(a.Levels, e.Level)
	mark(a.Stages, e.Stage)
	if e.Stage == "RequestReceived" {
		a.Early++ // the event has neither a decision nor the impersonated user yet
		return
	}
	k := e.asked()
	impersonate, failed := e.failed()
	switch {
	case failed:
		a.note(impersonate, Use{Denied: true})
	case e.ImpersonatedUser != nil:
		for _, k := range e.impersonates() {
			a.note(k, Use{Allowed: true})
		}
	case e.Annotations.Decision == "forbid": // apiserver: pkg/endpoints/filters/authorization.go
		a.note(k, Use{Denied: true})
	case e.allowed():
		by := e.Annotations.Reason
		a.note(k, Use{Allowed: true, By: strings.ToValidUTF8(by[:min(len(by), 256)], "")})
		a.Reviews = a.Reviews || k.Verb == "create" && k.Group == "authorization.k8s.io" &&
			strings.HasPrefix(k.Resource, "self")
		e.implies(a, k)
		e.gives(a, k)
	default:
		return
	}
	a.Events++
}

func mark(set map[string]bool, word string) {
	if len(set) < mostShown && len(word) < 32 {
		set[word] = true
	}
}

func (k Asked) writes() bool { return slices.Contains([]string{"create", "update", "patch"}, k.Verb) }

// implies adds what a request needs beside what the authorizer is asked for.
func (e *event) implies(a *Account, k Asked) {
	with := func(verb, reason string) {
		other := k
		other.Verb = verb
		a.note(other, Use{Needed: reason})
	}
	pod, sub, _ := strings.Cut(k.Resource, "/")
	switch {
	case k.Verb == "watch":
		with("list", KeptList)
	case k.Verb == "get" && pod == "pods" && slices.Contains([]string{"exec", "attach", "portforward"}, sub):
		with("create", KeptStream)
	}
	if k.Verb == "create" || !k.writes() {
		return
	}
	if e.ResponseStatus.Code == 201 {
		with("create", KeptCreate)
	}
	if len(e.RequestObject) == 0 || string(e.RequestObject) == "null" {
		with("delete", KeptOwners)
	}
}

// gives adds the rules that a request gives on, that it gives its object owners, and the parameters of its policy.
func (e *event) gives(a *Account, k Asked) {
	var body struct {
		Metadata struct {
			Name            string
			OwnerReferences []metav1.OwnerReference
		}
		Spec struct { // of admission policies and their bindings
			ParamKind *struct{ APIVersion string }
			ParamRef  json.RawMessage
		}
		Rules           []rbacv1.PolicyRule
		RoleRef         rbacv1.RoleRef
		AggregationRule json.RawMessage
	}
	if !k.writes() {
		return
	}
	known := json.Unmarshal(e.RequestObject, &body) == nil
	patched := k.Verb == "patch" && // one of JSON names the field by its path
		(bytes.Contains(e.RequestObject, []byte("ownerRef")) || bytes.Contains(e.RequestObject, []byte(`"/metadata"`)))
	if a.Full = a.Full || len(a.Owned) >= mostAsked; !a.Full && (len(body.Metadata.OwnerReferences) > 0 || patched) {
		a.Owned[[2]string{k.Group, k.Resource}] = true
	}
	if k.Group == "admissionregistration.k8s.io" && strings.Contains(k.Resource, "admissionpolic") {
		switch kind := body.Spec.ParamKind; {
		case !known, kind == nil && body.Spec.ParamRef != nil && len(a.Params) == 0, len(a.Params) > mostShown:
			a.Params[rbac.All] = true
		case kind != nil:
			gv, _ := schema.ParseGroupVersion(kind.APIVersion)
			a.Params[gv.Group] = true
		}
	}
	if k.Group != rbacv1.GroupName {
		return
	}
	g := Given{Rules: body.Rules, Place: k.Place,
		Role: rbac.Key{Kind: rbac.KindClusterRole, Name: cmp.Or(k.Name, body.Metadata.Name)}}
	switch k.Resource {
	case "rolebindings", "clusterrolebindings":
		g.Role, g.Rules = rbac.Key{Kind: body.RoleRef.Kind, Name: body.RoleRef.Name}, nil
	case "roles":
		g.Role.Kind = rbac.KindRole
	}
	if g.Role.Kind == rbac.KindRole {
		g.Role.Namespace = k.Place
	}
	key := g.Role.String() + " " + g.Place + " " + rbac.ListsKey(lists.Map(g.Rules, rbac.RuleKey))
	switch {
	case !known || body.AggregationRule != nil || a.size+len(key) > mostGiven:
		a.GivesAny = true
	case !a.given[key]:
		a.Given, a.size, a.given[key] = append(a.Given, g), a.size+len(key), true
	}
}

// failed returns the impersonation that was denied: its event has neither a decision nor the impersonated user.
func (e *event) failed() (Asked, bool) {
	status := e.ResponseStatus
	_, asked, _ := strings.Cut(status.Message, " cannot ")
	verb, _, _ := strings.Cut(asked, " ")
	_, rest, _ := strings.Cut(asked, ` in the namespace "`)
	namespace, _, _ := strings.Cut(rest, `"`)
	atom := rbac.Atom{Group: status.Details.Group, Resource: status.Details.Kind, Verb: verb, Named: true,
		Name: status.Details.Name}
	return Asked{atom, namespace}, e.Annotations.Decision == "" && status.Code == 403 &&
		strings.HasPrefix(verb, "impersonate")
}

const groupAuthentication = "authentication.k8s.io"

// impersonates are the rights that an impersonation uses (Kubernetes: apiserver/pkg/endpoints/filters/impersonation).
// A constrained one has a verb of its own, and asks for the request again with another.
func (e *event) impersonates() (out []Asked) {
	as, constraint := e.ImpersonatedUser, e.AuthenticationMetadata.ImpersonationConstraint
	verb, core := cmp.Or(constraint, "impersonate"), ""
	if constraint != "" {
		core = groupAuthentication
		on := e.asked()
		on.Verb = "impersonate-on:" + strings.TrimPrefix(constraint, "impersonate:") + ":" + on.Verb
		out = append(out, on)
	}
	add := func(group, resource, name, place string) {
		atom := rbac.Atom{Group: group, Resource: resource, Verb: verb, Named: true, Name: name}
		out = append(out, Asked{atom, place})
	}
	if a, ok := rbac.AccountOf(rbacv1.Subject{Kind: rbacv1.UserKind, Name: as.Username}); ok {
		add(core, "serviceaccounts", a.Name, a.Namespace)
	} else {
		add(core, "users", as.Username, "")
		if node, ok := strings.CutPrefix(as.Username, "system:node:"); ok && constraint != "" {
			add(core, "nodes", node, "")
		}
	}
	for _, g := range as.Groups {
		add(core, "groups", g, "")
	}
	if as.UID != "" {
		add(groupAuthentication, "uids", as.UID, "")
	}
	for key, values := range as.Extra {
		for _, v := range values {
			add(groupAuthentication, "userextras/"+key, v, "")
		}
	}
	return out
}
