package golden

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/output"
)

// state is what a branch of a repository renders.
type state struct {
	upgraded map[int]bool // operators, by index
	tenants  []string
}

// repository is a git repository with the output of several operators.
type repository struct {
	dir      string
	layout   output.Layout
	old, new []*bundle.Bundle
	profile  generate.Profile
}

func (r *repository) git(t *testing.T, args ...string) error {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w\n%s", args, err, out)
	}
	return nil
}

func (r *repository) mustGit(t *testing.T, args ...string) {
	t.Helper()
	if err := r.git(t, args...); err != nil {
		t.Fatal(err)
	}
}

// files renders a state.
func (r *repository) files(t *testing.T, s state) (output.Files, []output.Source) {
	t.Helper()
	var operators []generate.Operator
	for i := range r.old {
		b := r.old[i]
		if s.upgraded[i] {
			b = r.new[i]
		}
		o := generate.Options{Profile: r.profile, Namespace: fmt.Sprintf("operator-%d", i), Certs: generate.CertsManager}
		if r.profile == generate.ProfileDescoped {
			o.Descoped.BindNamespaces = s.tenants
		}
		operators = append(operators, generate.Operator{Name: fmt.Sprintf("op-%d", i), Bundle: b, Options: o})
	}
	set, err := generate.RenderAll(operators)
	if err != nil {
		t.Fatal(err)
	}
	tree := output.Tree{Objects: set.Objects, Templates: ownTemplates()}
	for i, o := range operators {
		tree.Operators = append(tree.Operators, output.Operator{Name: o.Name, Channel: "stable", Result: set.Results[i]})
	}
	files, err := tree.Files(r.layout)
	if err != nil {
		t.Fatal(err)
	}
	var sources []output.Source
	for i, o := range operators {
		sources = append(sources, output.Source{Bundle: o.Bundle.CSV.Name, Source: o.Name, Lock: tree.LockOf(r.layout, i)})
	}
	return files, sources
}

// commit renders a state and commits it.
func (r *repository) commit(t *testing.T, s state) {
	t.Helper()
	files, sources := r.files(t, s)
	if _, err := output.Write(filepath.Join(r.dir, "out"), files, output.WriteOptions{Sources: sources}); err != nil {
		t.Fatal(err)
	}
	r.mustGit(t, "add", "-A")
	r.mustGit(t, "commit", "-qm", "render")
}

// branches commits three states: base, and on it the two of branches a and b. It is on branch a then.
func (r *repository) branches(t *testing.T, base, a, b state) {
	t.Helper()
	r.dir = t.TempDir()
	r.mustGit(t, "init", "-q", "-b", "base")
	r.commit(t, base)
	for _, branch := range []struct {
		name string
		state
	}{{"b", b}, {"a", a}} {
		r.mustGit(t, "checkout", "-q", "-b", branch.name, "base")
		r.commit(t, branch.state)
	}
}

// clean fails if the directory is not what a state renders.
func (r *repository) clean(t *testing.T, s state) {
	t.Helper()
	files, sources := r.files(t, s)
	differences, err := output.Check(filepath.Join(r.dir, "out"), files, sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		t.Errorf("after the merge, %s: %s\n%s", d.Path, d.State, d.Diff)
	}
}

func upgrades(t *testing.T) (before, after []*bundle.Bundle) {
	t.Helper()
	for _, dir := range []string{"../examples/memcached-operator/bundle", "upgrades/ferry/from", "webhooks/bundle", "descoped/bundle", "deployments/bundle"} {
		b := readBundle(t, dir)
		next, err := bundle.Read(renamed(t, dir, b), bundle.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		before, after = append(before, b), append(after, next)
	}
	return before, after
}

// Upgrades of two operators merge where each operator has a directory of its own. What the docs say about one directory for all works.
func TestUpgradesMerge(t *testing.T) {
	fuzztest.Seconds(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	before, after := upgrades(t)
	layouts := []output.Layout{output.LayoutGitOpsCatalog, output.LayoutClusterScope, output.LayoutHelm}
	pair := 0
	for i := range before {
		for j := range i {
			layout := layouts[pair%len(layouts)]
			pair++
			t.Run(fmt.Sprintf("%d and %d in %s", i, j, layout), func(t *testing.T) {
				r := &repository{layout: layout, old: before, new: after, profile: generate.ProfileOLM}
				r.branches(t, state{}, state{upgraded: map[int]bool{i: true}}, state{upgraded: map[int]bool{j: true}})
				r.mustGit(t, "merge", "-q", "--no-edit", "b")
				r.clean(t, state{upgraded: map[int]bool{i: true, j: true}})
			})
		}
	}
	if pair != 10 {
		t.Errorf("%d pairs", pair)
	}
	for _, layout := range []output.Layout{output.LayoutFlat, output.LayoutByKind} {
		t.Run(string(layout), func(t *testing.T) {
			r := &repository{layout: layout, old: before, new: after, profile: generate.ProfileOLM}
			r.branches(t, state{}, state{upgraded: map[int]bool{0: true}}, state{upgraded: map[int]bool{1: true}})
			if r.git(t, "merge", "-q", "--no-edit", "b") == nil {
				t.Log("the locks did merge")
			} else {
				r.mustGit(t, "checkout", "--ours", "--", "out")
			}
			both := state{upgraded: map[int]bool{0: true, 1: true}}
			files, sources := r.files(t, both)
			if _, err := output.Write(filepath.Join(r.dir, "out"), files, output.WriteOptions{Sources: sources, Force: true}); err != nil {
				t.Fatal(err)
			}
			r.clean(t, both)
		})
	}
}

// Two new tenants merge in every layout, and a new tenant merges with an upgrade.
func TestTenantsMerge(t *testing.T) {
	fuzztest.Seconds(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	before, after := upgrades(t)
	for _, layout := range output.Layouts {
		for _, c := range []struct {
			name       string
			a, b, both state
		}{
			{"two tenants", state{tenants: []string{"t", "team-a"}}, state{tenants: []string{"t", "team-b"}}, state{tenants: []string{"t", "team-a", "team-b"}}},
			{"a tenant and an upgrade", state{tenants: []string{"t", "team-a"}}, state{tenants: []string{"t"}, upgraded: map[int]bool{0: true}},
				state{tenants: []string{"t", "team-a"}, upgraded: map[int]bool{0: true}}},
		} {
			t.Run(c.name+" in "+string(layout), func(t *testing.T) {
				r := &repository{layout: layout, old: before, new: after, profile: generate.ProfileDescoped}
				r.branches(t, state{tenants: []string{"t"}}, c.a, c.b)
				r.mustGit(t, "merge", "-q", "--no-edit", "b")
				r.clean(t, c.both)
			})
		}
	}
}
