package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/output/helm"
)

// helm writes the chart of an operator. In a tree without a Namespace each operator has its chart in a directory with
// its name. Helm allows an object in one release only, so operators that share one are refused.
func (t Tree) helm() (Files, error) {
	names := unique(t.Objects, func(o generate.Object) string { return stem(o, t.Namespace) })
	for i := range names {
		names[i] += ".yaml"
	}
	var files Files
	for i, o := range t.Operators {
		c, err := t.chart(i, names)
		if err != nil {
			return nil, err
		}
		made, err := c.Files()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		for _, f := range made {
			path := f.Path
			if t.Namespace == "" {
				path = segment(escape(o.Name)) + "/" + path
			}
			files = append(files, File{Path: path, Data: f.Data})
		}
	}
	return files, nil
}

func (t Tree) chart(operator int, names []string) (helm.Chart, error) {
	o := t.Operators[operator]
	c := helm.Chart{
		Name: o.Name, Version: o.Version, Description: o.CSV + " as Operator Lifecycle Manager would install it",
		Spec: o.Spec(), Namespace: o.Namespace, Targets: o.TargetNamespaces(), InstallMode: o.InstallMode,
		FixedNamespaces: o.FixedNamespaces(), CRDs: t.HelmCRDs, Templates: t.Templates,
		FileName: func(o generate.Object) string { return stem(o, t.Namespace) + ".yaml" },
	}
	if o.DisplayName != "" {
		c.Description = o.DisplayName + ": " + c.Description
	}
	for i, x := range t.Objects {
		switch {
		case x.Operators[0] == operator && len(x.Operators) == 1:
			c.Objects, c.Names = append(c.Objects, x.Object), append(c.Names, names[i])
		case x.Operators[0] == operator:
			return c, refuse("give them OperatorGroups in namespaces of their own, or choose another layout",
				"%s and %s share %s %s, and in helm an object belongs to one release",
				o.Name, t.Operators[x.Operators[1]].Name, x.Kind, strings.TrimPrefix(x.Namespace+"/"+x.Name, "/"))
		}
	}
	rendered, err := t.changed(o.Objects)
	if err != nil {
		return c, err
	}
	if same(c.Objects, rendered) { // else they were changed after rendering, in a way that is not known here
		c.RenderIn = func(namespace string, targets []string) ([]generate.Object, error) {
			r, err := o.RenderIn(namespace, targets)
			if err != nil {
				return nil, err
			}
			return t.changed(r.Objects)
		}
	}
	return c, nil
}

// changed returns the objects as they are in the tree, with the changes made after rendering.
func (t Tree) changed(objects []generate.Object) ([]generate.Object, error) {
	if t.Change == nil {
		return objects, nil
	}
	shared := lists.Map(objects, func(o generate.Object) generate.Shared { return generate.Shared{Object: o} })
	if err := t.Change(shared); err != nil {
		return nil, err
	}
	return lists.Map(shared, func(x generate.Shared) generate.Object { return x.Object }), nil
}

func same(a, b []generate.Object) bool {
	id := func(o generate.Object) [4]string { return [4]string{o.APIVersion, o.Kind, o.Namespace, o.Name} }
	all := lists.By(a, id)
	return len(a) == len(b) && !slices.ContainsFunc(b, func(o generate.Object) bool {
		other, ok := all[id(o)]
		return !ok || !bytes.Equal(other.Data, o.Data)
	})
}

// ReleaseWarnings returns what is wrong with the charts of layout helm: a release that Helm cannot store. Where it can
// be stored with the CRDs in crds/, crds is true.
func (t Tree) ReleaseWarnings(files Files) (warnings []string, crds bool, err error) {
	for i, o := range t.Operators {
		var chart []helm.File
		for _, f := range files {
			path, in := f.Path, true
			if t.Namespace == "" {
				path, in = strings.CutPrefix(path, escape(o.Name)+"/")
			}
			if in {
				chart = append(chart, helm.File{Path: path, Data: f.Data})
			}
		}
		var objects []generate.Object
		for _, x := range t.Objects {
			if x.Operators[0] == i {
				objects = append(objects, x.Object)
			}
		}
		size, err := helm.ReleaseSize(chart, objects)
		if err != nil {
			return nil, false, err
		}
		if size <= helm.ReleaseLimit {
			continue
		}
		text := fmt.Sprintf("chart %s: a release takes about %s, and Helm stores at most %s: \"helm install\" fails. ",
			o.Name, mebibytes(size), mebibytes(helm.ReleaseLimit))
		moved, err := helm.ReleaseSize(lists.Map(chart, func(f helm.File) helm.File {
			if name, ok := strings.CutPrefix(f.Path, "templates/customresourcedefinition_"); ok {
				f.Path = "crds/" + name
			}
			return f
		}), objects)
		if err != nil {
			return nil, false, err
		}
		if t.HelmCRDs != helm.CRDsDirectory && moved <= helm.ReleaseLimit {
			crds = true
			text += "Put the CRDs into crds/: it then takes " + mebibytes(moved)
		} else {
			text += "Store releases in a database (HELM_DRIVER=sql), apply the output of \"helm template\" " +
				"server-side, " +
				"or choose another layout"
		}
		warnings = append(warnings, text)
	}
	return warnings, crds, nil
}

func mebibytes(n int) string { return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20)) }
