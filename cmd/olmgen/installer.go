package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/cluster/tree"
	"github.com/olmgen/olmgen/internal/generate/installer"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// installerFlags are the flags of olmgen installer-rbac as they were given.
type installerFlags struct {
	render    renderFlags
	from      string
	installer string
	name      string
	trees     []string // with ClusterExtensions
	catalogs  treeCatalogs
	roots     treeFlags
	options   installer.Options
}

func newInstallerRBAC() *cobra.Command {
	var f installerFlags
	cmd := &cobra.Command{
		Use:   "installer-rbac SOURCE|-f FILE|--tree PATH --installer NS/NAME",
		Short: "Which RBAC does applying this need? Write it",
		Long: `Installer-rbac writes the smallest Roles and ClusterRole, with bindings, under
which a ServiceAccount may apply what olmgen render makes with the same flags,
or, with --from, any other manifests: for GitOps controllers that apply as an
account of a tenant's (Argo CD's impersonation, Flux's serviceAccountName).

For each kind it grants create, which cannot be limited to names; for each
object, by name, get, patch, update and delete; and every rule of the Roles and
ClusterRoles among the objects, because the API server refuses a role with
rights that its writer does not have (the escalation check). Where the account
cannot hold the rules, it grants by name, and prints a message,

  escalate  on ClusterRoles that aggregate others, which otherwise only
            cluster-admin may write. Create them with server-side apply:
            another create request has no name in its URL
  bind      on roles that are bound but not among the objects

With --escalate, escalate and bind are granted on all roles in place of the
rules in them. The list is shorter, but grants no less: an account that may
escalate a role can give every right to those who are bound to it.

With --tree, and without --installer, it writes them for the ServiceAccount that
each ClusterExtension of a tree names, as EXTENSION-installer. Releases of OLM
v1 that require one install the operator with it. The bundle is the one that OLM
v1 installs from the catalogs of --catalog, or from the images of the
ClusterCatalogs in the tree.

An administrator applies the result before the first installation, and again
when a new version changes it.

` + sourceHelp,
		Example: `  olmgen installer-rbac bundle/ --installer tenant/deployer
  olmgen installer-rbac bundle/ -n operators --profile plain \
      --installer argocd/operators -o rbac/
  olmgen installer-rbac -f olmgen.yaml --installer argocd/operators
  olmgen installer-rbac --from out/ --installer tenant/deployer
  kustomize build . | olmgen installer-rbac --from - --installer tenant/deployer
  olmgen installer-rbac --tree clusters/prod --catalog community=configs/`,
		Args: func(cmd *cobra.Command, given []string) error {
			switch {
			case len(f.trees) > 0 && (f.from != "" || len(f.render.files) > 0 || f.installer != ""):
				return &usageError{"--tree cannot be given with --installer, --from or -f", "give one of them"}
			case len(f.trees) > 0:
				return args(0, 0, "")(cmd, given)
			case f.from != "" && len(f.render.files) > 0:
				return &usageError{"--from cannot be given with -f", "give one of them"}
			case f.from != "":
				return args(0, 0, "")(cmd, given)
			case len(f.render.files) > 0:
				return f.render.checkDeclared(cmd, given)
			}
			return args(1, 1, "the bundle, or -f, --from or --tree,")(cmd, given)
		},
		RunE: f.run,
	}
	f.register(cmd)
	return cmd
}

func (f *installerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.installer, "installer", "", "`NAMESPACE/NAME` of the ServiceAccount that applies")
	fileFlag(flags, &f.render.files)
	flags.StringVar(&f.from, "from", "", "`DIR`, a file or - with manifests, in place of a SOURCE")
	flags.StringArrayVar(&f.trees, "tree", nil,
		"`PATH` with ClusterExtensions, in place of a SOURCE and --installer; may be repeated")
	f.catalogs.register(flags)
	f.roots.register(cmd)
	flags.StringVar(&f.name, "name", "",
		"`NAME` of the Roles and bindings (default: the package name with -installer; with -f and --from the "+
			"account's)")
	flags.BoolVar(&f.options.Escalate, "escalate", false,
		"grant escalate and bind on the roles by name in place of the rules in them")
	flags.BoolVar(&f.options.Watch, "watch", false, "grant list and watch too, which can't be limited to names")
	f.render.registerWriting(cmd)
	f.render.register(cmd, func(o config.Option) bool { return o.Topic != config.TopicOutput })
}

