package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/output/transform"
	"github.com/olmgen/olmgen/templates"
)

// renderFlags are the flags of olmgen render as they were given.
type renderFlags struct {
	file      string
	output    string
	layout    output.Layout
	check     bool
	helmCRDs  helm.CRDs
	force     bool
	strict    bool
	templates string
	selector  string
	static    []string
	issuer    string
	caBundle  string
	config    string
	catalog   string
	mirrors   string
	engine    transform.Engine
	read      bundle.ReadOptions
	source    source.Options
	options   generate.Options
	look      func(*bundle.Bundle) error // at the bundle, before it is rendered; may be nil
}

// bundleAPIs is what --static-provided-apis alone means: the bundle's own APIs.
const bundleAPIs = "bundle"

// registerTree adds the flags that are about more than one bundle's objects.
func (f *renderFlags) registerTree(flags *pflag.FlagSet) {
	flags.StringVarP(&f.file, "config", "f", "", "`FILE` with a RenderConfig, in place of SOURCE and most flags; - is stdin")
	flags.Var(enum(&f.layout, output.Layouts...), "layout", "how the files are laid out: "+joined(output.Layouts))
	f.helmCRDs = helm.CRDsTemplates
	flags.Var(enum(&f.helmCRDs, helm.CRDsTemplates, helm.CRDsDirectory), "helm-crds", "with --layout helm: CRDs among the templates, or in crds, where helm never changes them again")
	f.engine = transform.EngineNone
	flags.Var(enum(&f.engine, transform.Engines...), "annotations", "for which GitOps engine objects are annotated: "+joined(transform.Engines))
	flags.BoolVar(&f.check, "check", false, "write nothing; print how DIR differs from what would be written")
}

func (f *renderFlags) register(flags *pflag.FlagSet) {
	o := &f.options
	flags.SortFlags = false
	registerSource(flags, &f.source)
	flags.Lookup("channel").Usage += "; with --layout gitops-catalog the overlay's, too"
	flags.StringVarP(&f.output, "output", "o", "-", "`DIR` to write to; - is stdout")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "`NAME` of the operator's namespace (default: what the CSV suggests, else for a Subscription to all namespaces openshift-operators, else the package name)")
	flags.Var(enum(&o.InstallMode, bundle.InstallModes...), "install-mode", "AllNamespaces, OwnNamespace, SingleNamespace or MultiNamespace")
	flags.StringSliceVar(&o.TargetNamespaces, "target-namespaces", nil, "namespaces the operator watches, as `A,B`")
	flags.StringSliceVar(&o.CopiedCSVNamespaces, "copied-csv-namespaces", nil, "in AllNamespaces: namespaces that get a copied CSV, as `A,B`")
	flags.StringVar(&o.OperatorGroup, "operator-group", "", "`NAME` of the OperatorGroup (default: the package name; descoped: none)")
	flags.StringVar(&f.selector, "selector", "", "label `SELECTOR` of the OperatorGroup in place of its target namespaces; --target-namespaces says what it resolves to")
	flags.StringSliceVar(&f.static, "static-provided-apis", nil, "make the OperatorGroup static; optionally with further `APIS`, as Kind.version.group")
	flags.Lookup("static-provided-apis").NoOptDefVal = bundleAPIs
	flags.StringVar(&o.ServiceAccount, "service-account", "", "`NAME` of the ServiceAccount that bounds the OperatorGroup or, up to OLM v1.10, the ClusterExtension")
	o.Names, o.Profile, o.CopiedCSVs = generate.NamesStable, generate.ProfileOLM, generate.CopiedStub
	flags.Var(enum(&o.Names, generate.AllNames...), "names", "stable names, which outlive an upgrade, or those of olm")
	flags.Var(enum(&o.Profile, generate.Profiles...), "profile", "what is written: "+joined(generate.Profiles))
	f.registerDescoped(flags)
	f.registerHandOver(flags)
	flags.Var(enum(&o.CopiedCSVs, generate.AllCopiedCSVs...), "copied-csvs", "what target namespaces get of the CSV: stub, full or none")
	flags.Var(enum(&o.Certs, generate.AllCerts...), "certs", "who makes the certificates of webhooks and APIs: cert-manager, service-ca, user, olm or, where nothing serves and with profile olmv1, none (default with --names olm: olm; otherwise needed where the operator serves)")
	flags.StringVar(&f.issuer, "issuer", "", "with cert-manager: an existing issuer, as `KIND/NAME`")
	flags.StringVar(&o.CertSecret, "cert-secret", "", "with user: `NAME` of the Secret; {deployment} is replaced")
	flags.StringVar(&f.caBundle, "ca-bundle", "", "with user: `FILE` with the CA's certificates, PEM")
	flags.StringVar(&f.config, "config-subscription", "", "`FILE` with a Subscription, or its spec.config, to apply to the Deployments or to hand over")
	flags.StringVar(&f.mirrors, "mirror-map", "", "`FILE` that says which images to take from a mirror: a list mirrors of source and mirror, or an ImageDigestMirrorSet")
	flags.BoolVar(&o.ConvertCRDs, "convert-crds", false, "turn v1beta1 CRDs into v1")
	flags.BoolVar(&o.CreateNamespace, "create-namespace", false, "add the Namespace objects (profile subscription: also those of the targets)")
	flags.StringVar(&f.templates, "templates", "", "`DIR` with templates that replace olmgen's own")
	flags.BoolVar(&f.read.AllowUnsupported, "allow-unsupported", false, "render objects of kinds that OLM would refuse")
	flags.BoolVar(&f.strict, "strict", false, "take warnings for errors")
	flags.BoolVar(&f.force, "force", false, "overwrite and remove files of an earlier run although they were edited by hand")
}

