package permissions

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

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

// Unseen returns the accounts of which the logs have no event.
func (u *Usage) Unseen() []string {
	return lists.Map(lists.Filter(u.Accounts, func(a AccountUse) bool { return a.Events == 0 }),
		func(a AccountUse) string { return a.Account.account().String() })
}

// AccountUse is what one account uses of what it has.
type AccountUse struct {
	Account   Subject  `json:"account"`
	LogName   string   `json:"logName,omitempty"` // its other names in the log, NAMESPACE/NAME each
	Events    int      `json:"events"`            // with a decision of the authorizer
	Levels    []string `json:"levels"`
	Stages    []string `json:"stages"`
	Unused    []Item   `json:"unused"`    // the most dangerous first
	Unknown   []Item   `json:"unknown"`   // instead, if the log has no event of the account
	Wider     []Item   `json:"wider"`     // granted by a wildcard, of which only a part is used
	Used      []Item   `json:"used"`      // what requests asked for, and the rule that allows it
	Kept      []Item   `json:"kept"`      // without a request of its own; Follows is why it may be needed
	Denied    []Item   `json:"denied"`    // asked for, and not granted
	Elsewhere []Item   `json:"elsewhere"` // allowed by a group, or by what is not among the objects
	Needed    []Item   `json:"needed"`    // used or kept: what narrowed rules would be
	Notes     []string `json:"notes"`
}

// granted is one right of an account, and what of it is needed: "" for what is used, or why it is kept.
type granted struct {
	held
	parts map[rbac.Atom]string
}

// mark adds what a request needs of the right. The names stay those of the rule.
func (g *granted) mark(a rbac.Atom, why string) {
	a.Named, a.Name = g.atom.Named, g.atom.Name
	if g.parts == nil {
		g.parts = map[rbac.Atom]string{}
	}
	if _, ok := g.parts[a]; !ok || why == "" {
		g.parts[a] = why
	}
}

func (g *granted) used() bool {
	return lists.Any(maps.Values(g.parts), func(why string) bool { return why == "" })
}

// account returns the ServiceAccount that a subject is.
func (s Subject) account() rbac.Account { return rbac.Account{Namespace: s.Namespace, Name: s.Name} }

// ownRights returns the items of each account that it does not have by a group.
func (r *Report) ownRights() [][]Item {
	return lists.Groups(lists.Filter(r.Permissions, func(i Item) bool {
		return i.Subject.Kind == rbacv1.ServiceAccountKind && i.Source.Via == ""
	}), subjectOfItem)
}

// Account returns the one account of a name, which may have its namespace before it. The error begins with what there
// is instead.
func (r *Report) Account(name string) (Subject, error) {
	full := func(a Subject) string { return a.account().String() }
	found := lists.Filter(r.Accounts, func(a Subject) bool { return name == a.Name || name == full(a) })
	switch len(found) {
	case 0:
		return Subject{}, manifest.WithHint(fmt.Errorf("no account %s", text.Brief(name)),
			"it has "+cmp.Or(text.FirstOf(12, lists.Map(r.Accounts, full)), "none"))
	case 1:
		return found[0], nil
	}
	return Subject{}, manifest.WithHint(fmt.Errorf("several accounts %s", text.Brief(name)), "write NAMESPACE/NAME")
}

// NewLog returns an empty log about the accounts of the report. Names are those that have other names in the log, too:
// such a name, with the namespace of the account if it has none, and the account. A name that another account has in
// the log is not that of its own account there.
func (r *Report) NewLog(names [][2]string) (*used.Log, error) {
	if len(r.Accounts) == 0 {
		return nil, manifest.WithHint(errors.New("there is no ServiceAccount to compare the audit log with"),
			"leave it out")
	}
	r.logNames = map[rbac.Account][]rbac.Account{}
	taken := map[rbac.Account]bool{}
	for _, pair := range names {
		s, err := r.Account(pair[1])
		if err != nil {
			return nil, fmt.Errorf("the operator has %w", err)
		}
		namespace, name, ok := strings.Cut(pair[0], "/")
		if !ok {
			namespace, name = s.Namespace, pair[0]
		}
		old := rbac.Account{Namespace: namespace, Name: name}
		taken[old], r.logNames[s.account()] = true, lists.Add(r.logNames[s.account()], old)
	}
	accounts := map[rbac.Account][]rbac.Account{}
	for _, s := range r.Accounts {
		accounts[s.account()] = r.logNames[s.account()]
		if !taken[s.account()] {
			accounts[s.account()] = append(slices.Clone(r.logNames[s.account()]), s.account())
		}
	}
	log := used.NewLog(accounts)
	for _, i := range r.Permissions {
		log.Know(i.Namespaces)
		log.Know(i.ResourceNames)
	}
	for _, role := range r.objects.Roles {
		for _, rule := range role.Rules {
			log.Know(rule.ResourceNames)
		}
	}
	return log, nil
}

