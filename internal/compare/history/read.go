package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/manifest"
)

// Releases are the releases of a package as they were read.
type Releases struct {
	Package string
	Inputs  []Input
	LeftOut []string // the names of releases that cannot be read
	Reason  error    // why the first of them cannot be read
}

// Read reads and renders releases, several at the same time. It fails if no release can be read.
func Read(ctx context.Context, releases []catalog.Release, o generate.Options) (*Releases, error) {
	inputs, packages := make([]Input, len(releases)), make([]string, len(releases))
	errs := make([]error, len(releases))
	parallel.Each(0, len(releases), func(i int) {
		inputs[i], packages[i], errs[i] = read(ctx, releases[i], o)
		watch.Step(ctx, "reading releases", len(releases))
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := &Releases{}
	var names []string
	for i, err := range errs {
		if err == nil {
			list.Inputs, names = append(list.Inputs, inputs[i]), append(names, packages[i])
			continue
		}
		if list.LeftOut = append(list.LeftOut, releases[i].Name); list.Reason == nil {
			list.Reason = err
		}
	}
	if len(list.Inputs) == 0 {
		return nil, fmt.Errorf("none of %s can be read: %w", text.Count(len(releases), "release"), list.Reason)
	}
	if names = lists.SortedUnique(names); len(names) > 1 {
		return nil, manifest.WithHint(fmt.Errorf("the releases are of %d packages: %s", len(names),
			strings.Join(names, ", ")), "name a directory with the releases of one package")
	}
	list.Package = names[0]
	return list, nil
}

func read(ctx context.Context, r catalog.Release, o generate.Options) (in Input, pkg string, err error) {
	b, err := r.Read(ctx)
	if err != nil {
		return in, "", err
	}
	result, err := generate.Render(b, o)
	if err != nil {
		return in, "", err
	}
	in = Input{Name: b.CSV.Name, Version: b.CSV.Spec.Version.Version, Replaces: b.CSV.Spec.Replaces,
		Skips: append(slices.Clone(b.CSV.Spec.Skips), r.Skips...), Channels: r.Channels}
	if r.Replaces != nil {
		in.Replaces = *r.Replaces
	}
	for _, m := range b.CSV.Spec.InstallModes {
		if m.Supported {
			in.Modes = append(in.Modes, string(m.Type))
		}
	}
	slices.Sort(in.Modes)
	state, err := compare.StateOf(b, result)
	in.Objects, in.Permissions = state.Objects, state.Permissions
	return in, b.Package, err
}
