package review

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/permissions"
)

// Overwritten compares the older tree in dir with what is rendered, as far as permissions, CRDs and OLM are concerned.
// The report is nil if no file about them changes.
func Overwritten(ctx context.Context, dir string, rendered *config.Rendered) (*compare.Report, error) {
	if !touchesRules(dir, rendered.Files) {
		return nil, nil //nolint:nilnil // nothing to compare
	}
	old, err := written(ctx, dir)
	if err != nil || len(old) == 0 {
		return nil, err
	}
	var now []*manifest.Object
	for _, o := range rendered.Objects {
		if !grows(o.Group(), o.Kind) {
			continue
		}
		read, err := o.Manifest()
		if err != nil {
			return nil, err
		}
		now = append(now, read)
	}
	return compareObjects(ctx, old, now)
}

// Growth returns how permissions grow and which changes of CRDs break something, such as "2 permissions gained, 1
// breaking change of CRDs". It is empty if nothing of that kind happens.
func Growth(report *compare.Report) string {
	if report == nil {
		return ""
	}
	var grown []string
	gained := permissions.Diff{Permissions: report.Permissions, Users: report.Users}.Gained()
	if len(gained) > 0 {
		grown = append(grown, text.Count(len(gained), "permission")+" gained")
	}
	if n := report.Breaking(); n > 0 {
		grown = append(grown, text.Count(n, "breaking change")+" of CRDs")
	}
	return strings.Join(grown, ", ")
}

// Refusals returns a warning for each reason why OLM would refuse what is rendered over the older tree.
func Refusals(report *compare.Report) (out []config.Warning) {
	if report == nil {
		return nil
	}
	for _, c := range report.OLM {
		if c.Severity == findings.Error {
			out = append(out, config.Warning{Message: fmt.Sprintf("OLM refuses this over the tree: %s %s", c.Operator,
				c.Message)})
		}
	}
	return out
}

// grows reports whether objects of a kind matter for Growth: RBAC, CRDs, and what tells accounts and operators apart.
func grows(group, kind string) bool {
	return permissions.Relevant(group, kind) || images.HasPods(group, kind) || kind == kindCSV
}

const kindCSV = "ClusterServiceVersion"

// touchesRules reports whether files of RBAC, CRDs or ClusterServiceVersions differ from those of the older tree.
func touchesRules(dir string, files output.Files) bool {
	return slices.ContainsFunc(files, func(file output.File) bool {
		if !permissions.Relevant(file.Object.Group, file.Object.Kind) && file.Object.Kind != kindCSV {
			return false
		}
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.Path)))
		return err != nil || !bytes.Equal(text.LF(have), text.LF(file.Data))
	})
}

// written reads what olmgen wrote before. Files of other tools stay, so they do not grow.
func written(ctx context.Context, dir string) ([]*manifest.Object, error) {
	recorded, err := output.Recorded(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range recorded {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil && filepath.Ext(file) == ".yaml" &&
			!slices.Contains(kustomization.Names(), filepath.Base(file)) {
			paths = append(paths, file)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	t, err := tree.Read(ctx, paths, tree.Options{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(t.Objects, func(o *manifest.Object) bool { return !grows(o.Group(), o.Kind) }), nil
}

func compareObjects(ctx context.Context, old, now []*manifest.Object) (*compare.Report, error) {
	var subjects [2]*Subject
	for i, list := range [][]*manifest.Object{old, now} {
		var err error
		if subjects[i], err = FromObjects(list, permissions.Operator{}, ""); err != nil {
			return nil, err
		}
	}
	return Compare(ctx, subjects[0], subjects[1], [2]string{}, compare.Options{})
}
