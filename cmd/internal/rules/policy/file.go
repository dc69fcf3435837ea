package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// APIVersion and Kind identify a policy file.
const (
	APIVersion = "olmgen.dev/v1alpha1"
	Kind       = "Policy"
)

type file struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Extends      []string      `json:"extends"`
	ClusterScope []string      `json:"clusterScope"`
	Rules        []ruleSetting `json:"rules"`
	Limits       []limit       `json:"limits"`
	CEL          []expression  `json:"cel"`
	Exceptions   []exception   `json:"exceptions"`
}

// ruleSetting enables or disables a built-in rule, or changes its level.
type ruleSetting struct {
	ID      string            `json:"id"`
	Enabled *bool             `json:"enabled"`
	Level   findings.Severity `json:"level"`
}

// Parse reads a policy file, which errors call name. The error, a *manifest.Error, names line and field.
func Parse(name string, data []byte) (*Policy, error) {
	var f file
	form := manifest.Form{APIVersion: APIVersion, Kind: Kind, What: "a policy"}
	o, err := form.Read(name, data, manifest.Limits{}, &f)
	if err != nil {
		return nil, err
	}
	return (&parser{Object: o}).policy(&f)
}

type parser struct {
	*manifest.Object
	names map[string]string // what has each name: names of rules by the field that defines them
}

func (p *parser) fail(field, tip, format string, args ...any) error {
	return p.Errorf(field, format, args...).With(tip)
}

// unknown returns the error for a word that a field does not take.
func (p *parser) unknown(field, got string, allowed []string) error {
	unknown := text.Unknown("value", got, allowed)
	return p.fail(field, unknown.Hint(), "%v", unknown)
}

// hintRules returns the next step for an unknown rule.
func hintRules(didYouMean string) string {
	return strings.TrimSpace(didYouMean + " olmgen lint --list-rules lists them")
}

func (p *parser) policy(f *file) (*Policy, error) {
	policy := &Policy{clusterScope: defaultClusterScope()}
	p.names = map[string]string{}
	for _, r := range BuiltinRules() {
		p.names[r.ID] = "a rule of olmgen"
	}
	for _, read := range []func(*file, *Policy) error{p.rules, p.limits, p.expressions, p.exceptions} {
		if err := read(f, policy); err != nil {
			return nil, err
		}
	}
	if len(f.ClusterScope) > 0 {
		policy.clusterScope = nil
	}
	for i, pattern := range f.ClusterScope {
		field := fmt.Sprintf("clusterScope[%d]", i)
		if pattern == "" {
			return nil, p.fail(field, "", "must not be empty")
		}
		g, err := newGlob(pattern)
		if err != nil {
			return nil, p.fail(field, "", "not a valid pattern: %s", text.OneLine(err.Error()))
		}
		policy.clusterScope = append(policy.clusterScope, g)
	}
	return policy, nil
}

// defaultClusterScope returns the location of Operate First's cluster-scope application.
func defaultClusterScope() []glob {
	g, _ := newGlob("**/cluster-scope/**") // it is a pattern
	return []glob{g}
}

// rules adds the built-in rules of the policies that the file extends, with the changes that the file makes.
func (p *parser) rules(f *file, policy *Policy) error {
	on := map[string]bool{}
	for i, name := range f.Extends {
		base := Builtin(name)
		if base == nil {
			return p.fail(fmt.Sprintf("extends[%d]", i), "available: "+strings.Join(Names(), ", "), "unknown policy %q",
				name)
		}
		for _, r := range base.rules {
			on[r.ID] = true
		}
	}
	all := slices.Clone(recordRules)
	set := map[string]bool{}
	for i, s := range f.Rules {
		field := fmt.Sprintf("rules[%d]", i)
		at := slices.IndexFunc(all, func(r Rule) bool { return r.ID == s.ID })
		switch {
		case s.ID == "":
			return p.fail(field, "olmgen lint can list the rules", "id is missing")
		case at < 0:
			return p.fail(field+".id", hintRules(text.DidYouMean(s.ID, idsOf(all))), "unknown rule %q", s.ID)
		case set[s.ID]:
			return p.fail(field+".id", "", "%s occurs twice", s.ID)
		}
		set[s.ID] = true
		on[s.ID] = s.Enabled == nil || *s.Enabled
		if s.Level != "" {
			if err := p.level(field, &s.Level); err != nil {
				return err
			}
			all[at].Level = s.Level
		}
	}
	policy.rules = lists.Filter(all, func(r Rule) bool { return on[r.ID] })
	return nil
}

func idsOf(rules []Rule) []string { return lists.Map(rules, func(r Rule) string { return r.ID }) }

// level checks a level. The default is error.
func (p *parser) level(field string, l *findings.Severity) error {
	*l = cmp.Or(*l, findings.Error)
	if *l == findings.None || !slices.Contains(findings.Severities, *l) {
		return p.unknown(field+".level", string(*l), text.Words(findings.Severities[:3]))
	}
	return nil
}

var validName = lazy.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (p *parser) head(field, name string, level *findings.Severity, message *string) error {
	*message = text.OneLine(*message)
	switch other := p.names[name]; {
	case name == "":
		return p.fail(field, "", "name is missing")
	case !validName().MatchString(name):
		return p.fail(field+".name", "use lower-case letters, digits and single hyphens",
			"%q is not a valid name of a rule", name)
	case other != "":
		return p.fail(field+".name", "", "%s is the name of %s", name, other)
	}
	p.names[name] = field
	return p.level(field, level)
}

