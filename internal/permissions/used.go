package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// Usage compares what accounts have with what they use by audit logs.
type Usage struct {
	Log      used.Log     `json:"log"`
	Accounts []AccountUse `json:"accounts"`
}

// AccountUse is what one account uses of what it has.
type AccountUse struct {
	Account   Subject  `json:"account"`
	LogName   string   `json:"logName,omitempty"` // its namespace/name in the log, where it differs
	Events    int      `json:"events"`            // with a decision of the authorizer
	Levels    []string `json:"levels"`
	Stages    []string `json:"stages"`
	Unused    []Item   `json:"unused"` // the most dangerous first
	Wider     []Item   `json:"wider"`  // granted by a wildcard, of which only a part is used
	Used      []Item   `json:"used"`   // what requests asked for, and the rule that allows it
	Kept      []Right  `json:"kept"`   // without a request of its own, and why it may be needed
	Denied    []Right  `json:"denied"`
	Elsewhere []Right  `json:"elsewhere"` // allowed by what is not among the objects
	Notes     []string `json:"notes"`
}

// Right is a right that no rule of the objects is the source of.
type Right struct {
	Namespaces      []string `json:"namespaces"` // ["*"] is the cluster
	Verbs           []string `json:"verbs"`
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
	Reason          string   `json:"reason,omitempty"`
}

// granted is one right of an account, and what the log says about it.
type granted struct {
	held
	used  bool
	kept  string      // why it is kept, if it is not used
	parts []rbac.Atom // of a wildcard, that are used or kept
}

// account returns what a subject is in a log, by the names that differ there.
func (s Subject) account(names map[rbac.Account]rbac.Account) rbac.Account {
	a := rbac.Account{Namespace: s.Namespace, Name: s.Name}
	return cmp.Or(names[a], a)
}

// ownRights returns the items of each account that it does not have by a group.
func (r *Report) ownRights() [][]Item {
	return lists.Groups(lists.Filter(r.Permissions, func(i Item) bool {
		return i.Subject.Kind == rbacv1.ServiceAccountKind && i.Source.Via == ""
	}), subjectOfItem)
}

// NewLog returns an empty log about the accounts of the report; names has those that have another name in the log.
func (r *Report) NewLog(names map[rbac.Account]rbac.Account) (*used.Log, error) {
	var accounts []rbac.Account
	own := map[rbac.Account]bool{}
	for _, s := range r.Accounts {
		own[rbac.Account{Namespace: s.Namespace, Name: s.Name}] = true
		accounts = append(accounts, s.account(names))
	}
	for a := range names {
		if !own[a] {
			return nil, manifest.WithHint(fmt.Errorf("there is no ServiceAccount %s", a),
				"write NAMESPACE/NAME of the log=NAMESPACE/NAME of the operator")
		}
	}
	if len(accounts) == 0 {
		return nil, manifest.WithHint(fmt.Errorf("there is no ServiceAccount to compare the audit log with"),
			"leave it out")
	}
	log := used.NewLog(accounts)
	for _, i := range r.Permissions {
		log.Know(i.Namespaces)
		log.Know(i.ResourceNames)
	}
	return log, nil
}

// Use adds what a log says that accounts use.
func (r *Report) Use(l *used.Log, names map[rbac.Account]rbac.Account) {
	r.Usage = Usage{Log: *l}
	for _, items := range r.ownRights() {
		s := items[0].Subject
		u := usage{report: r, log: l, a: l.Of(s.account(names)), subject: s, at: map[string]*rbac.Index[int]{}}
		u.take(items)
		u.match()
		out := u.result(items)
		if as := s.account(names); as.String() != s.Namespace+"/"+s.Name {
			out.LogName = as.String()
		}
		r.Usage.Accounts = append(r.Usage.Accounts, out)
	}
}

// usage is the comparison of one account.
type usage struct {
	report    *Report
	log       *used.Log
	a         *used.Account
	subject   Subject
	rights    []granted
	at        map[string]*rbac.Index[int] // the rights by place
	used      []held
	elsewhere []held
}

func (u *usage) take(items []Item) {
	for _, i := range items {
		for _, place := range i.places() {
			u.grant(rbac.Atoms(i.rule()), place, i.Source)
		}
	}
}

