// Package dump reads what kubectl printed of a cluster. It keeps the kinds that OLM reads or makes, and drops all else
// as it reads, Secrets first: a dump may be larger than the memory.
package dump

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// Dump is what is known about a cluster.
type Dump struct {
	Objects []*Object // sorted by kind, namespace and name; each is there once
	Secrets int       // that the dump has; nothing of them is kept
	Dropped int       // objects of other kinds, and those that are not OLM's

	byKey map[string]*Object
	bare  map[string]bool // keys of those that were dropped because OLM has left no mark on them
	seen  map[string]bool // kinds of which the dump has an object, kept or not, or a List
	paths []string
}

// Has reports whether the dump has an object of a kind, kept or not, or the API server's List of it.
func (d *Dump) Has(kind string) bool { return d.seen[kind] }

// HasBare reports whether the cluster has an object of a name without a mark of OLM: nothing of it is kept.
func (d *Dump) HasBare(o *Object) bool { return d.bare[o.Key()] }

// Get returns an object by its kind, namespace and name; nil if the dump has none.
func (d *Dump) Get(kind, namespace, name string) *Object {
	return d.byKey[(&Object{Kind: kind, Namespace: namespace, Name: name}).Key()]
}

// OfKind returns the objects of a kind, in their order.
func (d *Dump) OfKind(kind string) []*Object {
	byKind := func(o *Object, kind string) int { return cmp.Compare(o.Kind, kind) }
	start, _ := slices.BinarySearchFunc(d.Objects, kind, byKind)
	end, _ := slices.BinarySearchFunc(d.Objects, kind+"\x00", byKind)
	return d.Objects[start:end:end]
}

// Command returns the kubectl command that prints such a dump again, with who has written which field.
func (d *Dump) Command() string {
	more := lists.Filter(optionalKinds, func(k Kind) bool {
		_, known := olm.KindOf(k.Group, k.Kind)
		return known && d.Has(k.Kind)
	})
	return Command(slices.Concat(Kinds, more)...) + " --show-managed-fields"
}

// Missing returns the kinds that the dump has no object of, although every cluster with OLM has some or they are needed
// to find the operators. An empty answer of kubectl and a forgotten kind look the same.
func (d *Dump) Missing() []Kind {
	everywhere := []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Deployment",
		"CustomResourceDefinition"}
	return lists.Filter(Kinds, func(k Kind) bool {
		return (k.Needed || slices.Contains(everywhere, k.Kind)) && !d.Has(k.Kind)
	})
}

// Read reads the objects of files, of all below directories, and of stdin for the path "-": YAML and JSON, single
// objects, Lists, Lists of Lists, several documents. A file of a directory that is not a Kubernetes object is passed
// over, as a must-gather has some. Errors are *manifest.Error with the place: of a file that ends too early, of a
// broken object of a kind that is kept, and of objects of two clusters.
func Read(ctx context.Context, paths []string, stdin io.Reader) (*Dump, error) {
	d, err := read(ctx, paths, stdin, slices.Concat(Kinds, optionalKinds))
	if err != nil {
		return nil, err
	}
	if len(d.Objects) > 0 && !slices.ContainsFunc(d.Objects, func(o *Object) bool { return o.UID != "" }) {
		return nil, &manifest.Error{File: d.Objects[0].File, Line: d.Objects[0].Line, Field: d.Objects[0].Identity(),
			Msg: "has no uid, as all objects: they come from no cluster",
			Tip: "\"olmgen check\" is for a tree; \"olmgen adopt --print-kubectl\" prints the command that makes a " +
				"dump"}
	}
	return d, nil
}

// Rereadable reports whether the dump is not from standard input, so that CustomResources can read it once more.
func (d *Dump) Rereadable() bool { return !slices.Contains(d.paths, tree.Stdin) }

// CustomResources reads the dump once more for the objects of kinds that CRDs define, which Read drops, and returns
// them sorted. The errors are those of Read.
func (d *Dump) CustomResources(ctx context.Context, kinds []Kind) ([]*Object, error) {
	again, err := read(ctx, d.paths, nil, kinds)
	if err != nil {
		return nil, err
	}
	return again.Objects, nil
}

