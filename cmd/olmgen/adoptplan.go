package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// backup writes what the dump has of the operators, so that it can be applied again.
func (f *adoptFlags) backup(cmd *cobra.Command, state *adopt.State, dumps []string,
	sources map[string]string) error {
	o := adopt.Options{File: "before.yaml", Dir: ".", Directory: f.before, Sources: sources, To: generate.ProfileOLM}
	var asOLM []map[string]any
	if len(state.All()) > 0 {
		r, err := f.rendered(cmd, state, o.File, o)
		if err != nil {
			return err
		}
		asOLM = r.objects
	}
	b := state.Backup(asOLM)
	const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n" +
		"- objects.yaml\n"
	files := []outFile{{name: filepath.Join(f.before, "owners.txt"), data: b.Owners},
		{name: filepath.Join(f.before, "owners.yaml"), data: b.Owned}}
	var dirs []string
	for _, part := range []struct {
		suffix string
		data   []byte
	}{{"", b.Objects}, {"-olm", b.OLM}, {"-subscriptions", b.Subscriptions}} {
		dir := filepath.Clean(f.before) + part.suffix
		if len(part.data) > 0 || part.suffix == "" {
			dirs = append(dirs, dir)
		}
		if len(part.data) > 0 {
			files = append(files, outFile{name: filepath.Join(dir, "kustomization.yaml"), data: []byte(kustomization)},
				outFile{name: filepath.Join(dir, "objects.yaml"), data: part.data})
		}
	}
	if err := f.writeAll(files, dumps, "give --force to overwrite it"); err != nil {
		return err
	}
	tell(cmd, "wrote %s: what the dump has of %s", text.And(dirs), text.Count(len(state.All()), "operator"))
	return nil
}

// writeAll writes the files, none of which may be read as a part of the dumps.
func (f *adoptFlags) writeAll(files []outFile, dumps []string, hint string) error {
	for _, file := range files {
		if err := checkNotRead(file.name, dumps); err != nil {
			return err
		}
	}
	return writeFiles(files, f.force, hint)
}

// besides returns the path of a file that belongs to a plan.
func besides(plan, extension string) string { return strings.TrimSuffix(plan, ".md") + extension }

// planFiles returns the files of a plan, which may be nil, and warns of its harm.
func (f *adoptFlags) planFiles(cmd *cobra.Command, plan *adopt.Plan) []outFile {
	if plan == nil {
		return nil
	}
	if names := plan.Restarts(); len(names) > 0 {
		warn(cmd, "the plan restarts the pods of %s", text.FirstOf(mostNamed, names))
	}
	if len(plan.Refused) > 0 {
		warn(cmd, "the API server refuses what the plan applies of %s", text.FirstOf(mostNamed, plan.Refused))
	}
	for _, w := range plan.Warnings {
		warn(cmd, "%s", w)
	}
	script, back, known := besides(f.plan, ".sh"), besides(f.plan, ".back.sh"), besides(f.plan, ".known.json")
	files := []outFile{{name: f.plan, data: plan.Markdown(filepath.Base(script), filepath.Base(back))},
		{name: script, data: plan.Script(filepath.Base(f.plan))}}
	if way := plan.WayBack(filepath.Base(f.plan)); way != nil {
		files = append(files, outFile{name: back, data: way})
	}
	if len(plan.Known) > 0 {
		files = append(files, outFile{name: known, data: findings.NewBaseline(plan.Known).Encode()})
	}
	return files
}

const mostNamed = 3

// planned makes the plan, if one is asked for. The state that it returns refuses operators that cannot be rendered.
func (f *adoptFlags) planned(cmd *cobra.Command, state *adopt.State, file string, o adopt.Options) (*adopt.State,
	*adopt.Plan, error) {
	if f.plan == "" || len(state.All()) == 0 {
		return state, nil, nil
	}
	plan, err := f.newPlan(cmd, state, file, o)
	if err == nil {
		return state, plan, nil
	}
	refused := 0
	for _, operator := range state.All() {
		_, problem := f.rendered(cmd, state.Only([]*adopt.Operator{operator}), file, o)
		if cmd.Context().Err() != nil {
			return nil, nil, err
		}
		if problem != nil {
			state = state.Refuse(operator, problem.Error())
			refused++
		}
	}
	if refused == 0 || len(state.All()) == 0 {
		return nil, nil, err
	}
	plan, err = f.newPlan(cmd, state, file, o)
	return state, plan, err
}

