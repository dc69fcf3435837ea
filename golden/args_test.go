package golden

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// flagValues are flags of "olmgen render" that need more than their value.
type flagValues struct {
	output, layout, templates, selector, issuer, caBundle, config, catalog, mirrors string
	aggregateTo                                                                     []string
}

// libraryOptions gives the library's options for the flags of "olmgen render". dir is the directory in which the command runs. A flag
// that is missing here is an error: TestGolden renders every case both ways, so the two cannot drift apart.
func libraryOptions(dir string, args []string) (bundle.ReadOptions, generate.Options, error) {
	var read bundle.ReadOptions
	var o generate.Options
	var v flagValues
	f := pflag.NewFlagSet("render", pflag.ContinueOnError)
	f.StringVarP(&v.output, "output", "o", "", "")
	f.StringVar(&v.layout, "layout", "", "")
	f.StringVarP(&o.Namespace, "namespace", "n", "", "")
	f.StringVar((*string)(&o.InstallMode), "install-mode", "", "")
	f.StringSliceVar(&o.TargetNamespaces, "target-namespaces", nil, "")
	f.StringSliceVar(&o.CopiedCSVNamespaces, "copied-csv-namespaces", nil, "")
	f.StringVar(&o.OperatorGroup, "operator-group", "", "")
	f.StringVar(&v.selector, "selector", "", "")
	f.StringSliceVar(&o.StaticProvidedAPIs, "static-provided-apis", nil, "")
	f.Lookup("static-provided-apis").NoOptDefVal = "bundle"
	f.StringVar(&o.ServiceAccount, "service-account", "", "")
	f.StringVar((*string)(&o.Names), "names", "", "")
	f.StringVar((*string)(&o.Profile), "profile", "", "")
	f.StringVar(&o.Channel, "channel", "", "")
	f.StringVar(&o.Subscription.Name, "subscription", "", "")
	f.StringVar((*string)(&o.Subscription.Approval), "approval", "", "")
	f.BoolVar(&o.Subscription.StartingCSV, "starting-csv", false, "")
	f.StringVar(&v.catalog, "catalog-source", "", "")
	f.StringVar(&o.Subscription.CatalogImage, "catalog-image", "", "")
	f.StringVar(&o.Extension.Name, "cluster-extension", "", "")
	f.StringVar(&o.Extension.VersionRange, "version-range", "", "")
	f.StringVar((*string)(&o.Extension.UpgradePolicy), "upgrade-constraint-policy", "", "")
	f.StringSliceVar(&o.Descoped.BindNamespaces, "bind-namespaces", nil, "")
	f.BoolVar(&o.Descoped.BindAll, "bind-all", false, "")
	f.StringSliceVar(&v.aggregateTo, "aggregate-to", nil, "")
	f.StringVar((*string)(&o.Descoped.Split), "split", "", "")
	f.StringVar((*string)(&o.CopiedCSVs), "copied-csvs", "", "")
	f.StringVar((*string)(&o.Certs), "certs", "", "")
	f.StringVar(&v.issuer, "issuer", "", "")
	f.StringVar(&o.CertSecret, "cert-secret", "", "")
	f.StringVar(&v.caBundle, "ca-bundle", "", "")
	f.StringVar(&v.config, "config-subscription", "", "")
	f.StringVar(&v.mirrors, "mirror-map", "", "")
	f.BoolVar(&o.ConvertCRDs, "convert-crds", false, "")
	f.BoolVar(&o.CreateNamespace, "create-namespace", false, "")
	f.StringVar(&v.templates, "templates", "", "")
	f.BoolVar(&read.AllowUnsupported, "allow-unsupported", false, "")
	if err := f.Parse(args); err != nil {
		return read, o, err
	}
	if f.Changed("static-provided-apis") {
		o.Static = true
		o.StaticProvidedAPIs = slices.DeleteFunc(o.StaticProvidedAPIs, func(s string) bool { return s == "bundle" })
	}
	return read, o, v.complete(dir, &o)
}

func (v flagValues) complete(dir string, o *generate.Options) (err error) {
	if v.selector != "" {
		if o.Selector, err = metav1.ParseToLabelSelector(v.selector); err != nil {
			return err
		}
	}
	if v.caBundle != "" {
		if o.CABundle, err = os.ReadFile(filepath.Join(dir, v.caBundle)); err != nil {
			return err
		}
	}
	if v.config != "" {
		data, err := os.ReadFile(filepath.Join(dir, v.config))
		if err != nil {
			return err
		}
		if o.Config, err = generate.ReadConfig(v.config, data); err != nil {
			return err
		}
	}
	o.Subscription.CatalogNamespace, o.Subscription.CatalogSource, _ = strings.Cut(v.catalog, "/")
	for _, role := range v.aggregateTo {
		o.Descoped.AggregateTo = append(o.Descoped.AggregateTo, generate.DefaultRole(role))
	}
	if v.mirrors != "" {
		data, err := os.ReadFile(filepath.Join(dir, v.mirrors))
		if err != nil {
			return err
		}
		if o.Mirrors, err = images.ReadMap(v.mirrors, data); err != nil {
			return err
		}
	}
	o.Issuer.Kind, o.Issuer.Name, _ = strings.Cut(v.issuer, "/")
	var overlay fs.FS
	if v.templates != "" {
		overlay = os.DirFS(filepath.Join(dir, v.templates))
	}
	o.Templates, err = templates.Load(overlay)
	return err
}

// layoutOf gives the layout that flags of "olmgen render" ask for.
func layoutOf(args []string) output.Layout {
	if i := slices.Index(args, "--layout"); i >= 0 {
		return output.Layout(args[i+1])
	}
	return output.LayoutFlat
}

// rendered is what the library makes of a bundle.
type rendered struct {
	bundle  *bundle.Bundle
	options generate.Options
	result  *generate.Result
	laid    output.Tree // to be laid out
	tree    Tree        // laid out flat
}

// ownTemplates are olmgen's own.
var ownTemplates = sync.OnceValue(func() *templates.Set {
	t, err := templates.Load(nil)
	if err != nil {
		panic(err) // they are part of the program
	}
	return t
})

// render reads a bundle and renders it.
func render(dir string, read bundle.ReadOptions, o generate.Options) (*rendered, error) {
	b, err := bundle.Read(os.DirFS(dir), read)
	if err != nil {
		return nil, err
	}
	return renderBundle(b, o)
}

func renderBundle(b *bundle.Bundle, o generate.Options) (*rendered, error) {
	if o.Templates == nil {
		o.Templates = ownTemplates()
	}
	result, err := generate.Render(b, o)
	if err != nil {
		return nil, err
	}
	r := &rendered{bundle: b, options: o, result: result}
	r.laid = output.One(output.Operator{Name: b.Package, Channel: cmp.Or(b.DefaultChannel, "none"), Result: result}, o.Templates)
	r.tree, err = layOut(r.laid, output.LayoutFlat)
	return r, err
}

// layOut gives the files of a layout.
func layOut(t output.Tree, l output.Layout) (Tree, error) {
	files, err := t.Files(l)
	if err != nil {
		return nil, err
	}
	tree := Tree{}
	for _, f := range files {
		tree[f.Path] = f.Data
	}
	return tree, nil
}
