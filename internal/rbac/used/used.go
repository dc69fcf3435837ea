// Package used reads from audit logs of API servers which rights accounts used.
//
// A [Log] is read as a stream and holds what is asked for, once each, for the accounts that it is made for.
package used

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
)

// The limits of a log. What is beyond them is counted, and nobody takes it for unused.
const (
	mostLine  = 16 << 20 // bytes of one event
	mostAsked = 10_000   // combinations of verb and resource, or URLs, of one account
	mostShown = 8        // names and namespaces of each, beside those that a right names
	mostGiven = 8 << 20  // bytes of the rules that an account gave on
	mostWord  = 1024     // bytes of a name
)

// Log is what audit logs say about accounts.
type Log struct {
	Files   []string `json:"files"`
	Events  int      `json:"events"`  // of all users
	First   string   `json:"first"`   // the time of the first event of all users
	Last    string   `json:"last"`    // and of the last
	Skipped int      `json:"skipped"` // lines that have no event, or one that is too large

	verbs    map[string]bool // of all users
	accounts map[string]*Account
	known    map[string]bool // names and namespaces that rights name
}

// Account is what one account asked for.
type Account struct {
	Events int            // with a decision of the authorizer
	Early  int            // of the stage RequestReceived, which is before the decision
	Denied map[Asked]bool // by the authorizer
	Levels map[string]bool
	Stages map[string]bool

	Used     map[Asked]Use
	Given    []Given // rules that it gave on
	GivesAny bool    // it gave on rules that the log does not show
	Reviews  bool    // it asked what it may do
	Full     bool    // it asked for more than a Log holds

	kinds map[Asked]int
	given map[string]bool
	size  int // of given
}

// Use is why a right counts as used: the authorizer allowed a request by it, for a reason that names the binding, or
// another request needs it.
type Use struct{ By, Needed string }

// Asked is what RBAC is asked for. The place is a namespace, or empty.
type Asked struct {
	rbac.Atom
	Place string
}

// Given is a rule that an account gave on at a place, or a role whose rules are not in the log.
type Given struct {
	Rules []rbacv1.PolicyRule
	Role  rbac.Key
	Place string
}

// NewLog returns an empty log about accounts, by their names in it.
func NewLog(accounts []rbac.Account) *Log {
	l := &Log{Files: []string{}, verbs: map[string]bool{}, accounts: map[string]*Account{}, known: map[string]bool{}}
	for _, a := range accounts {
		l.accounts[a.Namespace+":"+a.Name] = &Account{Denied: map[Asked]bool{}, Used: map[Asked]Use{},
			Levels: map[string]bool{}, Stages: map[string]bool{}, kinds: map[Asked]int{}, given: map[string]bool{}}
	}
	return l
}

// Know adds names and namespaces that rights depend on: a Log holds them, however many others there are.
func (l *Log) Know(names []string) {
	for _, name := range names {
		l.known[name] = true
	}
}

// Covers returns the time from the first event to the last.
func (l *Log) Covers() time.Duration {
	first, err := time.Parse(time.RFC3339Nano, l.First)
	last, err2 := time.Parse(time.RFC3339Nano, l.Last)
	if err != nil || err2 != nil {
		return 0
	}
	return last.Sub(first)
}

// Of returns what an account asked for, or nil if the log is not about it.
func (l *Log) Of(a rbac.Account) *Account { return l.accounts[a.Namespace+":"+a.Name] }

// Shows reports whether the log has a verb of any user.
func (l *Log) Shows(verb string) bool { return l.verbs[verb] }

// Sorted returns what is asked for in a fixed order.
func Sorted[T any](of map[Asked]T) []Asked {
	return slices.SortedFunc(maps.Keys(of), func(a, b Asked) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.URL, b.URL),
			cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Name, b.Name))
	})
}

// note holds what is asked for, unless there is too much. A name or namespace that no right has is dropped then: no
// right depends on it.
func note[T any](l *Log, a *Account, to map[Asked]T, k Asked, value T) {
	if len(k.Name)+len(k.Place)+len(k.URL)+len(k.Resource)+len(k.Group)+len(k.Verb) > mostWord {
		a.Full = true
		return
	}
	kind := Asked{Atom: rbac.Atom{Group: k.Group, Resource: k.Resource, Verb: k.Verb, IsURL: k.IsURL, URL: k.URL}}
	if _, ok := to[k]; ok {
		return
	}
	if _, ok := a.kinds[kind]; !ok && len(a.kinds) >= mostAsked {
		a.Full = true
		return
	}
	if a.kinds[kind] >= mostShown {
		if !l.known[k.Name] {
			k.Named, k.Name = false, ""
		}
		if !l.known[k.Place] && k.Place != "" {
			k.Place = rbac.All
		}
		if _, ok := to[k]; ok {
			return
		}
	}
	a.kinds[kind]++
	to[k] = value
}

// The reasons why a right is kept that no request shows.
const (
	// Kubernetes: apiserver/pkg/endpoints/handlers/patch.go
	KeptCreate = "a patch or an update creates what is missing"
	// client-go: tools/cache/reflector.go
	KeptList = "clients list what they watch"
	// Kubernetes: plugin/pkg/admission/gc/gc_admission.go
	KeptOwner  = "who changes owner references needs it"
	KeptOwners = "who changes owner references needs it, and the log has no bodies"
	// Kubernetes: pkg/registry/rbac/validation/rule.go, ConfirmNoEscalation
	KeptGiven = "who gives rights by a role or a binding has to have them"
	KeptAny   = "the account writes roles or bindings, and the log lacks their rules"
)

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