// newPlan renders the new file, which is not written yet, and makes the plan to get there.
func (f *adoptFlags) newPlan(cmd *cobra.Command, state *adopt.State, file string, o adopt.Options) (*adopt.Plan,
	error) {
	r, err := f.rendered(cmd, state, file, o)
	if err != nil {
		err = fmt.Errorf("the plan lists what is deleted, so the bundles must be there: %w", err)
		for _, operator := range state.All() {
			if name := cmp.Or(operator.Package, operator.CSV.Name); operator.Image == "" &&
				o.Sources[name]+o.Sources[operator.CSV.Name] == "" {
				err = manifest.WithHint(err, "say where the bundle is: --source "+name+"=SOURCE")
			}
		}
		return nil, err
	}
	var asOLM []map[string]any
	if leaving := state.Leaving(o.To); len(leaving) > 0 {
		of := o
		of.To = generate.ProfileOLM
		left, err := f.rendered(cmd, state.Only(leaving), file, of)
		if err != nil {
			return nil, err
		}
		asOLM = left.objects
	}
	refused := lists.Map(state.Leaving(o.To), func(operator *adopt.Operator) string { return operator.CSV.Name })
	o.Commands, o.Parts = f.commands(state.Dump, file, o.Dumps, refused), r.parts
	return adopt.NewPlan(cmd.Context(), state, r.objects, asOLM, o)
}

// rendered returns what the file of a state renders to, which is not written yet.
func (f *adoptFlags) rendered(cmd *cobra.Command, state *adopt.State, file string, o adopt.Options) (
	*rendering, error) {
	data, err := adopt.Declare(state, o)
	if err != nil {
		return nil, err
	}
	c, err := config.Read(file, data)
	if err != nil {
		return nil, err
	}
	r, err := f.rendering(cmd, c, state, config.Options{Dir: o.Dir, Source: f.source.Source, Catalogs: f.source.Cache})
	if bad := config.Place(err); bad != nil && bad.File == filepath.ToSlash(file) {
		bad.File, bad.Line = "", 0 // nobody can look there
	}
	return r, err
}

func (f *adoptFlags) commands(d *dump.Dump, file string, dumps, refused []string) adopt.Commands {
	words := func(flag string, values []string) (out string) {
		for _, v := range values {
			out += " --" + flag + " " + text.Shell(v)
		}
		return out
	}
	where := words("namespace", f.choice.Namespaces) + words("except", f.choice.Except)
	chosen, sources := words("package", f.choice.Packages)+where, words("source", f.sources)
	paths := lists.Map(dumps, text.Shell)
	of := strings.Join(paths, " ")
	part := words("package", refused) + where
	verify := "olmgen adopt --verify " + of + " -f " + text.Shell(file) + chosen
	known := besides(f.plan, ".known.json")
	return adopt.Commands{
		Since: d.Command() + " | olmgen adopt --verify -" + words("since", dumps) + " -f " + text.Shell(file) +
			chosen,
		Backup: "olmgen adopt " + of + chosen + sources + " --before before --force",
		Part: []string{"olmgen adopt " + of + " --to plain" + part + sources + " -o " + adopt.PartDirectory + ".yaml " +
			"--directory " + adopt.PartDirectory + " --force", "olmgen render -f " + adopt.PartDirectory + ".yaml"},
		Render: "olmgen render -f " + text.Shell(file),
		Verify: verify, VerifyKnown: verify + " --baseline " + text.Shell(known), Known: known,
		Again: dump.Command() + " | olmgen adopt --verify - -f " + text.Shell(file) + chosen,
	}
}
