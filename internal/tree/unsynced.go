package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Annotations with which Argo CD orders what it applies (argoproj/argo-cd: gitops-engine/pkg/sync/common/types.go).
const (
	argoHook = "argocd.argoproj.io/hook"
	argoWave = "argocd.argoproj.io/sync-wave"

	argoOptions = "argocd.argoproj.io/sync-options"

	argoFinalizer = "resources-finalizer.argocd.argoproj.io"
)

// What keeps an object from being pruned.
const (
	fluxPrune = "kustomize.toolkit.fluxcd.io/prune"
	noPrune   = "Prune=false"
)

// turn is when Argo CD applies an object: its phase and its wave, which end before the next one begins
// (gitops-engine/pkg/sync/sync_tasks.go).
type turn struct{ phase, wave int }

func (t turn) before(u turn) bool {
	return cmp.Or(cmp.Compare(t.phase, u.phase), cmp.Compare(t.wave, u.wave)) < 0
}

// turnOf returns when Argo CD applies an object; false if it leaves it out, or if helm's hooks say when.
func turnOf(o *manifest.Object) (t turn, known bool) {
	annotations := olm.Mapping(olm.Get(o, "metadata", "annotations"))
	hooks := strings.Split(strings.ReplaceAll(olm.Text(annotations[argoHook]), " ", ""), ",")
	switch {
	case slices.Contains(hooks, "PreSync"):
		t.phase = -1
	case hooks[0] != "" && !slices.Contains(hooks, "Sync"):
		t.phase = 1
	}
	t.wave, _ = strconv.Atoi(olm.Text(annotations[argoWave])) // what is no number is none
	return t, !skips(o) && annotations["helm.sh/hook"] == nil
}

// skips reports whether Argo CD applies an object never.
func skips(o *manifest.Object) bool {
	return olm.Text(olm.Get(o, "metadata", "annotations", argoHook)) == "Skip"
}

func syncOptions(o *manifest.Object) []string {
	own := olm.Text(olm.Get(o, "metadata", "annotations", argoOptions))
	return strings.Split(strings.ReplaceAll(own, " ", ""), ",")
}

// Keeps returns why an object stays in the cluster when the root has it no more; "" if what applies the root deletes
// it. there reports whether that is there still (fluxcd/kustomize-controller:
// internal/controller/kustomization_controller.go, prune; argoproj/argo-cd: gitops-engine/pkg/sync/sync_context.go,
// pruneObject, controller/appcontroller.go, autoSync, finalizeApplicationDeletion; helm: pkg/kube, ResourcePolicyAnno).
func (r Root) Keeps(o *manifest.Object, there bool) string {
	kind := cmp.Or(r.by, &manifest.Object{}).Kind
	has := func(in, key, value string) bool { return olm.Text(olm.Get(o, "metadata", in, key)) == value }
	switch {
	case kind == "Kustomization" && olm.Get(r.by, "spec", "prune") == false:
		return "spec.prune: false of " + r.by.Identity()
	case kind != "HelmRelease" && !isArgo(r.by) &&
		(has("annotations", fluxPrune, "disabled") || has("labels", fluxPrune, "disabled")):
		return fluxPrune + ": disabled"
	case (r.by == nil || isArgo(r.by)) && slices.Contains(syncOptions(o), noPrune):
		return argoOptions + ": " + noPrune
	case kind == "HelmRelease" && has("annotations", "helm.sh/resource-policy", "keep"):
		return "helm.sh/resource-policy: keep"
	case !isArgo(r.by):
		return ""
	case there:
		if prune, automated := r.automated(); automated && !prune {
			return "the automated sync of " + r.by.Identity() + " does not prune"
		}
	case kind == "ApplicationSet" && olm.Get(r.by, "spec", "syncPolicy", "preserveResourcesOnDeletion") == true:
		return "preserveResourcesOnDeletion of " + r.by.Identity()
	case kind == "Application" && !slices.ContainsFunc(olm.Items(olm.Get(r.by, "metadata", "finalizers")),
		func(v any) bool { return strings.HasPrefix(olm.Text(v), argoFinalizer) }):
		return r.by.Identity() + " goes without the finalizer " + argoFinalizer
	}
	return ""
}

// automated reports whether Argo CD syncs the root without somebody who asks, and whether it prunes then.
func (r Root) automated() (prune, automated bool) {
	spec := olm.Get(r.by, "spec")
	if r.by.Kind == "ApplicationSet" {
		spec = olm.Get(r.by, "spec", "template", "spec")
	}
	policy, is := olm.Mapping(olm.Mapping(spec)["syncPolicy"])["automated"].(map[string]any)
	return policy["prune"] != nil && policy["prune"] != false, is && policy["enabled"] != false
}

