package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func (p *parser) limits(f *file, policy *Policy) error {
	for i, l := range f.Limits {
		field := fmt.Sprintf("limits[%d]", i)
		if err := p.head(field, l.Name, &l.Level, &l.Message); err != nil {
			return err
		}
		var err error
		switch {
		case (l.Forbid == nil) == (l.Images == nil):
			err = p.fail(field, "", "needs either forbid or imageRegistries")
		case l.Forbid != nil:
			err = p.forbid(field+".forbid", l.Forbid)
		default:
			err = p.images(field+".imageRegistries", l.Images)
		}
		if err != nil {
			return err
		}
		policy.rules = append(policy.rules, Rule{ID: l.Name, Level: l.Level,
			Text: cmp.Or(l.Message, "a limit of the policy"), check: l.check})
	}
	return nil
}

type namedList struct {
	field string
	items []string
}

func (p *parser) forbid(field string, f *forbid) error {
	lists := []namedList{
		{"verbs", f.Verbs},
		{"apiGroups", f.APIGroups},
		{"resources", f.Resources},
		{"resourceNames", f.ResourceNames},
		{"nonResourceURLs", f.NonResourceURLs},
		{"wildcards", f.Wildcards},
	}
	given := 0
	for _, l := range lists {
		given += len(l.items)
		for i, item := range l.items {
			at := fmt.Sprintf("%s.%s[%d]", field, l.field, i)
			switch {
			case item == "" && l.field != "apiGroups":
				return p.fail(at, "", "must not be empty")
			case item == "*":
				return p.fail(at, "wildcards: ["+l.field+"] forbids a *; leave "+l.field+" out to mean any",
					"* is ambiguous here")
			}
		}
	}
	f.Scope = cmp.Or(f.Scope, scopeAny)
	others := len(f.APIGroups) + len(f.Resources) + len(f.ResourceNames)
	scopes := []string{scopeAny, scopeCluster, scopeNamespaced}
	wildcards := []string{"verbs", "apiGroups", "resources", "nonResourceURLs"}
	bad := slices.IndexFunc(f.Wildcards, func(w string) bool { return !slices.Contains(wildcards, w) })
	switch {
	case given == 0:
		return p.fail(field,
			"set what is forbidden: verbs, apiGroups, resources, resourceNames, nonResourceURLs or wildcards",
			"is empty and would forbid every rule")
	case bad >= 0:
		return p.unknown(fmt.Sprintf("%s.wildcards[%d]", field, bad), f.Wildcards[bad], wildcards)
	case !slices.Contains(scopes, f.Scope):
		return p.unknown(field+".scope", f.Scope, scopes)
	case len(f.NonResourceURLs) > 0 && others > 0:
		return p.fail(field+".nonResourceURLs", "write one limit for each",
			"a rule of a role has either resources or nonResourceURLs")
	case f.AllowNamed && len(f.ResourceNames) > 0:
		return p.fail(field+".allowNamed", "", "contradicts resourceNames")
	}
	return nil
}

func (p *parser) images(field string, i *images) error {
	if len(i.Allow)+len(i.Deny) == 0 {
		return p.fail(field, "", "needs allow or deny")
	}
	for _, l := range []namedList{{"allow", i.Allow}, {"deny", i.Deny}} {
		for j, entry := range l.items {
			host, _, _ := strings.Cut(entry, "/")
			if !isHost(host) || strings.Contains(strings.TrimPrefix(entry, "*."), "*") ||
				strings.Contains(entry, "://") {
				return p.fail(fmt.Sprintf("%s.%s[%d]", field, l.field, j),
					"write it as quay.io, quay.io/organization, docker.io/library or *.example.com",
					"%q is not a registry", entry)
			}
		}
	}
	return nil
}
