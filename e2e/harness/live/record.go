package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
	"github.com/olmgen/olmgen/golden/equal"
	recordings "github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

const (
	patience = 75 * time.Second // for an installation to succeed
	quiet    = 4 * time.Second  // without a change: then it is over
)

// uncompared are kinds that Kubernetes, OLM or the harness make on the way and that olmgen does not.
var uncompared = append([]string{"CatalogSource", "InstallPlan", "OLMConfig", "Operator", "Subscription"},
	cluster.ByTheWay...)

// Recording is what a real OLM makes of a case.
type Recording struct {
	Case    equal.Case
	Objects []equal.Object // that are new
	Users   recordings.Users
}

// Record installs the bundle of a case in a cluster that has nothing but OLM, and returns what is new once nothing
// changes any more.
func Record(ctx context.Context, c *cluster.Cluster, golden string, what equal.Case) (*Recording, error) {
	recording, cat, err := Install(ctx, c, golden, what)
	if cat != nil {
		cat.Stop()
	}
	return recording, err
}

// Install is Record with a catalog that goes on until the caller stops it. It is nil if it could not start.
func Install(ctx context.Context, c *cluster.Cluster, golden string, what equal.Case) (*Recording, *catalog.Served,
	error) {
	i := &installation{Case: what, golden: golden, cluster: c}
	i.Optional, i.Objects = nil, 0
	if err := i.prepare(ctx); err != nil {
		return nil, nil, err
	}
	content, err := CatalogOf(i.bundles()...)
	if err != nil {
		return nil, nil, err
	}
	cat, err := Serve(ctx, content)
	if err != nil {
		return nil, nil, err
	}
	if err := i.subscribe(ctx, cat.Address); err != nil {
		return nil, cat, err
	}
	objects, users, err := i.settle(ctx)
	if err != nil {
		return nil, cat, err
	}
	if !i.Options().Incomplete {
		i.Message = ""
	}
	i.Optional = optional(i.Case, objects)
	return &Recording{i.Case, objects, users}, cat, nil
}

// settle waits until the CSV has succeeded, or will not, and then until nothing changes any more.
func (i *installation) settle(ctx context.Context) ([]equal.Object, recordings.Users, error) {
	started, last, since := time.Now(), "", time.Now()
	for {
		if err := i.cluster.Check(); err != nil {
			return nil, nil, err
		}
		if i.look(ctx) || time.Since(started) > patience {
			objects, err := i.made(ctx)
			if err != nil {
				return nil, nil, err
			}
			users, err := i.gained(ctx)
			if err != nil {
				return nil, nil, err
			}
			now, err := json.Marshal([]any{objects, users})
			if err != nil {
				return nil, nil, err
			}
			if string(now) != last {
				last, since = string(now), time.Now()
			}
			if time.Since(since) > quiet {
				return objects, users, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// made returns the new objects, normalized and sorted.
func (i *installation) made(ctx context.Context) ([]equal.Object, error) {
	all, err := i.cluster.Objects(ctx, uncompared)
	if err != nil {
		return nil, err
	}
	var objects []equal.Object
	for _, u := range all {
		o := equal.Object(u.Object)
		switch {
		case i.before[string(u.GetUID())] && (u.GetLabels()[olm.LabelManaged] == "" || u.GetName() == i.ServiceAccount),
			!i.copyHere(&u):
			continue
		case !slices.Contains(normalize.Kinds, u.GetKind()):
			return nil, fmt.Errorf("there is a new %s, a kind that nothing is compared of", o.Key())
		}
		if n, ok := normalize.Comparable(o); ok {
			objects = append(objects, n)
		}
	}
	equal.Sort(objects)
	return objects, nil
}

// copyHere is false for copied CSVs in namespaces that are nobody's business.
func (i *installation) copyHere(u *unstructured.Unstructured) bool {
	return u.GetKind() != "ClusterServiceVersion" || u.GetLabels()[v1alpha1.CopiedLabelKey] == "" || i.Copies == nil ||
		slices.Contains(i.Copies, u.GetNamespace())
}

// provided is the OperatorGroup's annotation olm.providedAPIs for a bundle.
func provided(b declcfg.Bundle) (string, error) {
	read, err := property.Parse(b.Properties)
	if err != nil {
		return "", err
	}
	apis := lists.Map(read.GVKs, func(p property.GVK) string { return p.Kind + "." + p.Version + "." + p.Group })
	return strings.Join(lists.SortedUnique(apis), ","), nil
}