// By names what applies the root: an object of an engine, or an Application that it generates; "" for nothing.
func (r Root) By() string {
	switch {
	case r.by == nil:
		return ""
	case r.node != nil && r.node.app != "":
		return "Application " + r.node.app + " of " + r.by.Identity()
	}
	return r.by.Identity()
}

// prunes reports whether what applies the root deletes what the root has no more, without asking anybody.
func (r Root) prunes() bool {
	if isArgo(r.by) {
		prune, automated := r.automated()
		return prune && automated
	}
	return r.by != nil && olm.Get(r.by, "spec", "prune") == true
}

// Races returns why an object may be deleted that moves from the root to another one; "" if what applies that one is
// first, or the object stays. What is applied there first has the labels or annotations of its new owner, and is not
// deleted (fluxcd/kustomize-controller: prune, GetOwnerLabels; argoproj/argo-cd: util/argo/resource_tracking.go).
// there reports whether what applies the root is there still: an Application that goes deletes without prune.
func (r Root) Races(o *manifest.Object, there bool, to Root) string {
	if r.by == nil || to.by == nil || to.by.Kind != r.by.Kind || !r.prunes() && (there || !isArgo(r.by)) ||
		r.Keeps(o, there) != "" {
		return ""
	}
	for _, v := range olm.Items(olm.Get(r.by, "spec", "dependsOn")) {
		d := olm.Mapping(v)
		if d["name"] == to.by.Name && cmp.Or(olm.Text(d["namespace"]), r.by.Namespace) == to.by.Namespace {
			return ""
		}
	}
	mark := fluxPrune + ": disabled"
	if isArgo(r.by) {
		mark = argoOptions + ": " + noPrune
	}
	does := "prunes"
	if !there {
		does = "goes"
	}
	return fmt.Sprintf("moves from %s, which %s, to %s, and is deleted if %s comes first: before the move, "+
		"annotate it with %s", r.By(), does, to.By(), r.By(), mark)
}

func isArgo(o *manifest.Object) bool { return o != nil && o.Group() == "argoproj.io" }

// Unsynced returns which objects of OLM an Application leaves out, and which Namespaces it would make after what is in
// them. Of a Namespace that the Application makes before all else, the order does not matter.
func (r Root) Unsynced() (list []*manifest.Error) {
	n := r.node
	if n == nil || !n.argo {
		return nil
	}
	first := map[string]*manifest.Object{} // of the objects in a namespace
	for _, o := range n.objects {
		if skips(o) && (o.Group() == olm.Group || o.Group() == olm.GroupV1) {
			list = append(list, o.Errorf("", "%s: Argo CD never applies it, because of %s: Skip",
				o.Identity(), argoHook))
		}
		was, is := first[o.Namespace]
		if at, known := turnOf(o); known && o.Namespace != "" {
			if before, _ := turnOf(cmp.Or(was, o)); !is || at.before(before) {
				first[o.Namespace] = o
			}
		}
	}
	for _, o := range n.objects {
		in := first[o.Name]
		if o.Group() != "" || o.Kind != "Namespace" || in == nil || slices.Contains(n.makes, o.Name) {
			continue
		}
		at, known := turnOf(o)
		if before, _ := turnOf(in); known && before.before(at) {
			list = append(list, o.Errorf("", "%s: on a new cluster Argo CD does not come to it: "+
				"it first applies %s, which is in it, and fails", o.Identity(), in.Identity()).
				With("give it an earlier "+argoWave))
		}
	}
	return list
}

// Blocked returns an error about a custom resource of the root whose CRD comes with another object of it: on a cluster
// that lacks the CRD, the engine applies neither, as it asks the API server about all objects first (argoproj/argo-cd:
// gitops-engine/pkg/sync/sync_context.go, getSyncTasks; fluxcd/pkg: ssa/manager_apply.go, ApplyAll; helm:
// pkg/action/install.go, RunWithContext). It returns nil if the engine asks about each object alone, or goes on.
func (r Root) Blocked(x, with *manifest.Object) *manifest.Error {
	const option = "SkipDryRunOnMissingResource=true"
	var hint string
	switch by := r.by; {
	case r.node.argo:
		if slices.Contains(append(syncOptions(x), r.node.sync...), option) {
			return nil
		}
		hint = "annotate it with " + argoOptions + ": " + option + ", and with a later " + argoWave
	case strings.HasSuffix(by.Group(), ".toolkit.fluxcd.io"):
		hint = "give it a " + by.Kind + " of its own that depends on this one (spec.dependsOn)"
	default:
		return nil
	}
	return x.Errorf("", "on a new cluster %s applies nothing: the CRD of this %s comes with %s, which it has too",
		r.by.Identity(), x.Kind, with.Identity()).With(hint)
}
