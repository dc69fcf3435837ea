package transform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Engine is a GitOps engine that objects are annotated for.
type Engine string

// The engines.
const (
	EngineNone   Engine = "none"
	EngineArgoCD Engine = "argocd"
	EngineFlux   Engine = "flux"
)

// Engines are all engines.
var Engines = []Engine{EngineNone, EngineArgoCD, EngineFlux}

const (
	argoWave    = "argocd.argoproj.io/sync-wave"
	argoOptions = "argocd.argoproj.io/sync-options"

	fluxPrune      = "kustomize.toolkit.fluxcd.io/prune"
	fluxSubstitute = "kustomize.toolkit.fluxcd.io/substitute"
	fluxSSA        = "kustomize.toolkit.fluxcd.io/ssa"
)

type groupKind struct{ group, kind string }

var (
	crd         = groupKind{"apiextensions.k8s.io", "CustomResourceDefinition"}
	namespace   = groupKind{"", "Namespace"}
	clusterRole = groupKind{"rbac.authorization.k8s.io", "ClusterRole"}
)

// waves are the sync waves of Argo CD. A kind that is not listed is in wave 0, which is not written. Argo CD starts the
// next wave when all objects of a wave are healthy, and deletes in the opposite order (argo-cd:
// docs/user-guide/sync-waves.md). What others need comes first. What makes the API server call the operator comes when
// the operator's Deployments can answer.
var waves = map[groupKind]string{
	namespace:                                "-1",
	crd:                                      "-1",
	{"scheduling.k8s.io", "PriorityClass"}:   "-1",
	{"apiregistration.k8s.io", "APIService"}: "1",
	{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"}:   "1",
	{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"}: "1",
}

// Annotate adds what a GitOps engine needs to know, and touches no other object.
//
// Argo CD gets the wave of what is not in wave 0, Prune=false on CRDs and Namespaces, and ServerSideApply=true on what
// client-side apply cannot store and on aggregated ClusterRoles. Flux gets prune: disabled on CRDs and Namespaces, and
// substitute: disabled on every object that its variable substitution would change. A ClusterServiceVersion that
// server-side apply refuses gets ServerSideApply=false, and Replace=true if client-side apply cannot store it; Flux,
// which has only server-side apply, gets ssa: Ignore. An object keeps what it already says.
func Annotate(objects []generate.Shared, e Engine) error {
	if e == EngineNone || e == "" {
		return nil
	}
	for i := range objects {
		o := &objects[i]
		var add map[string]string
		var err error
		switch e {
		case EngineArgoCD:
			add, err = argo(o.Object)
		case EngineFlux:
			add, err = flux(o.Object)
		default:
			err = fmt.Errorf("no engine %q", string(e))
		}
		if err != nil {
			return err
		}
		if len(add) == 0 {
			continue
		}
		if o.Object, err = o.Edit(manifest.Edit{Annotations: add}); err != nil {
			return err
		}
	}
	return nil
}

// kept reports whether an engine never prunes objects of the kind: others would be deleted with them.
func kept(kind groupKind) bool { return kind == crd || kind == namespace }

func flux(o generate.Object) (map[string]string, error) {
	add := map[string]string{}
	if kept(groupKind{o.Group(), o.Kind}) {
		add[fluxPrune] = "disabled"
	}
	if slices.ContainsFunc(dollars, func(d []byte) bool { return bytes.Contains(o.Data, d) }) {
		add[fluxSubstitute] = "disabled"
	}
	if refused, err := refusedServerSide(o); err != nil {
		return nil, err
	} else if refused {
		add[fluxSSA] = "Ignore"
	}
	return add, keepOwn(add, o)
}

// dollars are the texts of a YAML document that Flux's substitution may change, which runs over the whole document
// (fluxcd/pkg: envsubst/parse/scan.go). ${ begins a variable, and $$ becomes one $. A dollar sign may be written as
// an escape, or stand before a line break that is escaped.
var dollars = [][]byte{
	[]byte("${"), []byte("$$"), []byte("$\\"), []byte(`\x24`), []byte(`\u0024`), []byte(`\U00000024`),
}

func argo(o generate.Object) (map[string]string, error) {
	kind := groupKind{o.Group(), o.Kind}
	var want []string // sync options
	if kept(kind) {
		want = append(want, "Prune=false")
	}
	refused, err := refusedServerSide(o)
	if err != nil {
		return nil, err
	}
	server, err := serverSide(o, kind)
	switch {
	case err != nil:
		return nil, err
	case refused && server:
		want = append(want, "ServerSideApply=false", "Replace=true")
	case refused:
		want = append(want, "ServerSideApply=false")
	case server:
		want = append(want, "ServerSideApply=true")
	}
	if len(want) == 0 && waves[kind] == "" {
		return nil, nil
	}
	add := map[string]string{}
	if wave := waves[kind]; wave != "" {
		add[argoWave] = wave
	}
	if err := keepOwn(add, o); err != nil {
		return nil, err
	}
	own, err := annotation(o, argoOptions)
	if err != nil {
		return nil, err
	}
	options := own
	for _, o := range want {
		options = withOption(options, o)
	}
	if options != own {
		add[argoOptions] = options
	}
	return add, nil
}

// serverSide reports whether Argo CD must apply the object server-side: one that client-side apply cannot store, and a
// ClusterRole that aggregates others. Whoever creates such a ClusterRole must hold all rights or may escalate it, and
// the right to escalate a role by its name is only found in a request that has the name in its URL (Kubernetes:
// pkg/registry/rbac/escalation_check.go).
func serverSide(o generate.Object, kind groupKind) (bool, error) {
	if kind == clusterRole && bytes.Contains(o.Data, []byte("aggregationRule")) {
		if rule, err := o.Get("aggregationRule"); err != nil || rule != nil {
			return rule != nil, err
		}
	}
	return tooLarge(o)
}

// refusedServerSide reports whether server-side apply refuses an object that the API server takes otherwise.
func refusedServerSide(o generate.Object) (bool, error) {
	if o.Kind != "ClusterServiceVersion" || o.Group() != olm.Group {
		return false, nil
	}
	x, err := o.Manifest()
	if err != nil {
		return false, err
	}
	lists, err := olm.DescriptorLists(x)
	return len(lists) > 0, err
}

// withOption adds to a list of sync options, unless the option is decided there already.
func withOption(list, option string) string {
	name, _, _ := strings.Cut(option, "=")
	for o := range strings.SplitSeq(list, ",") {
		if have, _, _ := strings.Cut(strings.TrimSpace(o), "="); have == name {
			return list
		}
	}
	if list == "" {
		return option
	}
	return list + "," + option
}

// keepOwn takes away what the object has already.
func keepOwn(add map[string]string, o generate.Object) error {
	for key := range add {
		own, err := annotation(o, key)
		if err != nil {
			return err
		}
		if own != "" {
			delete(add, key)
		}
	}
	return nil
}

func annotation(o generate.Object, key string) (string, error) {
	annotations, err := annotationsOf(o)
	s, _ := annotations[key].(string)
	return s, err
}

func annotationsOf(o generate.Object) (map[string]any, error) {
	v, err := o.Get("metadata", "annotations")
	annotations, _ := v.(map[string]any)
	return annotations, err
}

// Client-side apply stores the whole object as JSON in the annotation last-applied-configuration (kubectl:
// pkg/util/apply.go). All annotations of an object together have a limit (apimachinery:
// pkg/api/validation/objectmeta.go), and the object's own count twice. Some room is for what Argo CD adds: its
// tracking label or annotation, and the annotations of this package.
const (
	annotationLimit = 262_144
	roomForApply    = 2_048
	jsonPerByte     = 8 // what a byte of YAML becomes at most
)

// tooLarge reports whether the API server would refuse the object after client-side apply. Only a large one is decoded.
func tooLarge(o generate.Object) (bool, error) {
	if len(o.Data)*(jsonPerByte+1) <= annotationLimit-roomForApply && !bytes.ContainsRune(o.Data, '&') { // no anchors
		return false, nil
	}
	x, err := o.Manifest()
	if err != nil {
		return false, err
	}
	annotations, err := annotationsOf(o)
	if err != nil {
		return false, err
	}
	limit := annotationLimit - roomForApply
	for key, value := range annotations {
		s, _ := value.(string)
		limit -= len(key) + len(s)
	}
	switch {
	case x.ReprintReason != "":
	case budget.AsJSON(o.Data) <= int64(limit):
		return false, nil
	case leastAsJSON(o.Data) > limit:
		return true, nil
	}
	v, err := x.Value()
	if err != nil {
		return false, err
	}
	data, err := json.Marshal(v)
	return len(data) > limit, err
}

// leastAsJSON returns a size that the JSON of a text of YAML has at least: its words, without the marks of YAML.
func leastAsJSON(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		words := bytes.Trim(line, " \n")
		if len(words) == 0 || words[0] == '#' {
			continue
		}
		n += len(words) - bytes.Count(words, []byte("'")) - bytes.Count(words, []byte(`\`)) - 3
		if i := bytes.Index(words, []byte(" #")); i >= 0 {
			n -= len(words) - i
		}
	}
	return n
}