func (p *parser) expressions(f *file, policy *Policy) error {
	if len(f.CEL) == 0 {
		return nil // creating an environment takes longer than reading a policy
	}
	env, err := newEnvironment()
	if err != nil {
		return err
	}
	for i := range f.CEL {
		e := &f.CEL[i]
		field := fmt.Sprintf("cel[%d]", i)
		if err := p.head(field, e.Name, &e.Level, &e.Message); err != nil {
			return err
		}
		if e.Expression == "" {
			return p.fail(field, "write an expression that is true for a valid object", "expression is missing")
		}
		if e.holds, err = compile(env, e.Expression, cel.BoolType); err != nil {
			return p.fail(field+".expression", "", "%v", err)
		}
		if e.MessageExpression != "" {
			if e.says, err = compile(env, e.MessageExpression, cel.StringType); err != nil {
				return p.fail(field+".messageExpression", "", "%v", err)
			}
		}
		policy.rules = append(policy.rules, Rule{ID: e.Name, Level: e.Level, Help: e.Expression,
			Text: cmp.Or(e.Message, "an expression of the policy"), check: e.check})
	}
	return nil
}

func (p *parser) exceptions(f *file, policy *Policy) error {
	if len(policy.rules) == 0 {
		return p.fail("", "extend "+OperateFirst+", or write limits or cel", "the policy has no rules")
	}
	ids := idsOf(policy.Rules())
	for i, e := range f.Exceptions {
		e.file, e.field = p.File, fmt.Sprintf("exceptions[%d]", i)
		e.line = p.LineOf(e.field)
		if e.Rule == "" {
			return p.fail(e.field, "set the id of a rule, or a pattern such as of-*", "rule is missing")
		}
		if strings.TrimSpace(e.Reason) == "" {
			return p.fail(e.field, "explain the exception to later readers", "reason is missing")
		}
		e.globs = map[string]glob{}
		patterns := map[string]string{
			"rule": e.Rule, "kind": e.Kind, "namespace": e.Namespace, "name": e.Name, "path": e.Path,
		}
		for field, text := range patterns {
			if text == "" {
				continue
			}
			g, err := newGlob(text)
			if err != nil {
				return p.fail(e.field+"."+field, "", "not a valid pattern")
			}
			e.globs[field] = g
		}
		if !slices.ContainsFunc(ids, e.globs["rule"].match) {
			return p.fail(e.field+".rule", hintRules(text.DidYouMean(e.Rule, ids)), "the policy has no rule %q", e.Rule)
		}
		policy.exceptions = append(policy.exceptions, e)
	}
	return nil
}

// glob is a pattern for paths and names: * matches all but a slash, ** matches anything, ? matches one character.
type glob struct{ re *regexp.Regexp }

// maxGlob is the length of a pattern. Each * makes matching slower.
const maxGlob = 4096

func newGlob(text string) (glob, error) {
	if len(text) > maxGlob {
		return glob{}, fmt.Errorf("the pattern has more than %d characters", maxGlob)
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 3
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i += 2
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			i++
		case rest[0] == '?':
			b.WriteString(`[^/]`)
			i++
		default:
			n := strings.IndexAny(rest, "*?")
			if n < 0 {
				n = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	return glob{re}, err
}

func (g glob) match(s string) bool { return g.re.MatchString(s) }

type exception struct {
	Rule      string `json:"rule"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Path      string `json:"path"`
	Reason    string `json:"reason"`

	file, field string
	line        int
	globs       map[string]glob // the non-empty fields
}

// matches reports whether the exception covers a finding. A finding without an object matches by rule and path only.
func (e *exception) matches(f located, rel, namespace string) bool {
	values := map[string][]string{"rule": {f.Rule}, "path": {f.File, rel}}
	if f.object != nil {
		values["kind"], values["namespace"], values["name"] = []string{f.object.Kind}, []string{namespace},
			[]string{f.object.Name}
	}
	for field, g := range e.globs {
		if !slices.ContainsFunc(values[field], g.match) {
			return false
		}
	}
	return true
}

// except removes the findings that the exceptions cover, and adds a note for each exception that covers nothing.
func except(exceptions []exception, found []located, v *view) (list []findings.Finding) {
	rels, namespaces := map[string]string{}, map[*manifest.Object]string{}
	for _, o := range v.objects {
		rels[o.File], namespaces[o.Object] = o.rel, o.Namespace
	}
	used := make([]bool, len(exceptions))
	for _, f := range found {
		excepted := false
		for i := range exceptions {
			if exceptions[i].matches(f, rels[f.File], namespaces[f.object]) {
				used[i], excepted = true, true
			}
		}
		if !excepted {
			list = append(list, f.Finding)
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			list = append(list, findings.Finding{
				Rule: ruleUnusedException, Level: findings.Note, File: e.file, Line: e.line,
				Field:   withoutIndexes(e.field),
				Message: fmt.Sprintf("the exception from %s matches nothing: %s", e.Rule, text.OneLine(e.Reason)),
				Hint:    "remove it",
			})
		}
	}
	return list
}