func (u *usage) grant(atoms []rbac.Atom, place string, source Source) {
	if u.at[place] == nil {
		u.at[place] = &rbac.Index[int]{}
	}
	for _, a := range atoms {
		if _, added := u.at[place].Add(a, len(u.rights)); added {
			u.rights = append(u.rights, granted{held: held{a, place, source}})
		}
	}
}

func wildcard(a rbac.Atom) bool {
	return a.Verb == rbac.All || a.Group == rbac.All || strings.Contains(a.Resource, rbac.All) ||
		strings.HasSuffix(a.URL, rbac.All)
}

// need marks the rights that allow what is asked for, and returns the first.
func (u *usage) need(k used.Asked, why string) *granted {
	var first *granted
	for _, place := range lists.Unique([]string{k.Place, ""}) {
		for _, at := range u.at[place].Covering(k.Atom) {
			g := &u.rights[at]
			first = cmp.Or(first, g)
			if why == "" {
				g.used = true
			} else {
				g.kept = cmp.Or(g.kept, why)
			}
			if wildcard(g.atom) {
				part := k.Atom
				part.Named, part.Name = g.atom.Named, g.atom.Name
				g.parts = append(g.parts, part)
			}
		}
	}
	return first
}

func (u *usage) match() {
	for _, k := range used.Sorted(u.a.Used) {
		use := u.a.Used[k]
		switch g := u.need(k, use.Needed); {
		case use.Needed != "":
		case g != nil:
			u.used = append(u.used, held{k.Atom, k.Place, g.source})
		default:
			u.elsewhere = append(u.elsewhere, held{k.Atom, k.Place, Source{Object: use.By}})
		}
	}
	for _, given := range u.a.Given {
		rules := given.Rules
		if given.Role.Kind == rbac.KindClusterRole && given.Role.Name != "" {
			rules = u.report.scopes.Role(given.Role.Name)
		}
		u.a.GivesAny = u.a.GivesAny || len(rules) == 0
		for _, rule := range rules {
			if rbac.Count(rule, rbac.MaxAtoms) > rbac.MaxAtoms {
				u.a.GivesAny = true
				continue
			}
			for _, a := range rbac.Atoms(rule) {
				u.need(used.Asked{Atom: a, Place: given.Place}, used.KeptGiven)
			}
		}
	}
	for i := range u.rights {
		u.keep(&u.rights[i])
	}
}

// asked are the verbs of requests. Nobody asks for another one by a request that has it.
var asked = append(slices.Clone(rbac.Verbs), "impersonate", "post", "put", "head", "options")

// keep finds why a right may be needed without a request that has it.
func (u *usage) keep(g *granted) {
	why := u.without(g.atom)
	switch {
	case u.a.Full:
		why = "the account asks for more than is counted"
	case u.a.GivesAny:
		why = used.KeptAny
	}
	if why != "" {
		if !g.used {
			g.kept = cmp.Or(g.kept, why)
		}
		if wildcard(g.atom) {
			g.parts = []rbac.Atom{g.atom}
		}
		return
	}
	if wildcard(g.atom) && (g.used || g.kept != "") {
		u.virtual(g)
	}
}

// without returns why a right may be needed that no request has, or "".
func (u *usage) without(a rbac.Atom) string {
	resource, sub, _ := strings.Cut(a.Resource, "/")
	switch verb := a.Verb; {
	case verb == "escalate" || verb == "bind":
		return "Kubernetes asks for it when a role or binding is written" // pkg/registry/rbac/escalation_check.go
	case verb == "use":
		return "it is asked for when a pod is made" // OpenShift: sccmatching/matcher.go, authorizedForSCC
	case verb != rbac.All && !slices.Contains(asked, verb) && !strings.HasPrefix(verb, "impersonate"):
		return "no request has this verb"
	case sub == "finalizers" && (verb == "update" || verb == rbac.All):
		return used.KeptOwner
	case a.Group == "" && resource == "nodes" && sub != "" && sub != "status":
		return "a kubelet asks for it, and not the API server" // pkg/kubelet/server/auth.go
	case resource == "events" && (a.Group == "" || a.Group == "events.k8s.io"):
		return "OpenShift's audit policy drops events" // openshift/api: config/v1/types_apiserver.go
	case slices.Contains([]string{"get", "list", "watch"}, verb) && !u.log.Shows(verb):
		return "the log has no " + verb + " of anybody"
	}
	return ""
}

