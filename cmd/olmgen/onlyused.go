package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// narrowFlags are the audit logs that rights of rendered roles are narrowed by.
type narrowFlags struct {
	usedFlags
	keep []string
	days int
}

func (f *narrowFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.files, "only-used", nil,
		"leave out of roles what the audit log in `FILE` shows not to be used, with profiles plain and descoped; "+
			"may be repeated")
	flags.StringArrayVar(&f.keep, "keep", nil,
		"with --only-used: keep a right, `RULE` such as \"get,list deployments.apps\"; may be repeated")
	flags.StringArrayVar(&f.accounts, "account", nil,
		"with --only-used: another name of an account in the log, as `OLD=NEW`, by [NAMESPACE/]NAME each; "+
			"may be repeated")
	flags.IntVar(&f.days, "days", 7, "with --only-used: on how many days the log has to have events")
	nameOnly(flags, config.TopicObjects, "only-used", "keep", "account", "days")
}

// narrowing returns what narrows the roles of a declaration, or nil without a log.
func (f *narrowFlags) narrowing(cmd *cobra.Command, d declaration) (*permissions.Narrowing, error) {
	if len(f.files) == 0 {
		if name := given(cmd, "keep", "account", "days"); name != "" && cmd.Flags().Lookup("only-used") != nil {
			return nil, &usageError{name + " is for --only-used", "name the audit log with --only-used"}
		}
		return nil, nil
	}
	for _, g := range d.Groups {
		for _, b := range g.Bundles {
			p := cmp.Or(b.Profile, d.Defaults.Profile, generate.ProfileOLM)
			if p != generate.ProfilePlain && p != generate.ProfileDescoped {
				return nil, &usageError{"--only-used: with profile " + string(p) + ", OLM makes the roles of the " +
					"ClusterServiceVersion again", "render with --profile plain or descoped, or have its author " +
					"narrow it: olmgen permissions --used FILE --format yaml lists what is left of each rule below " +
					"needed"}
			}
		}
	}
	names, err := accountPairs(f.accounts)
	if err != nil {
		return nil, err
	}
	n := &permissions.Narrowing{Names: names, Days: f.days, Read: func(l *used.Log) error {
		return f.read(cmd, l, "--only-used")
	}}
	for _, rule := range f.keep {
		atoms, ok := parseRule(rule)
		if !ok {
			return nil, &usageError{"--keep: " + rule + " is no rule", "write such as \"get,list deployments.apps\""}
		}
		n.Keep = append(n.Keep, atoms...)
	}
	return n, nil
}

// narrow narrows what has been rendered.
func narrow(n *permissions.Narrowing, r *config.Rendered) error {
	list := make([]*manifest.Object, len(r.Objects))
	for i, o := range r.Objects {
		m, err := o.Manifest()
		if err != nil {
			return err
		}
		list[i] = m
	}
	edits, err := n.Roles(list)
	for i := 0; err == nil && i < len(list); i++ {
		if edit, ok := edits[list[i]]; ok {
			r.Objects[i].Object, err = r.Objects[i].Edit(edit)
		}
	}
	if err != nil {
		return err
	}
	return r.LayOut()
}

// parseRule reads "VERB,VERB RESOURCE[.GROUP],RESOURCE[.GROUP]".
func parseRule(rule string) (out []rbac.Atom, ok bool) {
	verbs, resources, ok := strings.Cut(strings.TrimSpace(rule), " ")
	for resource := range strings.SplitSeq(strings.TrimSpace(resources), ",") {
		name, group, _ := strings.Cut(resource, ".")
		for verb := range strings.SplitSeq(verbs, ",") {
			ok = ok && verb != "" && name != "" && !strings.Contains(resource, " ")
			out = append(out, rbac.Atom{Group: group, Resource: name, Verb: verb})
		}
	}
	return out, ok
}