// Use adds what a log says that accounts use.
func (r *Report) Use(l *used.Log) {
	r.Usage = Usage{Log: *l}
	for _, items := range r.ownRights() {
		u := r.newUsage(l, items[0].Subject.account())
		for _, i := range items {
			for _, place := range i.places() {
				u.grant(i.rule(), place, i.Source)
			}
		}
		r.Usage.Accounts = append(r.Usage.Accounts, u.compare(items))
	}
}

// usage is the comparison of rights of one account with a log.
type usage struct {
	report *Report
	log    *used.Log
	a      *used.Account
	rights []granted
	at     map[string]*rbac.Index[int] // the rights by place
}

func (r *Report) newUsage(l *used.Log, a rbac.Account) *usage {
	return &usage{report: r, log: l, a: l.Of(a), at: map[string]*rbac.Index[int]{}}
}

func (u *usage) grant(rule rbacv1.PolicyRule, place string, source Source) {
	if u.at[place] == nil {
		u.at[place] = &rbac.Index[int]{}
	}
	for _, a := range rbac.Atoms(rule) {
		if _, added := u.at[place].Add(a, len(u.rights)); added {
			u.rights = append(u.rights, granted{held: held{a, place, source}})
		}
	}
}

// need marks the rights that allow what is asked for, and returns the first.
func (u *usage) need(a rbac.Atom, place, why string) (first *granted) {
	for _, at := range lists.Unique([]string{place, ""}) {
		for _, i := range u.at[at].Covering(a) {
			first = cmp.Or(first, &u.rights[i])
			u.rights[i].mark(a, why)
		}
	}
	return first
}

// keep marks the parts of all rights that another right has in common with them. It reports whether there are any.
func (u *usage) keep(a rbac.Atom, why string) (found bool) {
	for i := range u.rights {
		if part, ok := rbac.Common(u.rights[i].atom, a); ok {
			u.rights[i].mark(part, why)
			found = true
		}
	}
	return found
}

// match marks all rights that are needed. It returns what is used by a right, and by none.
func (u *usage) match() (by, elsewhere []held) {
	for _, k := range u.a.Sorted() {
		use := u.a.Asked[k]
		if !use.Allowed {
			if use.Needed != "" {
				u.need(k.Atom, k.Place, use.Needed)
			}
			continue
		}
		if g := u.need(k.Atom, k.Place, ""); g != nil {
			by = append(by, held{k.Atom, k.Place, g.source})
		} else {
			elsewhere = append(elsewhere, held{k.Atom, k.Place, Source{Object: use.By}})
		}
		if (k.Verb == "update" || k.Verb == "patch") && u.a.Owned[[2]string{k.Group, k.Resource}] {
			k.Verb = "delete"
			u.need(k.Atom, k.Place, used.KeptOwner)
		}
	}
	unknown := u.given()
	hidden := u.hidden()
	for i := range u.rights {
		g := &u.rights[i]
		switch a := g.atom; {
		case u.a.Full:
			g.mark(a, "the account asks for more than is counted")
		case unknown:
			g.mark(a, used.KeptAny)
		case a.IsURL:
			g.mark(a, "other servers ask the API server for it by SubjectAccessReviews")
		case a.Verb != rbac.All && !slices.Contains(rbac.Verbs, a.Verb) && !strings.HasPrefix(a.Verb, "impersonate"):
			g.mark(a, "no request has this verb")
		}
		for _, h := range hidden {
			if part, ok := rbac.Common(g.atom, h.atom); ok && (h.any || !strings.Contains(g.atom.Resource, rbac.All)) {
				g.mark(part, h.why)
			}
		}
	}
	return by, elsewhere
}

// given marks the rights that the account gives on. It reports whether it gives on some that are not known.
func (u *usage) given() bool {
	written := map[rbac.Key][]rbacv1.PolicyRule{}
	for _, g := range u.a.Given {
		written[g.Role] = append(written[g.Role], g.Rules...)
	}
	unknown := u.a.GivesAny
	for _, g := range u.a.Given {
		rules := g.Rules
		if len(rules) == 0 {
			rules = written[g.Role]
			if role := u.report.objects.Bound(&rbac.Binding{Role: g.Role}); role != nil {
				rules = slices.Concat(rules, role.PolicyRules())
			}
		}
		unknown = unknown || len(rules) == 0
		for _, rule := range rules {
			if rbac.Count(rule, rbac.MaxAtoms) > rbac.MaxAtoms {
				return true
			}
			for _, a := range rbac.Atoms(rule) {
				u.need(a, g.Place, used.KeptGiven)
			}
		}
	}
	return unknown
}

