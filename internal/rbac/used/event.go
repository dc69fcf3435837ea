package used

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
)

// event is what counts of an Event of audit.k8s.io/v1 (Kubernetes: apiserver/pkg/apis/audit/v1/types.go).
type event struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
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
		Code int `json:"code"`
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
		if u, err := url.Parse(path); err == nil {
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
	l.seen(e.Verb, e.StageTimestamp)
	a := l.accounts[strings.TrimPrefix(e.User.Username, string(userPrefix))]
	if a == nil || !strings.HasPrefix(e.User.Username, string(userPrefix)) {
		return // somebody else, who names the account or acts as it
	}
	mark(a.Levels, e.Level)
	mark(a.Stages, e.Stage)
	decision := e.Annotations.Decision // apiserver: pkg/endpoints/filters/authorization.go
	if e.Stage == "RequestReceived" {
		a.Early++ // the event has neither a decision nor the impersonated user yet
		return
	}
	if e.ImpersonatedUser != nil {
		a.Events++
		for _, k := range e.impersonates() {
			note(l, a, a.Used, k, Use{})
		}
		return
	}
	switch k := e.asked(); {
	case decision == "forbid":
		a.Events++
		note(l, a, a.Denied, k, true)
	case decision == "allow", decision == "" && e.ResponseStatus.Code/100 == 2:
		a.Events++
		if a.Used[k].Needed != "" {
			delete(a.Used, k)
		}
		by := e.Annotations.Reason
		note(l, a, a.Used, k, Use{By: strings.ToValidUTF8(by[:min(len(by), 256)], "")})
		e.implies(l, a, k)
	}
}

func mark(set map[string]bool, word string) {
	if len(set) < mostShown && len(word) < 32 {
		set[word] = true
	}
}

// implies adds what a request needs beside what the authorizer is asked for.
func (e *event) implies(l *Log, a *Account, k Asked) {
	with := func(verb, reason string) {
		other := k
		other.Verb = verb
		note(l, a, a.Used, other, Use{Needed: reason})
	}
	changes := k.Verb == "patch" || k.Verb == "update"
	if changes && e.ResponseStatus.Code == 201 {
		with("create", KeptCreate)
	}
	if k.Verb == "watch" {
		with("list", KeptList)
	}
	if k.Verb == "create" && strings.HasPrefix(k.Resource, "self") && k.Group == "authorization.k8s.io" {
		a.Reviews = true
	}
	var body struct {
		Metadata struct{ OwnerReferences []metav1.OwnerReference }
		Rules    []rbacv1.PolicyRule
		RoleRef  rbacv1.RoleRef
	}
	known := e.RequestObject.Kind() == '{' && json.Unmarshal(e.RequestObject, &body) == nil
	switch {
	case !changes:
	case !known:
		with("delete", KeptOwners)
	case len(body.Metadata.OwnerReferences) > 0,
		k.Verb == "patch" && bytes.Contains(e.RequestObject, []byte("ownerRef")):
		with("delete", KeptOwner)
	}
	if k.Group != rbacv1.GroupName || !changes && k.Verb != "create" {
		return
	}
	g := Given{Rules: body.Rules, Place: k.Place}
	if strings.HasSuffix(k.Resource, "bindings") {
		g.Role = rbac.Key{Kind: body.RoleRef.Kind, Name: body.RoleRef.Name}
		if g.Role.Kind == rbac.KindRole {
			g.Role.Namespace = k.Place
		}
	}
	key := g.Role.String() + " " + g.Place + " " + rbac.ListsKey(lists.Map(g.Rules, rbac.RuleKey))
	known = known && (len(g.Rules) > 0 || g.Role.Name != "")
	switch known = known && a.size+len(key) < mostGiven; {
	case !known:
		a.GivesAny = true
	case !a.given[key]:
		a.Given, a.size, a.given[key] = append(a.Given, g), a.size+len(key), true
	}
}