func (f *installerFlags) run(cmd *cobra.Command, refs []string) error {
	if len(f.trees) > 0 {
		return f.extensions(cmd)
	}
	if name := given(cmd, "catalog", "global-namespace", "approve-all"); name != "" {
		return &usageError{name + " needs --tree", "the catalog of a SOURCE is catalog:DIR"}
	}
	if f.installer == "" {
		return &usageError{"--installer is missing", "name the ServiceAccount that applies, as NAMESPACE/NAME"}
	}
	namespace, account, ok := strings.Cut(f.installer, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(account)) > 0 {
		return &usageError{fmt.Sprintf("--installer: %q is not NAMESPACE/NAME", f.installer),
			"name the ServiceAccount that applies"}
	}
	s := installer.Subject{Namespace: namespace, ServiceAccount: account, Name: f.name}
	if err := f.render.checkOutput(); err != nil {
		return err
	}
	a, err := f.applied(cmd, refs, &s)
	if err != nil {
		return err
	}
	if problems := validation.IsDNS1123Subdomain(s.Namespace + "." + s.Name); len(problems) > 0 {
		return &usageError{fmt.Sprintf("--name: %q is not a valid name: %s", s.Name, problems[0]), ""}
	}
	p, err := installer.Derive(a.objects, f.options)
	if err != nil {
		return err
	}
	if err := f.printGrants(cmd, p); err != nil {
		return err
	}
	objects, err := installer.Objects(p, s, a.templates, generate.Written)
	if err != nil {
		return err
	}
	return f.write(cmd, a, objects)
}

// write writes the Roles and bindings.
func (f *installerFlags) write(cmd *cobra.Command, a *applied, objects []generate.Object) error {
	result := *a.operator.Result
	result.Objects = objects
	a.operator.Result = &result
	files, err := output.SingleOperator(a.operator, a.templates).Files(output.LayoutFlat)
	if err != nil {
		return err
	}
	return f.render.write(cmd, files, []output.Source{a.source}, nil)
}

// applied is what the account applies, and where it comes from.
type applied struct {
	objects   []*manifest.Object
	operator  output.Operator
	source    output.Source
	templates *templates.Set
}

// applied returns the objects that are to be applied, and fills in the name of the Roles.
func (f *installerFlags) applied(cmd *cobra.Command, refs []string, s *installer.Subject) (*applied, error) {
	if f.from != "" {
		s.Name = cmp.Or(s.Name, s.ServiceAccount+"-installer")
		return f.read(cmd, s)
	}
	if len(f.render.files) > 0 {
		s.Name = cmp.Or(s.Name, s.ServiceAccount+"-installer")
		return f.declared(cmd, s)
	}
	c, err := f.render.config(refs[0], nil)
	if err != nil {
		return nil, err
	}
	r, err := f.render.render(cmd, c)
	if err != nil {
		return nil, err
	}
	if err := f.render.printWarnings(cmd, r.Warnings, r.Notes); err != nil {
		return nil, err
	}
	a := &applied{operator: r.Operators[0], source: r.Sources[0], templates: r.Templates}
	s.Name = cmp.Or(s.Name, a.operator.Name+"-installer")
	a.objects, err = a.operator.Manifests()
	return a, err
}

// declared returns the objects of RenderConfigs.
func (f *installerFlags) declared(cmd *cobra.Command, s *installer.Subject) (*applied, error) {
	all, err := f.render.renderFiles(cmd)
	if err != nil {
		return nil, err
	}
	a := &applied{operator: output.Operator{Result: &generate.Result{Namespace: s.Namespace}},
		source: output.Source{Bundle: s.Name, Source: strings.Join(f.render.files, ", ")}}
	for _, r := range all {
		a.templates = r.Templates
		if err := f.render.printWarnings(cmd, r.Warnings, r.Notes); err != nil {
			return nil, err
		}
		for _, x := range r.Objects {
			object, err := x.Manifest()
			if err != nil {
				return nil, err
			}
			a.objects = append(a.objects, object)
		}
	}
	return a, nil
}

// read reads what --from names.
func (f *installerFlags) read(cmd *cobra.Command, s *installer.Subject) (*applied, error) {
	dir, _ := f.render.options.Text(config.OptionTemplates)
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		o, option := f.render.options.Option(flag.Name)
		if of := option && o.ID != config.OptionTemplates || config.TopicOf(flag) == config.TopicSource; of &&
			wrong == nil {
			wrong = &usageError{fmt.Sprintf("--%s is for a SOURCE, not for --from", flag.Name),
				"see " + cmd.CommandPath() + " --help"}
		}
	})
	if wrong != nil {
		return nil, wrong
	}
	set, err := templates.LoadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("--templates: %w", err)
	}
	// Permissions for a part of the objects are of no use.
	t, err := f.roots.read(cmd, []string{f.from}, tree.Options{Strict: true})
	if err == nil && len(t.Objects) == 0 {
		err = fmt.Errorf("%s: no objects", f.from)
	}
	if err != nil {
		return nil, err
	}
	return &applied{t.Objects, output.Operator{Result: &generate.Result{Namespace: s.Namespace}},
		output.Source{Bundle: s.Name, Source: f.from}, set}, nil
}

// printGrants prints the roles on which escalate and bind are granted without an option, and warns of what had to be
// guessed.
func (f *installerFlags) printGrants(cmd *cobra.Command, p *installer.Permissions) error {
	if len(p.Escalate) > 0 {
		tell(cmd, "grants escalate on roles that aggregate others: ClusterRole %s", strings.Join(p.Escalate, ", "))
	}
	if len(p.Bind) > 0 {
		tell(cmd, "grants bind on roles whose rules are not among the objects: %s", strings.Join(p.Bind, ", "))
	}
	for _, e := range p.Warnings {
		warn(cmd, "%v", e)
	}
	return f.render.refuseWarnings(len(p.Warnings))
}
