package predict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/cluster"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// PlayedExtension is a ClusterExtension after OLM v1 has processed it.
type PlayedExtension struct {
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Bundle  string `json:"bundle,omitempty"` // that OLM v1 chooses; empty if it finds none
	Catalog string `json:"catalog,omitempty"`
	Refused string `json:"refused,omitempty"` // why OLM v1 does not install it, in its words as far as it has some
	Unknown string `json:"unknown,omitempty"` // why nobody can say

	object    *manifest.Object
	extension *Extension
	operator  *fit.Operator
	unfit     bool     // it is refused by a rule of package fit
	partial   string   // why only what the catalog says of the operator is known
	owns      []string // what OLM v1 makes of the bundle, as keyOf names it
}

// state returns what OLM v1 does, for a person.
func (e *PlayedExtension) state() string {
	switch {
	case e.Refused != "":
		return "OLM v1 does not install it: " + e.Refused
	case e.Unknown != "":
		return "unknown: " + e.Unknown
	}
	return fmt.Sprintf("OLM v1 installs %s from catalog %s", e.Bundle, e.Catalog)
}

// playExtensions plays OLM v1 on the ClusterExtensions: it resolves, renders, and creates what nobody else owns.
func (c *prediction) playExtensions(ctx context.Context, o Options, objects []*manifest.Object) error {
	for _, x := range ofOLMv1(objects, olm.KindClusterExtension) {
		e := &PlayedExtension{Cluster: c.clusterName, Name: x.Name, File: x.File, Line: x.Line, object: x}
		c.extensions = append(c.extensions, e)
		chosen, err := extensionOf(x, objects, o.Catalogs)
		switch refusal, refused := errors.AsType[*extension.Refusal](err); {
		case refused:
			e.Refused = refusal.Text
		case err != nil:
			e.Unknown = text.OneLine(err.Error())
		default:
			e.extension, e.Bundle, e.Catalog = chosen, chosen.Name, chosen.Catalog
			if err := e.open(ctx, o); err != nil {
				return err
			}
		}
		if !e.unfit || !o.Target.Known() { // judgeTarget says so
			c.noteExtension(e)
		}
	}
	c.judgeOwnership(o, objects)
	return nil
}

// open reads the bundle, and finds why OLM v1 does not install it. The error is that of ctx.
func (e *PlayedExtension) open(ctx context.Context, o Options) error {
	if o.Bundles == nil && !o.Target.Known() {
		return nil
	}
	operator, partial, err := openedOr(ctx, e.extension.Choice, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		e.Unknown = text.OneLine(err.Error())
		return nil
	}
	if e.extension.WatchNamespace != "" {
		operator.Mode = v1alpha1.InstallModeTypeSingleNamespace
	}
	e.operator, e.partial = &operator, partial
	for _, crd := range operator.CSV.Spec.CustomResourceDefinitions.Owned {
		e.owns = append(e.owns, keyOf("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", crd.Name))
	}
	release := o.Target.Controllers()[0]
	config, _ := release.State(olm.KindClusterExtension, versions.FieldConfig, versions.Experimental)
	if _, own := release.Does(versions.DefaultsToOwn); config != versions.Absent && !own {
		err := olmv1.CheckWatchNamespace(operator.CSV, e.extension.WatchNamespace, e.extension.Namespace)
		if err != nil {
			e.Refused = err.Error()
			return nil //nolint:nilerr // the report says so
		}
	}
	for _, f := range fit.Findings(operator, fit.OLMv1, fit.Cluster{Controller: o.Target.Controller,
		OpenShift: o.Target.OpenShift}) {
		if f.Level == findings.Error && slices.Contains(refusals, f.Rule) {
			e.Refused, e.unfit = f.Message, true
			return nil
		}
	}
	if partial != "" {
		return nil
	}
	options := olmv1.Options{Namespace: e.extension.Namespace, Certs: olmv1.CertManager,
		Release: release.Number()}
	if e.extension.WatchNamespace != "" {
		options.TargetNamespaces = []string{e.extension.WatchNamespace}
	}
	made, err := olmv1.Render(operator.Bundle, options)
	if err != nil {
		e.Refused = text.OneLine(err.Error())
	}
	for _, x := range made {
		e.owns = append(e.owns, keyOf(x.APIVersion, x.Kind, x.Namespace, x.Name))
	}
	return nil
}

// refusals are the rules about what OLM v1 refuses whatever else is in the cluster.
var refusals = []string{fit.RuleServices.ID, fit.RuleModes.ID, fit.RuleWebhooks.ID, fit.RuleKinds.ID,
	fit.RuleDependencies.ID, fit.RuleRenderer.ID}

// hint returns what makes known what is installed: if its name is, the catalog is.
func (e *PlayedExtension) hint() string {
	if e.Bundle != "" {
		return ""
	}
	return passCatalog
}

