package adopt

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
)

// engineNotes say what Argo CD and Flux have to know while objects are taken over.
func engineNotes(to generate.Profile, dir string, parts []string) []string {
	var notes []string
	if to != generate.ProfileSubscription {
		notes = append(notes, "Let the engine apply after the last step. An engine marks what it applies, and OLM "+
			"writes over the marks of what it still has: Argo CD's annotation on a ClusterServiceVersion changes the "+
			"Deployments, so that pods restart, and Flux writes its labels on ClusterRoles again and again.")
	}
	notes = append(notes,
		"Argo CD: create the Application of "+dir+" without automated sync, with syncOptions ServerSideApply=true and "+
			"Prune=false. Sync by hand, look at the diff until it is empty, and only then turn on automated sync, and "+
			"pruning last.",
		"Flux: create the Kustomization of "+dir+" with spec.prune: false and spec.force: false. Flux applies on the "+
			"server side and takes the fields over from kubectl. Set prune: true when flux diff kustomization shows "+
			"nothing. spec.force: true would delete and create Deployments anew: never set it here.",
		"The engine must not delete what it has not rendered: keep pruning off until the last step is done.")
	if len(parts) > 0 {
		notes = append(notes, "Each of these directories needs an Application or a Kustomization of its own, because "+
			"the kustomization.yaml of "+dir+" does not list it: "+text.And(parts)+".")
	}
	return notes
}

// Markdown returns the plan for a person. script is the name of the file with its commands.
func (p *Plan) Markdown(script string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# From OLM v0 to profile %s\n\n", p.To)
	fmt.Fprintf(&b, "%s has the commands of these steps, to read and to copy from. Run nothing blindly: the plan "+
		"is of the "+
		"moment of the dump.\n", script)
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n## %d. %s\n\nWho: %s.\n", i+1, s.Title, s.Who)
		if s.Irreversible {
			b.WriteString("\n**From here on there is no undo, only the way back that is written here.**\n")
		}
		for _, t := range s.Text {
			fmt.Fprintf(&b, "\n%s\n", t)
		}
		block(&b, "", s.Run)
		block(&b, "Check:", s.Check)
		if s.Retry != "" {
			fmt.Fprintf(&b, "\n%s\n", s.Retry)
		}
		block(&b, "Undo:", s.Undo)
		block(&b, "The way back:", s.WayBack)
	}
	b.WriteString("\n## GitOps engines\n\n")
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "* %s\n", n)
	}
	return []byte(b.String())
}

func block(b *strings.Builder, title string, commands []string) {
	if len(commands) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(b, "\n%s\n", title)
	}
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(commands, "\n"))
}

// Script returns the commands of the plan. It stops at once when it is run: it is to be read. plan is the name of the
// file that explains the steps.
func (p *Plan) Script(plan string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# The commands of %s, to read and to copy from, step by step.\n", plan)
	b.WriteString("echo 'This script is to be read: run its commands one by one.' >&2\nexit 1\n\nset -eux\n")
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n# %d. %s (%s)\n", i+1, s.Title, s.Who)
		if s.Irreversible {
			b.WriteString("# From here on there is no undo.\n")
		}
		for _, c := range s.Run {
			b.WriteString(c + "\n")
		}
		for _, c := range s.Check {
			b.WriteString("# check: " + c + "\n")
		}
		for _, c := range s.Undo {
			b.WriteString("# undo: " + c + "\n")
		}
		for _, c := range s.WayBack {
			b.WriteString("# way back: " + c + "\n")
		}
	}
	return []byte(b.String())
}
