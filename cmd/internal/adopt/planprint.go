package adopt

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
)

// engineNotes say what Argo CD and Flux have to know while objects are taken over.
func engineNotes(to generate.Profile, dir string, parts []string) (notes []string) {
	if to != generate.ProfileSubscription {
		notes = append(notes, "Let a GitOps engine apply "+dir+" after the last step, because OLM writes over its "+
			"marks, and never with pruning before that. Argo CD: without automated sync, with ServerSideApply=true "+
			"and Prune=false, until the diff is empty. Flux: with spec.prune: false and spec.force: false.")
	}
	if len(parts) > 0 {
		notes = append(notes, "The kustomization.yaml of "+dir+" does not list these directories, each of which "+
			"needs an Application or a Kustomization of its own: "+text.And(parts)+".")
	}
	return notes
}

// Markdown returns the plan for a person. script and back name the files with its commands and with the way back.
func (p *Plan) Markdown(script, back string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# From OLM v0 to profile %s\n\n%s. %s has these commands, and the lists that they read at "+
		"its top. Run them step by step in a shell with `set -eu`; each can run twice.", p.To, p.About, script)
	if len(p.Back) > 0 {
		fmt.Fprintf(&b, " %s is the way back.", back)
	}
	b.WriteString("\n")
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n## %d. %s\n%s", i+1, s.Title, strings.Join(s.Text, "\n"))
		if len(s.Undo) > 0 {
			fmt.Fprintf(&b, " Undo: `%s`.", strings.Join(s.Undo, "; "))
		}
		for _, commands := range [][]string{s.Guard, s.Run} {
			if len(commands) > 0 {
				fmt.Fprintf(&b, "\n```sh\n%s\n```", strings.Join(commands, "\n"))
			}
		}
		b.WriteString("\n")
	}
	if len(p.Notes) > 0 {
		b.WriteString("\n" + strings.Join(p.Notes, " ") + "\n")
	}
	return []byte(b.String())
}

// header begins a script that is to be read: it stops at once when it is run.
func (p *Plan) header(b *strings.Builder, about string) {
	fmt.Fprintf(b, "#!/bin/sh\n# %s\necho 'This script is to be read: run its commands step by step.' >&2\nexit "+
		"1\n\nset -eu\n", about)
	for _, l := range p.Lists {
		if l.Columns != "" {
			fmt.Fprintf(b, "# %s\n", l.Columns)
		}
		fmt.Fprintf(b, "%s=%s\n", l.Name, Quote(strings.Join(l.Rows, "\n")))
	}
}

// Script returns the commands of the plan. plan is the name of the file that explains the steps.
func (p *Plan) Script(plan string) []byte {
	var b strings.Builder
	p.header(&b, "The commands of "+plan+", to read and to copy from, step by step.")
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n# %d. %s\n", i+1, s.Title)
		if len(s.Guard) > 0 {
			b.WriteString(strings.Join(s.Guard, "\n") +
				"\n# The guard has passed. If the rest stops in the middle, go on from here.\n")
		}
		for _, c := range s.Run {
			b.WriteString(c + "\n")
		}
		for _, c := range s.Undo {
			b.WriteString("# undo: " + strings.ReplaceAll(c, "\n", "\n# undo: ") + "\n")
		}
	}
	return []byte(b.String())
}

// WayBack returns the commands that lead back from any moment after the point of the plan; nothing if there is none.
func (p *Plan) WayBack(plan string) []byte {
	if len(p.Back) == 0 {
		return nil
	}
	var b strings.Builder
	p.header(&b, "The way back from "+plan+" after its point of no return. It stops OLM for a moment and restarts no "+
		"pod: OLM takes the objects for its own again.\n# ClusterServiceVersions, Subscriptions and OperatorGroups "+
		"get other UIDs, so that webhooks select no namespace for some seconds.")
	b.WriteString("\n" + strings.Join(p.Back, "\n") + "\n")
	return []byte(b.String())
}
