package transform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/generate"
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
	fluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
)

type groupKind struct{ group, kind string }

var (
	crd       = groupKind{"apiextensions.k8s.io", "CustomResourceDefinition"}
	namespace = groupKind{"", "Namespace"}
)

// waves are the sync waves of Argo CD; what is not listed is in wave 0, which is not written. Argo CD goes on to the next wave when all
// of one is healthy, and deletes in the opposite order (argo-cd: docs/user-guide/sync-waves.md). What others need is there first, CRDs
// established; what has the API server call the operator comes when the operator's Deployments can answer.
var waves = map[groupKind]string{
	namespace:                                "-1",
	crd:                                      "-1",
	{"scheduling.k8s.io", "PriorityClass"}:   "-1",
	{"apiregistration.k8s.io", "APIService"}: "1",
	{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"}:   "1",
	{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"}: "1",
}

// Annotate adds what a GitOps engine has to know: for Argo CD the wave of what is not in wave 0, ServerSideApply=true on CRDs that are
// too large for client-side apply, Prune=false on CRDs and Namespaces; for Flux, which applies server-side and in stages, only that CRDs
// and Namespaces are not pruned. No other object is touched. What an object says of these already, it keeps.
func Annotate(objects []generate.Shared, e Engine) error {
	for i := range objects {
		o := &objects[i]
		kind := groupKind{o.Group(), o.Kind}
		keep := kind == crd || kind == namespace
		if e == EngineNone || e == "" || !keep && (e != EngineArgoCD || waves[kind] == "") {
			continue
		}
		x, err := o.Manifest()
		if err != nil {
			return err
		}
		add := map[string]string{}
		switch e {
		case EngineArgoCD:
			err = argo(add, x, o.Data, kind, keep)
		case EngineFlux:
			add[fluxPrune] = "disabled"
			err = keepOwn(add, x)
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

func argo(add map[string]string, x *manifest.Object, text []byte, kind groupKind, keep bool) error {
	if wave := waves[kind]; wave != "" {
		add[argoWave] = wave
	}
	if err := keepOwn(add, x); err != nil {
		return err
	}
	own, err := annotation(x, argoOptions)
	if err != nil {
		return err
	}
	options := own
	if keep {
		options = withOption(options, "Prune=false")
	}
	if kind == crd {
		large, err := tooLarge(x, text)
		if err != nil {
			return err
		}
		if large {
			options = withOption(options, "ServerSideApply=true")
		}
	}
	if options != own {
		add[argoOptions] = options
	}
	return nil
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

// annotationLimit is what all annotations of an object may have together (apimachinery: pkg/api/validation/objectmeta.go).
const annotationLimit = 262_144

// tooLarge reports whether client-side apply, which puts the whole object as JSON into an annotation, would be refused
// (kubectl: pkg/util/apply.go). The object is only decoded if its text is near the limit.
func tooLarge(x *manifest.Object, text []byte) (bool, error) {
	if least, most := sizeAsJSON(text); x.Fresh == "" && most <= annotationLimit {
		return false, nil
	} else if x.Fresh == "" && least > annotationLimit {
		return true, nil
	}
	v, err := x.Value()
	if err != nil {
		return false, err
	}
	data, err := json.Marshal(v)
	return len(data) > annotationLimit, err
}

// sizeAsJSON bounds the size of a YAML text as JSON. Each line becomes at least its words, without the marks of YAML, and
// at most its bytes, escaped, with quotes and brackets around every value.
func sizeAsJSON(text []byte) (least, most int) {
	block := 0 // the indentation of a block of text: what is further in is text
	for line := range bytes.Lines(text) {
		words := bytes.TrimLeft(line, " ")
		indent := len(line) - len(words)
		if words = bytes.TrimRight(words, " \n"); len(words) == 0 {
			most += len(line) + 2
			continue
		}
		if block < 0 {
			block = indent
		}
		if block > 0 && indent >= block {
			most += indent - block
		} else {
			block = 0
		}
		if last := words[bytes.LastIndexByte(words, ' ')+1]; block == 0 && (last == '|' || last == '>') {
			block = -1
		}
		if words[0] != '#' {
			least += len(words) - bytes.Count(words, []byte("'")) - bytes.Count(words, []byte(`\`)) - 3
			if i := bytes.Index(words, []byte(" #")); i >= 0 {
				least -= len(words) - i
			}
		}
		most += len(words) + 10 // {"key":"value"}, and what follows
		for _, c := range words {
			switch {
			case c < ' ', c >= 0x7f, c == '<', c == '>', c == '&', c == '"', c == '\\': // \u003c
				most += 5
			case c == '{', c == '[', c == ',', c == ':', c == '-':
				most += 4
			}
		}
	}
	return least, most
}

// keepOwn takes away what the object has already.
func keepOwn(add map[string]string, x *manifest.Object) error {
	for key := range add {
		own, err := annotation(x, key)
		if err != nil {
			return err
		}
		if own != "" {
			delete(add, key)
		}
	}
	return nil
}

func annotation(x *manifest.Object, key string) (string, error) {
	v, err := x.Get("metadata", "annotations")
	if err != nil {
		return "", err
	}
	annotations, _ := v.(map[string]any)
	s, _ := annotations[key].(string)
	return s, nil
}
