package predict_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
)

// repository writes 5,000 objects in 2,000 files, such as a large GitOps repository has: 500 namespaces, each with an
// OperatorGroup, the CSV of the example with its CRD and RBAC, and other objects.
func repository(b *testing.B) string {
	b.Helper()
	manifests := filepath.Join("..", "..", "examples", "memcached-operator", "bundle", "manifests")
	csv, err := os.ReadFile(filepath.Join(manifests, "memcached-operator.clusterserviceversion.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	crd, err := os.ReadFile(filepath.Join(manifests, "cache.example.com_memcacheds.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	write := func(name string, i int, text string) {
		text = strings.ReplaceAll(text, "INDEX", fmt.Sprint(i))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d-%s.yaml", i, name)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 500 {
		write("a", i, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns-INDEX\n  labels:\n    team: t-INDEX\n---\n"+
			"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata:\n  name: og-INDEX\n  namespace: "+
			"ns-INDEX\nspec:\n  selector:\n    matchLabels:\n      team: t-INDEX\n")
		write("b", i, strings.Replace(string(csv), "namespace: placeholder", "namespace: ns-INDEX", 1))
		write("c", i, role)
		if i == 0 {
			write("d", i, string(crd)+strings.Repeat(configMap, 3))
			continue
		}
		write("d", i, strings.Repeat(configMap, 4))
	}
	return dir
}

const role = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: memcached-operator-controller-manager
  namespace: ns-INDEX
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: admin-INDEX
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: ["*"]
- nonResourceURLs: ["*"]
  verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: admin-INDEX
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin-INDEX}
subjects:
- {kind: ServiceAccount, name: memcached-operator-controller-manager, namespace: ns-INDEX}
`

const configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  generateName: c-
  name: c-INDEX
  namespace: ns-INDEX
data:
  one: "1"
  two: |
    some text
    of several lines
`

// BenchmarkCheck reports how many times longer it takes to read and check a tree than to read it.
func BenchmarkCheck(b *testing.B) {
	dir := repository(b)
	var reading, checking time.Duration
	for b.Loop() {
		start := time.Now()
		tr, err := tree.Read(b.Context(), []string{dir}, tree.Options{})
		if err != nil {
			b.Fatal(err)
		}
		reading += time.Since(start)
		start = time.Now()
		r, err := predict.Check(b.Context(), tr, predict.Options{})
		if err != nil {
			b.Fatal(err)
		}
		checking += time.Since(start)
		if tr.Files != 2000 || len(tr.Objects) != 5000 || len(r.CSVs) != 500 || r.CSVs[0].Phase != "Succeeded" {
			b.Fatalf("%d objects in %d files, %d CSVs: %+v", len(tr.Objects), tr.Files, len(r.CSVs), r.CSVs[0])
		}
	}
	b.ReportMetric(float64(reading+checking)/float64(reading), "check/read")
	b.ReportMetric(5000*float64(b.N)/(reading+checking).Seconds(), "objects/s")
}