func (c *prediction) noteExtension(e *PlayedExtension) {
	switch {
	case e.Refused != "" && e.Bundle == "":
		c.note(ruleExtension, findings.Error, e.object, "spec.source", "OLM v1 installs nothing: "+e.Refused, "")
	case e.Refused != "":
		c.note(ruleExtension, findings.Error, e.object, "", "OLM v1 does not install "+e.Bundle+": "+e.Refused, "")
	case e.Unknown != "":
		c.note(ruleExtensionUnknown, findings.Note, e.object, "spec.source", "what it installs is not checked: "+
			e.Unknown, e.hint())
	case e.partial != "":
		c.note(ruleExtensionUnknown, findings.Note, e.object, "spec.source", fmt.Sprintf("of %s, only what the "+
			"catalog says of it is checked: %s", e.Bundle, text.OneLine(e.partial)), "")
	}
}

// judgeOwnership reports objects of bundles that something else in the tree makes: another ClusterExtension, or
// whoever applies the tree. OLM v1 takes none of them over (operator-controller:
// docs/concepts/single-owner-objects.md; internal/operator-controller/applier/boxcutter.go,
// CollisionProtectionPrevent).
func (c *prediction) judgeOwnership(o Options, objects []*manifest.Object) {
	owners := map[string]*PlayedExtension{}
	list := slices.Clone(c.extensions)
	slices.SortStableFunc(list, func(a, b *PlayedExtension) int { // what is installed owns its objects
		return lists.TrueFirst(b.fresh(), a.fresh())
	})
	for _, e := range list {
		if e.Refused != "" {
			continue
		}
		taken := map[*PlayedExtension][]string{}
		for _, key := range e.owns {
			switch by := owners[key]; by {
			case nil:
				owners[key] = e
			case e:
			default:
				taken[by] = append(taken[by], shown(key))
			}
		}
		for _, by := range list {
			if names := taken[by]; len(names) > 0 && e.fresh() {
				e.Refused = fmt.Sprintf("ClusterExtension %s owns %s", by.Name, text.FirstOf(3, names))
				c.note(ruleCollision, findings.Error, e.object, "", fmt.Sprintf("OLM v1 does not install %s: %s",
					e.Bundle, e.Refused), "an object has one owner: remove one of the two")
				break
			}
		}
	}
	if len(owners) == 0 {
		return
	}
	for _, x := range objects {
		key := cluster.Key(x, o.Namespace)
		e := owners[key]
		// OLM v1 has made it for a ClusterExtension (operator-controller:
		// internal/operator-controller/labels/labels.go)
		made, _ := x.Get("metadata", "labels", olm.GroupV1+"/owner-kind")
		if e == nil || made == olm.KindClusterExtension && x.Has("metadata", "labels", olm.GroupV1+"/owner-name") {
			continue
		}
		level, says := findings.Error, "OLM v1 does not install "+e.Bundle
		if !e.fresh() {
			level, says = findings.Warning, "OLM v1 and whoever applies the tree undo what the other does"
		} else if e.Refused == "" {
			e.Refused = shown(key) + " exists"
		}
		hint := "remove it from the tree"
		if key == keyOf("v1", "ServiceAccount", e.extension.Namespace, e.extension.Account) {
			hint = "give the account of spec.serviceAccount another name"
		}
		c.note(ruleCollision, level, x, "metadata.name", fmt.Sprintf("ClusterExtension %s: %s: its bundle has this "+
			"object too, and OLM v1 takes over none that somebody else has made", e.Name, says), hint)
	}
}

// fresh reports whether OLM v1 has installed no bundle yet for the ClusterExtension.
func (e *PlayedExtension) fresh() bool { return !e.object.Has("status", "install") }

// keyOf returns what an object is to the API server, whatever its version.
func keyOf(apiVersion, kind, namespace, name string) string {
	return strings.Join([]string{manifest.GroupOf(apiVersion), kind, namespace, name}, "/")
}

func shown(key string) string {
	parts := strings.SplitN(key, "/", 4)
	return parts[1] + " " + strings.TrimPrefix(parts[2]+"/"+parts[3], "/")
}

// openedOr is opened, and if the bundle cannot be fetched what the catalog says of it.
func openedOr(ctx context.Context, choice catalog.Choice, o Options) (operator fit.Operator, partial string,
	err error) {
	var options catalog.Options
	if o.Bundles != nil {
		options = *o.Bundles
	}
	options.Metadata = true
	operator, partial, err = opened(ctx, choice, options)
	if err == nil || ctx.Err() != nil {
		return operator, partial, err
	}
	options.Source.Offline = true
	if known, _, again := opened(ctx, choice, options); again == nil {
		return known, err.Error(), nil
	}
	return operator, "", err
}
