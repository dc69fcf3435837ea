package output

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output/helm"
)

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
		moved, err := helm.ReleaseSize(inCRDs(chart), objects)
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

// inCRDs returns the files of a chart with its CRDs in crds/.
func inCRDs(files []helm.File) []helm.File {
	out := make([]helm.File, len(files))
	for i, f := range files {
		if name, ok := strings.CutPrefix(f.Path, "templates/customresourcedefinition_"); ok {
			f.Path = "crds/" + name
		}
		out[i] = f
	}
	return out
}
