package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// conditions returns what a release of OLM v1 says of a ClusterExtension that the API server takes (of each tag of
// operator-controller: controllers/common_controller.go and clusterextension_reconcile_steps.go).
func (e *PlayedExtension) conditions(r versions.Release) []Condition {
	does := func(behavior string) bool { _, does := r.Does(behavior); return does }
	installed := Condition{"Installed", "True", "Succeeded", ""}
	progressing := Condition{"Progressing", "True", "Retrying", e.Refused}
	switch {
	case e.Unknown != "" || e.untaken != "" || e.asked.Check() != nil || e.noAccount && !does(versions.NamesAccount):
		return nil
	case e.noAccount && does(versions.ValidatesAccount):
		says := "operation cannot proceed due to the following validation error(s): " + e.Refused
		return []Condition{{"Installed", "Unknown", "Failed", says}, {"Progressing", "True", "Retrying", says}}
	case e.noAccount:
		progressing.Message = "installation cannot proceed due to missing ServiceAccount"
		return []Condition{{"Installed", "Unknown", "Failed",
			e.Refused + ": unable to authenticate with the Kubernetes cluster."}, progressing}
	case e.Refused != "" && e.fresh():
		installed = Condition{"Installed", "False", "Failed", "No bundle installed"}
	case e.extension != nil && e.extension.Choice.Bundle.Image != "":
		installed.Message = "Installed bundle " + e.extension.Choice.Bundle.Image + " successfully"
	}
	switch {
	case e.Refused == "" && does(versions.DesiredState):
		progressing.Reason, progressing.Message = "Succeeded", "Desired state reached"
	case e.Refused == "":
		progressing.Reason, progressing.Message = "Succeeded", "desired state reached"
	case e.ours:
		progressing.Message = "" // OLM v1 has other words
	case e.chosen != nil && does(versions.NamesBundle):
		progressing.Message = fmt.Sprintf("error for resolved bundle %q with version %q: %s", e.chosen.Name,
			e.chosen.Version, e.Refused)
	case e.chosen != nil:
		progressing.Message = fmt.Sprintf("%s for resolved bundle %q with version %q", e.Refused, e.chosen.Name,
			e.chosen.Version)
	}
	invalid := strings.HasPrefix(e.Refused, "invalid ClusterExtension configuration: ") ||
		strings.HasPrefix(e.Refused, "invalid deploymentConfig: ")
	if invalid && does(versions.BlocksInvalid) { // no other try mends it (applier/provider.go)
		progressing.Status, progressing.Reason = "False", "InvalidConfiguration"
	}
	return append([]Condition{installed, progressing}, e.deprecations(does(versions.JudgesInstalled))...)
}

// deprecations returns what OLM v1 says of what the catalog deprecates: of what is installed (own), or in older
// releases of what is chosen (operator-controller: controllers/clusterextension_controller.go, SetDeprecationStatus).
func (e *PlayedExtension) deprecations(own bool) (list []Condition) {
	name := e.Bundle
	if own && e.Refused != "" {
		if name = ""; e.asked.Installed != nil {
			name = e.asked.Installed.Name
		}
	}
	texts, known := e.asked.against(name, own)
	if !known || e.chosen == nil && !own && e.object.Has("status") {
		return nil // in older releases they stay as they are if the catalog has no answer
	}
	for _, d := range []struct{ of, schema, about string }{{"PackageDeprecated", olm.SchemaPackage, "package "},
		{"ChannelDeprecated", olm.SchemaChannel, "channel "}, {"BundleDeprecated", olm.SchemaBundle, "bundle "},
		{"Deprecated", "", ""}} {
		c := Condition{d.of, "True", "Deprecated", texts[d.schema]}
		switch {
		case own && d.schema == olm.SchemaBundle && name == "":
			c = Condition{d.of, "Unknown", "Absent", "no bundle installed yet"}
		case own && e.chosen == nil:
			c = Condition{d.of, "Unknown", "DeprecationStatusUnknown",
				"deprecation status unknown: catalog data unavailable"}
		case e.chosen == nil: // ensureAllConditionsWithReason
			c = Condition{d.of, "False", "Failed", e.Refused}
		case own && c.Message == "":
			c = Condition{d.of, "False", "NotDeprecated", d.about + "not deprecated"}
		case c.Message == "":
			c.Status = "False"
		case own || d.schema == "":
			c.Message = c.Message[1:] // in older releases the others begin with a line break
		}
		list = append(list, c)
	}
	return list
}

// against returns what is deprecated, by schema, and all of it; each text after a separator. It is not known if several
// catalogs have the package: chance decides which one OLM v1 asks.
func (q *Asked) against(bundle string, own bool) (texts map[string]string, known bool) {
	var list []catalog.Deprecation
	texts, having, separator := map[string]string{}, 0, map[bool]string{true: "\n", false: ";"}[own]
	for _, s := range q.Sources {
		if p := s.Catalog.Packages[q.Package]; p != nil {
			having, list = having+1, append(list, p.Deprecations...)
		}
	}
	for _, schema := range []string{olm.SchemaPackage, olm.SchemaChannel, olm.SchemaBundle} {
		for _, x := range list {
			channel := slices.Contains(q.Channels, x.Name) || own && len(q.Channels) == 0
			if x.Schema == schema && (schema == olm.SchemaPackage || schema == olm.SchemaChannel && channel ||
				schema == olm.SchemaBundle && x.Name == bundle) {
				texts[schema] += "\n" + x.Message
				texts[""] += separator + x.Message
			}
		}
	}
	return texts, having < 2 || len(list) == 0
}