func read(ctx context.Context, paths []string, stdin io.Reader, kept []Kind) (*Dump, error) {
	files, err := tree.Files(paths)
	if err != nil {
		return nil, err
	}
	r := &reader{store: store{}, byKey: map[string]*Object{}, bare: map[string]bool{}, kept: kept,
		kinds: map[string]bool{}, largest: budget.Of(budget.DumpObject).Bytes, most: budget.Of(budget.Dump)}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.file(f, stdin); err != nil {
			return nil, err
		}
	}
	d := &Dump{Secrets: r.secrets, Dropped: r.dropped, byKey: r.byKey, bare: r.bare, seen: r.kinds, paths: paths}
	d.Objects = slices.SortedFunc(maps.Values(r.byKey), func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if r.seen == 0 {
		return nil, noObjects(files.String())
	}
	return d, nil
}

func noObjects(file string) error {
	return &manifest.Error{File: file, Msg: "no Kubernetes objects",
		Tip: "check that the command that printed the dump succeeded"}
}

type reader struct {
	store   store
	byKey   map[string]*Object
	bare    map[string]bool // see Dump
	kept    []Kind
	kinds   map[string]bool // that a dump may have, of which there was an object or a List
	cluster *Object         // the namespace kube-system, whose UID is that of the cluster
	secrets int
	dropped int
	seen    int

	largest int64         // bytes of one object, as kubectl indents it
	most    budget.Budget // of what is kept
	bytes   int64         // that were kept
}

