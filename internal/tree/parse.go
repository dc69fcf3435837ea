package tree

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/manifest"
)

const (
	templated = "a template: read its rendered output instead"
	noObject  = "not a Kubernetes object: apiVersion, kind or name is missing"
)

// parse returns the objects of a file.
func (f file) parse(data []byte, limits manifest.Limits) result {
	docs, err := manifest.ReadFile(f.name, data, limits)
	if err != nil {
		return f.refused(data, err)
	}
	var r result
	if len(docs) == 0 {
		r.stray = &manifest.Error{File: f.name, Msg: "empty"}
	}
	for _, d := range docs {
		if d.Root == nil {
			continue // only comments
		}
		if d.Root.Kind != yaml.MappingNode && !f.all {
			r.addStray(d.Line + d.Root.Line - 1)
			continue // a list of values
		}
		if f.kustomization(d) {
			continue
		}
		objects, err := d.Objects()
		if err != nil {
			return f.refused(data, err)
		}
		if len(objects) == 0 && !isEmptyList(d) {
			r.addStray(d.Line + d.Root.Line - 1)
			if bytes.Contains(data, []byte("clusterGroup:")) {
				r.templated = append(r.templated, patternSubscriptions(d)...)
			}
		}
		for _, o := range objects {
			if strings.Contains(o.Name, "{{") || strings.Contains(o.Namespace, "{{") {
				return f.refused(data, o.Errorf("metadata", templated))
			}
			if isObject(o) || f.all && o.Group() != kustomizeGroup {
				r.objects = append(r.objects, o)
			} else if o.Group() != kustomizeGroup {
				r.addStray(o.Line)
			}
		}
	}
	if r.count > 0 {
		r.stray = &manifest.Error{File: f.name, Line: r.line, Msg: noObject}
	}
	if r.count > 1 {
		r.stray.Msg += ", also in " + text.Count(r.count-1, "document") + " below"
	}
	return r
}

// patternSubscriptions returns where the values of a validated pattern have Subscriptions
// (validatedpatterns/clustergroup-chart: templates/core/subscriptions.yaml).
func patternSubscriptions(d *manifest.Document) []*manifest.Error {
	v, err := d.Value()
	group := mapping(mapping(v)["clusterGroup"])
	if err != nil || len(mapping(group["subscriptions"]))+len(items(group["subscriptions"])) == 0 {
		return nil
	}
	return []*manifest.Error{d.Errorf("clusterGroup.subscriptions",
		"olmgen does not render the chart that makes Subscriptions of these values")}
}

func isEmptyList(d *manifest.Document) bool {
	o, err := d.Object()
	return err == nil && o.Kind != ""
}

// addStray counts a document that is no object, and keeps the line of the first.
func (r *result) addStray(line int) {
	if r.count++; r.count == 1 {
		r.line = line
	}
}

// kustomization reports whether a document is that of a kustomization.yaml, which may omit its kind.
func (f file) kustomization(d *manifest.Document) bool {
	if !slices.Contains(kustomization.Names(), path.Base(f.name)) {
		return false
	}
	o, err := d.Object()
	return err == nil && (o.Kind == "" || o.Group() == kustomizeGroup)
}

const kustomizeGroup = "kustomize.config.k8s.io"

// isObject distinguishes objects that an API server stores from configuration files that only look like them.
func isObject(o *manifest.Object) bool {
	return o.APIVersion != "" && o.Name != "" && o.Group() != kustomizeGroup
}

// refused decides what an unreadable file means. A named file is an error. A directory may contain anything, so
// templates and files that do not look like a Kubernetes object are skipped with a reason.
func (f file) refused(data []byte, err error) result {
	var fault *manifest.Error
	if !errors.As(err, &fault) {
		return result{err: err}
	}
	isTemplate := bytes.Contains(data, []byte("{{")) && fault.Msg != manifest.ConflictMessage
	switch {
	case f.named && isTemplate && fault.Tip == "":
		fault.Tip = "it looks like a template: read its rendered output instead"
	case f.named:
	case isTemplate:
		return result{skipped: templated}
	case !bytes.Contains(data, []byte("apiVersion")) || !bytes.Contains(data, []byte("kind")):
		return result{skipped: "neither readable nor a Kubernetes object: " + fault.Msg}
	}
	return result{fault: fault}
}
