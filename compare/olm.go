package compare

import (
	"context"

	"github.com/olmgen/olmgen/internal/predict/upgrade"
)

// consequences returns what OLM would do about the upgrade.
func consequences(ctx context.Context, pairs []pair, old, now State, o Options) ([]Consequence, error) {
	u := upgrade.Upgrade{Old: old.Objects, New: now.Objects, Cluster: o.Cluster, PathKnown: o.PathKnown,
		Checker: o.CRDs.Checker}
	u.Cluster = append(u.Cluster, o.CRDs.Objects...)
	for _, p := range pairs {
		u.Pairs = append(u.Pairs, upgrade.Pair{Old: p.old.release(), New: p.now.release()})
	}
	for _, other := range o.Others {
		u.Others = append(u.Others, *other.release())
	}
	found, err := u.Findings(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Consequence, len(found))
	for i, f := range found {
		out[i] = Consequence(f)
	}
	return out, nil
}

// release returns an operator as package upgrade looks at it.
func (o *Operator) release() *upgrade.Operator {
	if o == nil {
		return nil
	}
	return &upgrade.Operator{CSV: o.CSV, Stem: o.stem(), Entry: o.entry(), Bundle: o.Shipped,
		InstallMode: o.InstallMode, Unsupported: o.Unsupported}
}