// virtual adds the parts of a wildcard that no request shows.
func (u *usage) virtual(g *granted) {
	add := func(group, resource, verb string) {
		a := rbac.Atom{Group: group, Resource: resource, Verb: verb, Named: g.atom.Named, Name: g.atom.Name}
		x := &rbac.Index[bool]{}
		x.Add(g.atom, true)
		if _, ok := x.Covers(a); ok {
			g.parts = append(g.parts, a)
		}
	}
	add("security.openshift.io", "securitycontextconstraints", "use")
	add(g.atom.Group, "*/finalizers", "update")
	for _, verb := range []string{"get", "list", "watch"} {
		if !u.log.Shows(verb) {
			add(g.atom.Group, g.atom.Resource, verb)
		}
	}
}

// narrowed returns what is left of the rights: what is used or kept.
func (u *usage) narrowed() (atoms []rbac.Atom) {
	for _, g := range u.rights {
		switch {
		case !g.used && g.kept == "":
		case wildcard(g.atom):
			atoms = append(atoms, g.parts...)
		default:
			atoms = append(atoms, g.atom)
		}
	}
	return lists.Unique(atoms)
}

func (u *usage) result(items []Item) AccountUse {
	scopes := u.report.scopes
	heldNow, _ := heldBy(items)
	out := AccountUse{Account: u.subject, Events: u.a.Events, Levels: append([]string{}, lists.Keys(u.a.Levels)...),
		Stages: append([]string{}, lists.Keys(u.a.Stages)...), Notes: u.notes()}
	var unused, wider, kept, denied []held
	for _, g := range u.rights {
		switch needed := g.used || g.kept != ""; {
		case !needed:
			unused = append(unused, g.held)
		case wildcard(g.atom) && !slices.Contains(g.parts, g.atom):
			wider = append(wider, g.held)
		}
		if g.kept != "" && !g.used {
			g.source = Source{Object: g.kept}
			kept = append(kept, g.held)
		}
	}
	for _, k := range used.Sorted(u.a.Denied) {
		denied = append(denied, held{atom: k.Atom, place: k.Place})
	}
	rated := func(list []held) []Item {
		items := itemsOf(u.subject, list, scopes)
		for i := range items {
			items[i].Severity, items[i].Follows = levelOf(items[i], heldNow, nil, scopes)
			if items[i].Severity == findings.None {
				items[i].Severity = findings.Note
			}
		}
		slices.SortStableFunc(items, func(a, b Item) int { return worse(a.Severity, b.Severity) })
		return items
	}
	out.Unused, out.Wider, out.Used = rated(unused), rated(wider), itemsOf(u.subject, u.used, scopes)
	rights := func(list []held) []Right {
		out := []Right{}
		for _, i := range itemsOf(u.subject, list, scopes) {
			out = append(out, Right{i.Namespaces, i.Verbs, i.APIGroups, i.Resources, i.ResourceNames, i.NonResourceURLs,
				i.Source.Object})
		}
		return out
	}
	out.Kept, out.Denied, out.Elsewhere = rights(kept), rights(denied), rights(u.elsewhere)
	return out
}

// notes say what the log does not show about an account.
func (u *usage) notes() []string {
	out := []string{}
	switch {
	case u.a.Events == 0 && u.a.Early > 0:
		out = append(out, "the log has only the stage RequestReceived of it, which is before the decision: "+
			"nothing is known of what it uses")
	case u.a.Events == 0:
		out = append(out, "the log has no event of it: give its name in the log, OLD=NEW, or a longer log")
	}
	if missing := lists.Filter(rbac.Verbs, func(v string) bool { return !u.log.Shows(v) }); len(missing) > 0 {
		out = append(out, "the log has no "+text.Or(missing)+" of anybody: the audit policy may drop these verbs")
	}
	if u.a.Events > 0 && !u.a.Levels["Request"] && !u.a.Levels["RequestResponse"] {
		out = append(out, "the log has no bodies of its requests (level Request): which rights it gives on, and "+
			"which owners it changes, is not known")
	}
	if u.a.Reviews {
		out = append(out, "it asks what it may do (SelfSubjectAccessReview): with fewer rights the answer changes, "+
			"and no request is denied")
	}
	return out
}
