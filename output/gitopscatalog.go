package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// anyChannel is the channel of the Subscription in a base (redhat-cop/gitops-catalog:
// web-terminal/operator/base/subscription.yaml).
const anyChannel = "patch-me-see-overlays-dir"

// gitopsCatalog lays out objects as redhat-cop/gitops-catalog does (CONTRIBUTING.md). <name>-operator/operator/base
// has one file for each object, overlays/<channel> has what depends on the channel, which is required. Each operator is
// built on its own, so each has the objects that several share.
func (t Tree) gitopsCatalog() (Files, error) {
	var files Files
	taken := map[string]string{}
	own := t.perOperator()
	for i, o := range t.Operators {
		dir := catalogDirectory(o)
		if other, ok := taken[fold(dir)]; ok {
			return nil,
				refuse("give one of them another name", "the operators %s and %s would both be in the directory %s",
					other, o.Name, dir)
		}
		taken[fold(dir)] = o.Name
		more, err := t.catalogEntry(dir+"/operator/", o, own[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		files = append(files, more...)
	}
	return files, nil
}

func catalogDirectory(o Operator) string {
	return strings.TrimSuffix(segment(escape(o.Name)), "-operator") + "-operator"
}

func (t Tree) catalogEntry(dir string, o Operator, objects []generate.Shared) (Files, error) {
	objects = slices.Clone(objects)
	overlay := views.ChannelKustomization{Channel: o.Channel, Resources: []string{"../../base"}}
	changed := -1
	for i, x := range objects {
		if !isOLM(x.Object, v1alpha1.SubscriptionKind) || overlay.Name != "" {
			continue
		}
		channel, open, err := openChannel(x.Object, o.Package)
		if err != nil {
			return nil, err
		}
		if channel != "" {
			objects[i].Object, changed = open, i
			overlay.Channel, overlay.Name, overlay.Namespace = channel, x.Name, x.Namespace
		}
	}
	if overlay.Channel == "" {
		return nil,
			refuseOption(option.Channel, "name one",
				"the layout %s has an overlay for the channel, and the bundle is in none", LayoutGitOpsCatalog)
	}
	files, err := t.directory(dir+"base/", objects, unique(objects, func(x generate.Object) string {
		switch { // bases of the catalog use these names
		case isOLM(x, v1alpha1.SubscriptionKind) && x.Namespace == overlay.Namespace && x.Name == overlay.Name:
			return "subscription"
		case x.Kind == "Namespace" && x.Group() == "" && x.Name == o.Namespace:
			return "namespace"
		case isOLM(x, "OperatorGroup") && x.Namespace == o.Namespace:
			return "operator-group"
		}
		return stem(x, o.Namespace)
	}))
	if err != nil {
		return nil, err
	}
	if changed >= 0 {
		files[changed].Object = ID{} // its channel is in the overlay
	}
	more, err := t.channelOverlay(dir+"overlays/"+segment(escape(overlay.Channel))+"/", overlay)
	return append(files, more...), err
}

// openChannel returns the channel of a Subscription to a package, and the Subscription with anyChannel in its place.
// The channel is empty if the Subscription is to another package, or has none.
func openChannel(x generate.Object, pkg string) (string, generate.Object, error) {
	name, err := x.Get("spec", "name")
	if err != nil {
		return "", x, err
	}
	v, err := x.Get("spec", "channel")
	channel, _ := v.(string)
	if err != nil || name != pkg || channel == "" {
		return "", x, err
	}
	x, err = x.Edit(manifest.Edit{Spec: map[string]any{"channel": anyChannel}})
	return channel, x, err
}

func (t Tree) channelOverlay(dir string, v views.ChannelKustomization) (Files, error) {
	kustomization, err := t.Templates.Execute("kustomization-channel.yaml", v)
	if err != nil {
		return nil, err
	}
	files := Files{{Path: dir + kustomizationName, Data: kustomization}}
	if v.Name == "" {
		return files, nil
	}
	patch, err := t.Templates.Execute("patch-channel.yaml", v)
	return append(files, File{Path: dir + "patch-channel.yaml", Data: patch}), err
}
