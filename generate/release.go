package generate

import (
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// releases returns the releases that must take what is rendered; none if the options name none.
func (o Options) releases() (list []versions.Release, err error) {
	for _, given := range []struct {
		option Option
		of     versions.Product
		text   string
	}{{OptionOLMVersion, versions.OperatorController, o.OLMVersion}, {OptionOpenShiftVersion, versions.OpenShift,
		o.OpenShiftVersion}} {
		if given.text == "" {
			continue
		}
		r, err := versions.Parse(given.of, given.text)
		if err != nil {
			return nil, refuseOption(given.option, manifest.HintOf(err), "%v", err)
		}
		list = append(list, r)
	}
	return list, nil
}

// newest is the release that is rendered for if the options name none.
func newest() versions.Release {
	list := versions.Releases(versions.OperatorController)
	return list[len(list)-1]
}

const (
	fieldAccount = "spec.serviceAccount"
	fieldConfig  = "spec.config"
)

// fitRelease refuses a ClusterExtension that the releases of the options do not take, and warns of what depends on the
// feature set of the cluster. Without such options it notes which releases do not take it.
func (r *rendering) fitRelease(config map[string]any) error {
	o := r.options
	releases, err := o.releases()
	if err != nil {
		return err
	}
	if len(releases) == 0 {
		releases = append(releases, newest())
		if refusing := requiring(fieldAccount); o.ServiceAccount == "" && refusing != "" {
			r.note("%s refuse the ClusterExtension: it names no ServiceAccount", refusing)
		}
	}
	for _, release := range releases {
		state, fact := release.State(olm.KindClusterExtension, fieldAccount, versions.Standard)
		switch {
		case state == versions.Required && o.ServiceAccount == "":
			return refuseOption(OptionServiceAccount,
				"name the ServiceAccount that installs the operator, and give it the rights for that",
				"%s requires %s (%s)", release, fieldAccount, fact.Source)
		case state == versions.Ignored && o.ServiceAccount != "":
			r.note("%s ignores %s", release, fieldAccount)
		}
		if err := r.fitConfig(release, config); err != nil {
			return err
		}
	}
	return nil
}

// fitConfig is fitRelease for the install mode and the deployment config. Their feature gates are another matter: no
// fact is about them.
func (r *rendering) fitConfig(release versions.Release, config map[string]any) error {
	if len(config) == 0 {
		return nil
	}
	state := func(set versions.Set) versions.State {
		s, _ := release.State(olm.KindClusterExtension, fieldConfig, set)
		return s
	}
	switch {
	case state(versions.Standard) != versions.Absent:
	case state(versions.Experimental) != versions.Absent:
		r.warnInstallation("%s has %s only in its experimental CRDs", release, fieldConfig)
	default:
		return refuse("choose AllNamespaces and leave the config out, or the profile plain, which needs no OLM",
			"%s has no %s, which says the install mode and the deployment config", release,
			fieldConfig).with(OptionInstallMode, OptionProfile)
	}
	return nil
}

// requiring returns the releases that require a field of ClusterExtensions, empty if there are none.
func requiring(field string) string {
	var list []string
	for _, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
		for _, s := range versions.Spans(of, olm.KindClusterExtension, field, versions.Standard) {
			if s.State == versions.Required {
				list = append(list, s.String())
			}
		}
	}
	return strings.Join(list, " and ")
}
