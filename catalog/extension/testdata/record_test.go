// This test makes the cases of recorded.jsonl.gz with the resolver of operator-controller. Copy it to
// internal/operator-controller/resolve of operator-controller and run
//
//	OUT=cases.jsonl CASES=500 go test -run TestRecord ./internal/operator-controller/resolve
//
// TestResolverRecorded reads such a file, compressed with gzip, if OLMGEN_V1_CASES names it.
package resolve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	ocv1 "github.com/operator-framework/operator-controller/api/v1"
)

type rcat struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority,omitempty"`
	FBC      string `json:"fbc"`
}
type rcase struct {
	Catalogs      []rcat               `json:"catalogs"`
	Versions      string               `json:"versions,omitempty"`
	Channels      []string             `json:"channels,omitempty"`
	SelfCertified bool                 `json:"selfCertified,omitempty"`
	Installed     *ocv1.BundleMetadata `json:"installed,omitempty"`
	Bundle        string               `json:"bundle,omitempty"`
	Version       string               `json:"version,omitempty"`
	Error         string               `json:"error,omitempty"`
}

var versions = []string{
	"0.1.0", "0.2.0", "0.2.3", "1.0.0-rc1", "1.0.0", "1.0.0+1", "1.0.0+10", "1.0.0+9.a", "1.0.0+001", "1.1.0",
	"1.2.0", "1.2.0-0.3", "2.0.0", "2.1.0-alpha.1", "2.1.0", "3.0.0",
}
var rangesB = []string{
	"<1.0.0", ">=1.0.0 <2.0.0", "<2.1.0", ">=0.1.0", "1.0.0", "^1.0.0", "<=1.2.0 || 3.0.0", "!1.0.0", "1.x",
	"bad", ">1.0.0-rc0",
}
var rangesM = []string{
	"1.0.0", "<2.0.0", ">=1.0.0, <3", "^1", "~1.0", "1.x", "*", ">=1.0.0-0", "^0.2", "<1.0.0 || >=2.1.0",
	"!=1.0.0", "1.2.0-0.3", "1.0.0+1", "=2.1.0", ">0.2.3 <=2.0.0", "x", "2", "v1.1.0",
	"99999999999999999999.0.0",
}

func TestRecord(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("CASES"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(14))
	f, err := os.Create(os.Getenv("OUT"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 0; n < count; n++ {
		c := rcase{}
		var all []string
		for i := 0; i < 1+r.Intn(3)*r.Intn(2); i++ {
			fbc, names := randFBC(r)
			all = append(all, names...)
			c.Catalogs = append(c.Catalogs, rcat{string(rune('a' + i)), int32(r.Intn(2)), fbc})
		}
		if r.Intn(2) == 0 {
			c.Versions = rangesM[r.Intn(len(rangesM))]
		}
		if r.Intn(3) == 0 {
			c.Channels = [][]string{{"x"}, {"y"}, {"x", "y"}, {"z"}}[r.Intn(4)]
		}
		c.SelfCertified = r.Intn(5) == 0
		if r.Intn(5) > 0 {
			v := versions[r.Intn(len(versions))]
			name := "a.v" + v
			if r.Intn(8) == 0 {
				name = "b.v" + v
			}
			c.Installed = &ocv1.BundleMetadata{Name: name, Version: v}
		}
		policy := ocv1.UpgradeConstraintPolicyCatalogProvided
		if c.SelfCertified {
			policy = ocv1.UpgradeConstraintPolicySelfCertified
		}
		ce := buildFooClusterExtension("a", c.Channels, c.Versions, policy)
		res := CatalogResolver{Validations: []ValidationFunc{NoDependencyValidation}}
		res.WalkCatalogsFunc = func(ctx context.Context, _ string, fn CatalogWalkFunc, _ ...client.ListOption) error {
			for _, k := range c.Catalogs {
				cfg, err := declcfg.LoadReader(bytes.NewReader([]byte(k.FBC)))
				if err != nil {
					t.Fatal(err, k.FBC)
				}
				cat := &ocv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
				cat.Spec.Priority = k.Priority
				if err := fn(ctx, cat, cfg, nil); err != nil {
					return err
				}
			}
			return nil
		}
		b, v, _, err := res.Resolve(context.Background(), ce, c.Installed)
		if err != nil {
			c.Error = err.Error()
		} else {
			c.Bundle, c.Version = b.Name, v.Version.String()
			if len(v.Release) > 0 {
				c.Version += "+" + v.Release.String()
			}
		}
		line, _ := json.Marshal(c)
		fmt.Fprintln(f, string(line))
	}
}

func randFBC(r *rand.Rand) (string, []string) {
	if r.Intn(12) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	put := func(v any) { d, _ := json.Marshal(v); b.Write(d); b.WriteByte('\n') }
	type m = map[string]any
	put(m{"schema": "olm.package", "name": "a", "defaultChannel": "x"})
	var vs []string
	for _, v := range versions {
		if r.Intn(3) > 0 {
			vs = append(vs, v)
		}
	}
	if len(vs) == 0 {
		vs = versions[:1]
	}
	for _, ch := range []string{"x", "y"}[:1+r.Intn(2)] {
		var entries []m
		for i, v := range vs {
			if r.Intn(4) == 0 {
				continue
			}
			e := m{"name": "a.v" + v}
			if i > 0 && r.Intn(3) > 0 {
				e["replaces"] = "a.v" + vs[r.Intn(i)]
			}
			if r.Intn(4) == 0 {
				e["skips"] = []string{"a.v" + versions[r.Intn(len(versions))], "b.v" + versions[r.Intn(len(versions))]}
			}
			if r.Intn(4) == 0 {
				e["skipRange"] = rangesB[r.Intn(len(rangesB))]
			}
			entries = append(entries, e)
		}
		put(m{"schema": "olm.channel", "package": "a", "name": ch, "entries": entries})
	}
	r.Shuffle(len(vs), func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
	var names []string
	for _, v := range vs {
		name := "a.v" + v
		names = append(names, name)
		value := v
		if r.Intn(15) == 0 {
			value = versions[r.Intn(len(versions))]
		}
		if r.Intn(60) == 0 {
			value = "bad"
		}
		props := []m{{"type": "olm.package", "value": m{"packageName": "a", "version": value}}}
		if r.Intn(60) == 0 {
			props = nil
		}
		if r.Intn(12) == 0 {
			types := []string{"olm.gvk.required", "olm.package.required", "olm.constraint", "olm.deprecated"}
			props = append(props, m{"type": types[r.Intn(4)], "value": m{}})
		}
		put(m{"schema": "olm.bundle", "package": "a", "name": name, "image": "x/a:1", "properties": props})
	}
	if r.Intn(3) == 0 {
		var entries []m
		for _, n := range names {
			if r.Intn(3) == 0 {
				entries = append(entries, m{"reference": m{"schema": "olm.bundle", "name": n}, "message": "old"})
			}
		}
		put(m{"schema": "olm.deprecations", "package": "a", "entries": entries})
	}
	return b.String(), names
}