func (r *reader) file(f tree.File, stdin io.Reader) error {
	in := stdin
	if f.Path != tree.Stdin {
		file, err := os.Open(f.Path)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	if in == nil {
		return fmt.Errorf("%s: no standard input", f.Name)
	}
	before := r.seen
	err := r.stream(&source{name: f.Name, named: f.Named, in: bufio.NewReaderSize(in, 1<<16)})
	switch {
	case err == nil && f.Named && r.seen == before:
		return noObjects(f.Name)
	case err != nil && manifest.HintOf(err) == "":
		return manifest.WithHint(err, "\"olmgen adopt --print-kubectl\" prints the command that makes a dump")
	}
	return err
}

// add keeps an object. Of two states of one object, the later counts.
func (r *reader) add(o *Object) error {
	if o.Kind == "Namespace" && o.Name == "kube-system" && o.UID != "" {
		if r.cluster != nil && r.cluster.UID != o.UID {
			return r.twoClusters(o, r.cluster, "namespace kube-system has another UID than in %s:%d",
				"dump one cluster into one directory, and adopt one directory at a time")
		}
		r.cluster = o
	}
	key, over := o.Key(), ""
	before := r.byKey[key]
	if r.bytes += int64(len(o.meta)) + o.own; r.bytes > r.most.Bytes {
		over = fmt.Sprintf("more than %d MiB of objects that OLM reads or makes", r.most.Bytes>>20)
	} else if before == nil && int64(len(r.byKey)) == r.most.Objects {
		over = fmt.Sprintf("more than %d objects that OLM reads or makes", r.most.Objects)
	}
	if over != "" {
		return manifest.OverLimit(&manifest.Error{File: o.File, Line: o.Line, Msg: over})
	}
	if before != nil && before.UID != o.UID && before.UID != "" && o.UID != "" {
		return r.twoClusters(o, before, "has another UID than in %s:%d: the dump is of two clusters, or the object "+
			"was made anew between two commands", "dump all kinds with one command")
	}
	later := before == nil
	if before != nil { // resource versions are numbers, in practice
		x, errX := strconv.ParseUint(o.ResourceVersion, 10, 64)
		y, errY := strconv.ParseUint(before.ResourceVersion, 10, 64)
		later = errY != nil || errX == nil && x >= y
	}
	if later {
		r.byKey[key] = o
	}
	return nil
}

func (r *reader) twoClusters(o, before *Object, format, tip string) error {
	return &manifest.Error{File: o.File, Line: o.Line, Field: o.Identity(),
		Msg: fmt.Sprintf(format, before.File, before.Line), Tip: tip}
}

// Kind is a kind of objects that a dump should have.
type Kind struct {
	Group, Kind string
	Needed      bool // the operators can't be found without it; the others are compared with what is rendered
	marked      bool // only those with a label or an owner of OLM are kept: others are none of its business
}

// Is reports whether objects with an apiVersion and a kind are of the Kind.
func (k Kind) Is(apiVersion, kind string) bool {
	return k.Kind == kind && k.Group == manifest.GroupOf(apiVersion)
}

// Kinds are what OLM reads and makes, and what operators make and give to their CSV, in kubectl's order.
var Kinds = []Kind{
	{"", "Namespace", true, false},
	{olm.Group, "ClusterServiceVersion", true, false},
	{olm.Group, "OperatorGroup", true, false},
	{olm.Group, "Subscription", true, false},
	{olm.Group, "InstallPlan", true, false},
	{olm.Group, "CatalogSource", true, false},
	{olm.Group, "OperatorCondition", false, false},
	{"apps", "Deployment", false, true},
	{"", "ServiceAccount", false, true},
	{rbacGroup, "Role", false, false},
	{rbacGroup, "RoleBinding", false, false},
	{rbacGroup, "ClusterRole", false, false},
	{rbacGroup, "ClusterRoleBinding", false, false},
	{"apps", "StatefulSet", false, true},
	{"apps", "DaemonSet", false, true},
	{"batch", "Job", false, true},
	{"batch", "CronJob", false, true},
	{"", "PersistentVolumeClaim", false, true},
	{"networking.k8s.io", "Ingress", false, true},
	{"", "Service", false, true},
	{"", "ConfigMap", false, true},
	{"networking.k8s.io", "NetworkPolicy", false, true},
	{"policy", "PodDisruptionBudget", false, true},
	{"scheduling.k8s.io", "PriorityClass", false, true},
	{"apiextensions.k8s.io", "CustomResourceDefinition", false, true},
	{"apiregistration.k8s.io", "APIService", false, true},
	{webhookGroup, "ValidatingWebhookConfiguration", false, true},
	{webhookGroup, "MutatingWebhookConfiguration", false, true},
}

// ClusterCatalog is the kind of OLM v1's catalogs. A cluster without OLM v1 does not know it, and kubectl would fail.
var ClusterCatalog = Kind{olm.GroupV1, olm.KindClusterCatalog, false, false}

// ClusterExtension is the kind of what OLM v1 installs, which such a cluster knows too.
var ClusterExtension = Kind{olm.GroupV1, olm.KindClusterExtension, false, false}

// ClusterVersion is the kind that has the release of OpenShift. Other clusters do not know it.
var ClusterVersion = Kind{"config.openshift.io", "ClusterVersion", false, false}

// optionalKinds are kinds that a bundle may ship and a cluster need not know, so that kubectl is not asked for them.
var optionalKinds = []Kind{
	{"monitoring.coreos.com", "PrometheusRule", false, true},
	{"monitoring.coreos.com", "ServiceMonitor", false, true},
	{"autoscaling.k8s.io", "VerticalPodAutoscaler", false, true},
	{"console.openshift.io", "ConsoleCLIDownload", false, true},
	{"console.openshift.io", "ConsoleLink", false, true},
	{"console.openshift.io", "ConsolePlugin", false, true},
	{"console.openshift.io", "ConsoleQuickStart", false, true},
	{"console.openshift.io", "ConsoleYAMLSample", false, true},
	ClusterCatalog,
	ClusterVersion,
	ClusterExtension,
	{olm.GroupV1, "ClusterObjectSet", false, false},
	// who applies objects again
	{"argoproj.io", "Application", false, false},
	{"policy.open-cluster-management.io", "OperatorPolicy", false, false},
}

const (
	rbacGroup    = "rbac.authorization.k8s.io"
	webhookGroup = "admissionregistration.k8s.io"
)

// kindOf returns the kind of an object that is kept, and whether there is one.
func (r *reader) kindOf(apiVersion, kind string) (Kind, bool) {
	k := lists.Find(r.kept, func(k Kind) bool { return k.Is(apiVersion, kind) })
	return k, k.Kind != ""
}

// Command returns the kubectl command that prints a dump of some kinds; of all without any.
func Command(kinds ...Kind) string {
	if len(kinds) == 0 {
		kinds = Kinds
	}
	resources := lists.Map(kinds, func(k Kind) string {
		known, _ := olm.KindOf(k.Group, k.Kind)
		return known.Resource()
	})
	return "kubectl get " + strings.Join(resources, ",") + " -A -o yaml"
}

// Object is an object of a cluster. Equal ones share their fields beside metadata: each copied CSV has the whole spec.
type Object struct {
	APIVersion, Kind                      string `json:"-"`
	Namespace, Name, UID, ResourceVersion string
	Labels, Annotations                   map[string]string
	Owners                                []Owner `json:"ownerReferences"`
	Finalizers                            []string
	DeletionTimestamp                     string // empty if nobody has deleted it
	File                                  string `json:"-"`
	Line                                  int    `json:"-"` // 0 if it is unknown

	original   string // of a copied ClusterServiceVersion: the namespace of the original, if it is known
	copied     bool
	meta, body json.RawMessage
	own        int64 // bytes of body, if no object before has an equal one
}

// Copied reports whether the object is a copied CSV, and returns the namespace of the original if the copy names it.
func (o *Object) Copied() (original string, copied bool) { return o.original, o.copied }

// Owner is an ownerReference.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// ByOLM reports whether the reference is to an object of OLM.
func (r Owner) ByOLM() bool { return strings.HasPrefix(r.APIVersion, olm.Group+"/") }

// Key identifies the object in a cluster: kind, namespace, name. It is that of golden/equal.
func (o *Object) Key() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name))
}