// complete turns flags that need parsing into options.
func (f *renderFlags) complete(flags *pflag.FlagSet) error {
	if f.output == "" {
		return &usageError{"-o needs a directory, or - for stdout", ""}
	}
	for _, name := range []string{"namespace", "target-namespaces", "copied-csv-namespaces", "operator-group", "bind-namespaces", "aggregate-to"} {
		if flag := flags.Lookup(name); flag != nil && flag.Changed && strings.Trim(flag.Value.String(), "[]") == "" {
			return &usageError{"--" + name + " is empty", "leave it out for the default"} // an unset variable of a shell, most likely
		}
	}
	if err := f.completeProfile(flags); err != nil {
		return err
	}
	if f.selector != "" {
		s, err := metav1.ParseToLabelSelector(f.selector)
		if err != nil {
			return &usageError{fmt.Sprintf("--selector: %v", err), "write it as in key=value,other in (a, b)"}
		}
		f.options.Selector = s
	}
	if flags.Changed("static-provided-apis") {
		f.options.Static = true
		for _, api := range f.static {
			if api != "" && api != bundleAPIs {
				f.options.StaticProvidedAPIs = append(f.options.StaticProvidedAPIs, api)
			}
		}
	}
	if err := f.files(); err != nil {
		return err
	}
	return f.loadTemplates()
}

func (f *renderFlags) loadTemplates() error {
	var err error
	if f.options.Templates, err = templates.LoadDir(f.templates); err != nil {
		return fmt.Errorf("--templates: %w", err)
	}
	return nil
}

// files reads what flags name: an issuer is only a name.
func (f *renderFlags) files() error {
	if f.issuer != "" {
		kind, name, ok := strings.Cut(f.issuer, "/")
		if !ok || name == "" || kind != "Issuer" && kind != "ClusterIssuer" {
			return &usageError{fmt.Sprintf("--issuer: %q is not KIND/NAME", f.issuer), "write it as Issuer/NAME or ClusterIssuer/NAME"}
		}
		f.options.Issuer = generate.Issuer{Kind: kind, Name: name}
	}
	if f.caBundle != "" {
		data, err := os.ReadFile(f.caBundle)
		if err != nil {
			return err
		}
		f.options.CABundle = data
	}
	if f.config != "" {
		data, err := os.ReadFile(f.config)
		if err != nil {
			return err
		}
		if f.options.Config, err = generate.ReadConfig(f.config, data); err != nil {
			return err
		}
	}
	if f.mirrors == "" {
		return nil
	}
	data, err := os.ReadFile(f.mirrors)
	if err != nil {
		return err
	}
	f.options.Mirrors, err = images.ReadMap(f.mirrors, data)
	return err
}
