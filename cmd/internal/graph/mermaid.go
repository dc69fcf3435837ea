package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/picture"
)

// Mermaid writes the picture as Mermaid text, which GitHub and GitLab draw. The error is the one of w.
func (r *Radius) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("graph TD\n  subgraph cluster[\"Cluster\"]\n")
	fmt.Fprintf(&b, "    subgraph own[\"%s (operator)\"]\n", label("namespace "+r.Namespace))
	for i, a := range r.Accounts {
		fmt.Fprintf(&b, "      sa%d(\"%s\")\n", i, label("ServiceAccount", a.Name))
		for j, d := range a.Deployments {
			fmt.Fprintf(&b, "      d%d_%d(\"%s\")\n      d%[1]d_%[2]d -->|runs as| sa%[1]d\n", i, j,
				label("Deployment", d))
		}
	}
	b.WriteString("    end\n")
	for i, role := range r.Roles {
		fmt.Fprintf(&b, "    r%d(\"%s\")\n", i, label(role.Kind, role.Name, role.Summary))
	}
	for i, p := range r.Places {
		fmt.Fprintf(&b, "    subgraph p%d[\"%s\"]\n", i, label(p.title(r)))
		for j, binding := range p.Bindings {
			lines := append([]string{binding.Kind, binding.Name}, binding.Marks...)
			fmt.Fprintf(&b, "      b%d_%d(\"%s\")\n", i, j, label(lines...))
		}
		b.WriteString("    end\n")
		for j, binding := range p.Bindings {
			fmt.Fprintf(&b, "    b%d_%d -->|uses| r%d\n", i, j, binding.Role)
			for _, a := range binding.Accounts {
				fmt.Fprintf(&b, "    b%d_%d -->|bound to| sa%d\n", i, j, a)
			}
		}
	}
	for i, w := range r.Ways {
		at := fmt.Sprintf("sa%d", r.account(w.Subject))
		for j, step := range w.Steps {
			to := w.Reaches
			if j+1 < len(w.Steps) {
				to = w.Steps[j+1].Subject.String()
			}
			fmt.Fprintf(&b, "    w%d_%d(\"%s\")\n    %s ==>|\"%s\"| w%[1]d_%[2]d\n", i, j, label(to), at,
				label(step.Text))
			at = fmt.Sprintf("w%d_%d", i, j)
		}
	}
	r.mermaidBeside(&b)
	b.WriteString("  end\n")
	for i, a := range r.Accounts {
		for j := range a.Deployments {
			fmt.Fprintf(&b, "  style d%d_%d stroke-width:4px\n", i, j)
		}
	}
	for i, p := range r.Places {
		for j, binding := range p.Bindings {
			if len(binding.Marks) > 0 {
				fmt.Fprintf(&b, "  style b%d_%d stroke:#cf222e,stroke-width:3px\n", i, j)
			}
		}
	}
	b.WriteString("  style none stroke-dasharray:6 4\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidBeside writes what no line of the picture leads to.
func (r *Radius) mermaidBeside(b *strings.Builder) {
	group := func(id, title, node string, lines ...string) {
		fmt.Fprintf(b, "    subgraph %s[\"%s\"]\n      %s(\"%s\")\n    end\n", id, label(title), node, label(lines...))
	}
	group("none", strings.Join(r.Unbound, ", "), "no", "no RoleBinding", r.access())
	if len(r.Others) > 0 {
		group("others", boundToo, "too", r.others()...)
	}
}

// others names who is bound too, a line for each.
func (r *Radius) others() []string {
	if n := len(r.Others) - mostOthers; n > 0 {
		return append(slices.Clone(r.Others[:mostOthers]), fmt.Sprintf("and %d more", n))
	}
	return r.Others
}

func (p Place) title(r *Radius) string {
	switch p.Namespace {
	case "":
		return "all namespaces"
	case r.Namespace:
		return "namespace " + p.Namespace + " (its own)"
	}
	return "namespace " + p.Namespace
}

// access returns what the operator has where nothing binds it.
func (r *Radius) access() string {
	if r.Everywhere() {
		return "only what it has in all namespaces"
	}
	return "no access"
}

func label(lines ...string) string {
	return strings.Join(lists.Map(lines, picture.Mermaid), "<br/>")
}