// Identity names the object for a person: kind namespace/name.
func (o *Object) Identity() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Value decodes the object, its numbers float64. The map is the caller's own.
func (o *Object) Value() map[string]any {
	var v, meta map[string]any
	// Both were decoded before they were kept.
	_ = json.Unmarshal(o.body, &v)
	_ = json.Unmarshal(o.meta, &meta)
	v["metadata"] = meta
	return v
}

// Decode decodes the object into a Go type. The error, a *manifest.Error, names its place.
func (o *Object) Decode(into any) error {
	data, err := json.Marshal(o.Value())
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return &manifest.Error{File: o.File, Line: o.Line, Field: o.Identity(), Msg: "is not one that the API server " +
			"would print: " + err.Error()}
	}
	return nil
}

// Managed is a manager of fields, if the dump has them (kubectl get --show-managed-fields).
type Managed struct {
	Manager string         `json:"manager"`
	Through string         `json:"subresource"`
	Time    string         `json:"time"`
	Fields  map[string]any `json:"fieldsV1"`
}

// ManagedFields returns the managers of the object's fields; none if the dump leaves them out.
func (o *Object) ManagedFields() []Managed {
	var meta struct {
		ManagedFields []Managed `json:"managedFields"`
	}
	_ = json.Unmarshal(o.meta, &meta) // one of another form has none
	return meta.ManagedFields
}

// store keeps equal bodies once.
type store map[[sha256.Size]byte]json.RawMessage

// object makes an Object of a decoded value. It reports false for one that is not kept.
func (s store) object(value map[string]any, kind Kind, file string, line int) (*Object, bool, error) {
	raw, _ := value["metadata"].(map[string]any)
	meta, err := json.Marshal(raw)
	if err != nil {
		return nil, false, err
	}
	o := &Object{Kind: kind.Kind, File: file, Line: line, meta: meta}
	if err := json.Unmarshal(meta, o); err != nil {
		return nil, false, fmt.Errorf("metadata: %w", err)
	}
	o.APIVersion, _ = value["apiVersion"].(string)
	switch {
	case o.Name == "":
		return nil, false, fmt.Errorf("%s without metadata.name", kind.Kind)
	case kind.marked && !o.marked():
		return o, false, nil
	}
	body := maps.Clone(value)
	delete(body, "metadata")
	if o.Kind == v1alpha1.ClusterServiceVersionKind {
		status, _ := value["status"].(map[string]any)
		reason, _ := status["reason"].(string)
		o.original, o.copied = olm.Copied(metav1.ObjectMeta{Namespace: o.Namespace, Labels: o.Labels,
			Annotations: o.Annotations}, v1alpha1.ConditionReason(reason))
	}
	if o.copied {
		delete(body, "status") // it is the original's, with times of its own
	}
	if o.Kind == "InstallPlan" { // Secrets of bundles are among the manifests of its steps
		for _, step := range normalize.List(normalize.At(body, "status"), "plan") {
			delete(normalize.At(step, "resource"), "manifest")
		}
	}
	if o.body, err = json.Marshal(body); err != nil {
		return nil, false, err
	}
	sum := sha256.Sum256(o.body)
	if known, ok := s[sum]; ok {
		o.body = known
	} else {
		s[sum], o.own = o.body, int64(len(o.body))
	}
	return o, true, nil
}

// marked reports whether an object shows that OLM made it, or that it is a part of OLM.
func (o *Object) marked() bool {
	own := func(k string) bool { return olm.OwnKey(k) || strings.HasPrefix(k, "operatorframework.io/") }
	return lists.Any(maps.Keys(o.Labels), own) || lists.Any(maps.Keys(o.Annotations), own) ||
		slices.ContainsFunc(o.Owners, Owner.ByOLM) || o.Kind == "ConfigMap" && o.Name == "argocd-cm" ||
		o.Kind == "Deployment" && slices.Contains([]string{"olm-operator", "catalog-operator", "packageserver"}, o.Name)
}