// unseen are the rights that no request of an account shows.
//
//go:embed unseen.yaml
var unseen []byte

// hidden is a right that no request shows, also as a part of a rule about all resources if any is set.
type hidden struct {
	atom rbac.Atom
	any  bool
	why  string
}

// hidden returns the rights that no request shows, for this account and log.
func (u *usage) hidden() (out []hidden) {
	var rules []struct {
		rbacv1.PolicyRule `json:",inline"`
		Any               bool   `json:"any"`
		Why               string `json:"why"`
	}
	if err := yaml.Unmarshal(unseen, &rules); err != nil {
		panic(err) // a test reads it
	}
	for _, r := range rules {
		for _, a := range rbac.Atoms(r.PolicyRule) {
			out = append(out, hidden{a, r.Any, r.Why})
		}
	}
	add := func(group, verb, why string) {
		out = append(out, hidden{rbac.Atom{Group: group, Resource: rbac.All, Verb: verb}, true, why})
	}
	if len(u.a.Given) > 0 { // pkg/registry/rbac/escalation_check.go
		add(rbacv1.GroupName, "escalate", used.KeptWrites)
		add(rbacv1.GroupName, "bind", used.KeptWrites)
	}
	for _, group := range lists.Keys(u.a.Params) {
		add(group, "get", used.KeptParams)
		add(group, "list", used.KeptParams)
	}
	for _, verb := range []string{"get", "list", "watch"} {
		if !u.log.Shows(verb) {
			add(rbac.All, verb, "the log has no "+verb+" of anybody")
		}
	}
	return out
}

// needed returns what is left of the rights: what is used or kept.
func (u *usage) needed() (out []held) {
	for _, g := range u.rights {
		for part := range g.parts {
			out = append(out, held{part, g.place, g.source})
		}
	}
	return out
}

// compare returns the comparison with the rights that an account has.
func (u *usage) compare(items []Item) AccountUse {
	s, scopes := items[0].Subject, u.report.scopes
	by, elsewhere := u.match()
	var unused, wider, denied []held
	kept := map[string][]held{}
	for i := range u.rights {
		g := &u.rights[i]
		switch _, whole := g.parts[g.atom]; {
		case whole:
		case g.used():
			wider = append(wider, g.held)
		default:
			unused = append(unused, g.held)
		}
		for part, why := range g.parts {
			if why != "" {
				kept[why] = append(kept[why], held{part, g.place, g.source})
			}
		}
	}
	for _, k := range u.a.Sorted() {
		if u.a.Asked[k].Denied {
			denied = append(denied, held{atom: k.Atom, place: k.Place})
		}
	}
	heldNow, _ := heldBy(items)
	rated := func(list []held) []Item {
		items := itemsOf(s, list, scopes)
		for i := range items {
			items[i].Severity, items[i].Follows = levelOf(items[i], heldNow, nil, scopes)
			if items[i].Severity == findings.None {
				items[i].Severity = findings.Note
			}
		}
		slices.SortStableFunc(items, func(a, b Item) int { return worse(a.Severity, b.Severity) })
		return items
	}
	out := AccountUse{Account: s, Events: u.a.Events, Levels: append([]string{}, lists.Keys(u.a.Levels)...),
		Stages: append([]string{}, lists.Keys(u.a.Stages)...), Notes: u.notes(),
		Unused: rated(unused), Unknown: []Item{}, Wider: rated(wider), Used: itemsOf(s, by, scopes), Kept: []Item{},
		Denied: itemsOf(s, denied, scopes), Elsewhere: itemsOf(s, elsewhere, scopes),
		Needed: itemsOf(s, u.needed(), scopes)}
	if out.Events == 0 {
		out.Unused, out.Unknown = out.Unknown, out.Unused
	}
	for _, why := range lists.Keys(kept) {
		for _, i := range itemsOf(s, kept[why], scopes) {
			i.Follows = why
			out.Kept = append(out.Kept, i)
		}
	}
	out.LogName = strings.Join(lists.Map(u.report.logNames[s.account()], rbac.Account.String), ", ")
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
