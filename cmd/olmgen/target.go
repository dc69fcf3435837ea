package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/manifest"
)

// targetFlags say which releases are in the cluster that operators are for.
type targetFlags struct {
	olm             []string
	openshift, kube string
	profile         generate.Profile
	date            string
	failOn          *failOn // of a command that judges what catalogs serve; may be nil
}

// register adds the flags. Those of a command that judges bundles say how these are installed.
func (f *targetFlags) register(cmd *cobra.Command, bundles bool) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.olm, "olm-version", nil,
		"`VERSION` of OLM in the cluster: v0.x of OLM v0, v1.x of OLM v1; once each")
	flags.Func("openshift-version", "`VERSION` of OpenShift, such as 4.20", once(&f.openshift))
	flags.Func("kube-version", "`VERSION` of Kubernetes (default: that of OpenShift)", once(&f.kube))
	if bundles {
		enumFlag(cmd, &f.profile, "profile",
			"the profile that installs them, such as olm, olmv1 or plain (default: by --olm-version)",
			generate.Profiles...)
	}
}

// supportWords are the values of --fail-on that lifecycles of catalogs answer.
var supportWords = []string{strings.TrimPrefix(fit.RuleSupport.ID, fit.Prefix),
	strings.TrimPrefix(fit.RuleCompatible.ID, fit.Prefix)}

// registerDate adds the flag of the commands that judge what catalogs serve. on may be nil.
func (f *targetFlags) registerDate(cmd *cobra.Command, on *failOn) {
	f.failOn = on
	cmd.Flags().StringVar(&f.date, "date", "",
		"judge support on this `DATE`, such as 2027-01-31, by what catalogs say of it")
}

// checkDate refuses a question about support that names no date.
func (f *targetFlags) checkDate() error {
	switch {
	case f.openshift == "" && f.asks(supportWords[1]):
		return &usageError{"--fail-on " + supportWords[1] + " needs --openshift-version",
			"give the release that counts"}
	case f.date == "" && f.asks(supportWords[0]):
		return &usageError{"--fail-on " + supportWords[0] + " needs --date", "give the day that counts"}
	case f.date != "" && fit.CheckDate(f.date) != nil:
		return &usageError{"--date: " + fit.CheckDate(f.date).Error(), "write YYYY-MM-DD"}
	}
	return nil
}

// asks reports whether --fail-on names one of supportWords.
func (f *targetFlags) asks(word string) bool {
	return f.failOn != nil && slices.Contains(f.failOn.words, word)
}

// once returns what sets a text that can be given once.
func once(to *string) func(string) error {
	set := false
	return func(s string) error {
		if set {
			return fmt.Errorf("it is given twice, with %s before", *to)
		}
		*to, set = s, true
		return nil
	}
}

// checked returns the releases of the flags, none if the command does not have them.
func (f *targetFlags) checked(flags *pflag.FlagSet) (fit.Cluster, error) {
	for _, f := range []struct{ name, value string }{{"openshift-version", f.openshift}, {"kube-version", f.kube}} {
		if flags.Changed(f.name) && f.value == "" {
			return fit.Cluster{}, &usageError{"--" + f.name + " is empty", "give a version, or leave it out"}
		}
	}
	if err := f.checkDate(); err != nil {
		return fit.Cluster{}, err
	}
	return f.cluster()
}

func (f *targetFlags) cluster() (fit.Cluster, error) {
	c, err := fit.Given{OLM: f.olm, OpenShift: f.openshift, Kube: f.kube}.Read()
	c.Date, c.Platforms = f.date, f.asks(supportWords[1])
	if bad, ok := errors.AsType[*fit.InputError](err); ok {
		return c, &usageError{"--" + inputFlags[bad.Input] + ": " + err.Error(), manifest.HintOf(err)}
	}
	return c, err
}

// inputFlags are the flags that say which releases are in the cluster.
var inputFlags = map[fit.Input]string{fit.InputOLM: "olm-version", fit.InputOpenShift: "openshift-version",
	fit.InputKube: "kube-version"}

// declaredTarget returns the releases that a RenderConfig names.
func declaredTarget(c *config.Config) (fit.Cluster, error) {
	f := targetFlags{openshift: c.OpenShiftVersion, kube: c.KubeVersion}
	if c.OLMVersion != "" {
		f.olm = []string{c.OLMVersion}
	}
	return f.cluster()
}

// form returns who installs the operators.
func (f *targetFlags) form(c fit.Cluster) fit.Form {
	if f.profile != "" {
		return fit.Form(f.profile.Installer())
	}
	return c.Form()
}
