package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/signature"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

type sourceFlags struct {
	files   []string
	options *config.Flags
	source  fbc.Options
}

func (f *sourceFlags) register(cmd *cobra.Command) {
	f.options = addOptions(cmd, func(o config.Option) bool { return o.Topic == config.TopicSource })
	registerSources(cmd.Flags(), &f.source)
}

// namedSource is a source that a command reads, and what chooses the bundle in it.
type namedSource struct {
	ref     string
	options fbc.Options
	profile generate.Profile // of a RenderConfig, and the releases that it is for
	cluster fit.Cluster
}

// sources returns the sources of the arguments, or those of the RenderConfigs that -f names, and these.
func (f *sourceFlags) sources(cmd *cobra.Command, refs []string) (all []namedSource, declared []declaration,
	err error) {
	given := f.given()
	all = lists.Map(refs, func(ref string) namedSource {
		return namedSource{ref: ref, options: choiceFor(ref, refs, given)}
	})
	if len(f.files) > 0 && given.Package+given.Channel+given.Version != "" {
		return nil, nil, &usageError{"--package, --channel and --version cannot be given with -f",
			"write them into " + f.files[0]}
	}
	if declared, err = declarations(cmd, f.files); err != nil {
		return nil, nil, err
	}
	for _, d := range declared {
		target := targetFlags{openshift: d.OpenShiftVersion, kube: d.KubeVersion}
		if d.OLMVersion != "" {
			target.olm = []string{d.OLMVersion}
		}
		cluster, err := target.cluster()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d.file, err)
		}
		for _, g := range d.Groups {
			for _, b := range g.Bundles {
				o := given
				o.Package, o.Channel, o.Version = b.Package, b.Channel, b.Version
				all = append(all, namedSource{source.In(d.dir, b.Source), o, d.ProfileOf(b), cluster})
			}
		}
	}
	return all, declared, nil
}

func (f *sourceFlags) given() fbc.Options {
	o := f.source
	o.Package, _ = f.options.Text(option.Package)
	o.Channel, _ = f.options.Text(option.Channel)
	o.Version, _ = f.options.Text(option.Version)
	return o
}

// registerSources adds the flags about registries, and has the command read each catalog once.
func registerSources(flags *pflag.FlagSet, o *fbc.Options) {
	registerNetwork(flags, &o.Source)
	o.Cache = &fbc.Cache{}
}

// registerNetwork adds the flags about registries. They are not in a RenderConfig: who writes one must not be able to
// have passwords sent without TLS, or to leave out a check of signatures.
func registerNetwork(flags *pflag.FlagSet, o *source.Options) {
	flags.BoolVar(&o.Offline, "offline", false, "never use the network")
	registerInsecure(flags, o)
	flags.Func("verify-key",
		"read only images in registries that the public key in `FILE` has signed, as cosign signs; may be repeated, "+
			"and then one of the keys is enough", func(file string) error {
			data, err := readNamed(file, budget.File, "name the file of a public key")
			if err != nil {
				return err
			}
			keys, err := signature.ParseKeys(data)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			o.VerifyKeys = append(o.VerifyKeys, keys...)
			return nil
		})
	nameOnly(flags, config.TopicSource, "offline", "verify-key")
}

// registerInsecure adds the flags that change how registries are spoken to.
func registerInsecure(flags *pflag.FlagSet, o *source.Options) {
	flags.Func("insecure-registry",
		"speak to the registry `HOST` without TLS too, for example localhost:5000; may be repeated",
		func(host string) error {
			o.InsecureRegistries = append(o.InsecureRegistries, host)
			return source.ParseRegistry(host)
		})
	flags.Func("timeout", "give up on an image in a registry that is not read within `DURATION` (default 5m)",
		func(text string) (err error) {
			if o.Timeout, err = time.ParseDuration(text); err != nil || o.Timeout <= 0 {
				return fmt.Errorf("%q is not a time above zero, such as 90s or 20m", text)
			}
			return nil
		})
	nameOnly(flags, config.TopicSource, "insecure-registry", "timeout")
}

// openBundle opens a source and reads the bundle in it. It prints warnings and the digest of an image on stderr.
func openBundle(cmd *cobra.Command, ref string, o fbc.Options, read bundle.ReadOptions) (*config.Opened, error) {
	opened, err := config.Open(cmd.Context(), ref, withInput(cmd, o), read)
	if err == nil {
		sayDigest(cmd, opened)
	}
	return opened, err
}

// withInput returns options with the standard input of a command, and warnings on its stderr.
func withInput(cmd *cobra.Command, o fbc.Options) fbc.Options {
	o.Source.Stdin, o.Source.Warn = cmd.InOrStdin(), warnOn(cmd)
	return o
}

func warnOn(cmd *cobra.Command) func(format string, args ...any) {
	return func(format string, args ...any) { warn(cmd, format, args...) }
}

func sayDigest(cmd *cobra.Command, o *config.Opened) {
	if o.Digest != "" {
		tell(cmd, "%s is %s", o.Ref, o.Digest)
	}
}

// choiceFor returns the options for one of several sources: package, channel and version are about catalogs among them.
func choiceFor(ref string, refs []string, o fbc.Options) fbc.Options {
	several := func(ref string) bool {
		kind, _, err := source.Recognise(ref, "")
		return err == nil && source.HasSeveral(kind)
	}
	if slices.ContainsFunc(refs, several) && !several(ref) {
		o.Choice = bundle.Choice{}
	}
	return o
}

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
func (f *targetFlags) checked() (fit.Cluster, error) {
	switch {
	case f.openshift == "" && f.asks(supportWords[1]):
		return fit.Cluster{}, &usageError{"--fail-on " + supportWords[1] + " needs --openshift-version",
			"give the release that counts"}
	case f.date == "" && f.asks(supportWords[0]): // a question about support that names no date
		return fit.Cluster{}, &usageError{"--fail-on " + supportWords[0] + " needs --date", "give the day that counts"}
	case f.date != "" && fit.CheckDate(f.date) != nil:
		return fit.Cluster{}, &usageError{"--date: " + fit.CheckDate(f.date).Error(), "write YYYY-MM-DD"}
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
