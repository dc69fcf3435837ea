// Command olmgen-rehearse plays a tree with a real API server and a real OLM, without a cluster: see package rehearse.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/rehearse"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/internal/writes"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// The exit codes are those of olmgen check.
const (
	exitFailed = 1
	exitFound  = 3
)

// errFound reports that a person must look at what is printed.
var errFound = errors.New("OLM does not take it as it is: see the report")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	beside.Wait()
	switch {
	case errors.Is(err, errFound):
		os.Exit(exitFound)
	case err != nil:
		fmt.Fprintln(os.Stderr, "olmgen-rehearse:", err)
		if hint := manifest.HintOf(err); hint != "" {
			fmt.Fprintln(os.Stderr, "hint:", hint)
		}
		os.Exit(exitFailed)
	}
}

type flags struct {
	request     rehearse.Request
	git, format string
	assets      string
	olm         []string
	memory      string
	unknown     bool
	compare     bool
	caseDir     string
	anonymize   bool
	timeout     time.Duration
	repos       []string
}

func newRoot() *cobra.Command {
	f := flags{}
	cmd := &cobra.Command{
		Use:   "olmgen-rehearse TREE... | --git OLD..NEW [PATH]",
		Short: "Play a tree with a real API server and a real OLM, without a cluster",
		Long: `What does OLM make of this tree? A real one says it.

olmgen-rehearse starts etcd, kube-apiserver, kube-controller-manager, olm-operator and catalog-operator on loopback,
makes what a dump shows, applies a tree as an engine does, and prints what OLM does until it is at rest. The exit code
is 3 if somebody must look at it: an operator that does not succeed, an object that the API server refuses.

A TREE is what olmgen check reads, of one cluster: "olmgen help trees" explains which. olmgen check predicts the same at
once, and --compare says where the two differ.`,
		Example: `  olmgen-rehearse setup
  olmgen-rehearse clusters/prod --dump cluster.yaml --catalog olm/operatorhubio-catalog=configs/
  olmgen-rehearse --git main..HEAD clusters/prod --dump cluster.yaml --catalog olm/operatorhubio-catalog=configs/`,
		Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: f.run,
	}
	set := cmd.PersistentFlags()
	set.StringVar(&f.assets, "assets", "", "`DIR` with etcd, kube-apiserver and kube-controller-manager (default: "+
		"$KUBEBUILDER_ASSETS, then what make rehearse-tools has built)")
	set.StringArrayVar(&f.olm, "olm", nil, "`DIR` with the programs olm and catalog of OLM (default: as --assets), or "+
		"v1: have OLM v1 run, too; may be repeated")
	set = cmd.Flags()
	set.StringArrayVar(&f.request.Dumps, "dump", nil,
		"`FILE` with what is in the cluster before, as kubectl get -o yaml prints it; may be repeated")
	set.StringArrayVar(&f.request.Catalogs, "catalog", nil,
		"content of a CatalogSource, `[NAMESPACE/NAME=]DIR[,priority=N]`; without a name, of all others; may be "+
			"repeated")
	set.StringVar(&f.git, "git", "", "play PATH in one Git revision, then in another one: `OLD..NEW`")
	set.BoolVar(&f.compare, "compare", false, "compare with what olmgen check predicts; exit with 3 where they differ")
	set.StringVar(&f.caseDir, "case", "", "with --compare: write what was played into `DIR` if it differs")
	set.BoolVar(&f.anonymize, "anonymize", false, "with --case: replace the names of namespaces and objects")
	set.StringVar(&f.format, "format", "text", "text, json or markdown")
	set.DurationVar(&f.timeout, "timeout", 5*time.Minute, "give OLM this `TIME` to come to rest, for each state")
	set.StringVar(&f.memory, "memory", "4Gi", "stop if the programs use more than `SIZE` of memory; 0 is no limit")
	set.BoolVar(&f.unknown, "allow-unknown", false, "exit with code 0 although a ClusterExtension is not played")
	set.StringVarP(&f.request.Namespace, "namespace", "n", "", "`NAMESPACE` of objects that name none")
	set.BoolVar(&f.request.Source.Offline, "offline", false, "fetch no image of a bundle")
	set.StringArrayVar(&f.request.Tree.Clusters, "cluster", nil,
		"all roots below `DIR` are in one cluster; may be repeated")
	set.StringArrayVar(&f.request.Tree.Exclude, "exclude", nil,
		"leave out files and directories like `PATTERN`; may be repeated")
	set.BoolVar(&f.request.Tree.All, "all", false, "apply also the manifests that nothing in the tree applies")
	set.StringArrayVar(&f.repos, "repo", nil,
		"`URL=DIR`: the directory stands for the repository of this URL; may be repeated")
	cmd.AddCommand(f.newSetup())
	return cmd
}

func (f *flags) newSetup() *cobra.Command {
	image := ""
	cmd := &cobra.Command{Use: "setup", Short: "Say which programs are there, and how to get the others",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if image != "" {
				if err := rehearse.Fetch(cmd.Context(), image, source.Options{}); err != nil {
					return err
				}
			}
			said, complete := rehearse.Setup(f.programs())
			if fmt.Fprint(cmd.OutOrStdout(), said); !complete {
				return errFound
			}
			return nil
		}}
	cmd.Flags().StringVar(&image, "olm-image", "", "fetch OLM's programs from `IMAGE@sha256:DIGEST`")
	return cmd
}

func (f *flags) run(cmd *cobra.Command, paths []string) error {
	format := findings.Format(f.format)
	switch {
	case runtime.GOOS != "linux":
		return errors.New("a rehearsal needs Linux: elsewhere its programs could outlive it")
	case format != findings.Text && format != findings.JSON && format != findings.Markdown:
		return fmt.Errorf("--format %q is not text, json or markdown", f.format)
	case f.caseDir != "" && !f.compare || f.anonymize && f.caseDir == "":
		return errors.New("--case needs --compare, and --anonymize needs --case")
	case f.git == "" && len(paths)+len(f.request.Dumps) == 0:
		return manifest.WithHint(errors.New("the tree is missing"), "olmgen-rehearse --help")
	}
	memory, err := resource.ParseQuantity(f.memory)
	if err != nil {
		return fmt.Errorf("--memory %s: %w", f.memory, err)
	}
	f.request.Memory = memory.Value()
	ctx, programs := cmd.Context(), f.programs()
	names, states, remove, err := f.states(ctx, cmd, paths)
	if err != nil {
		return err
	}
	defer remove()
	dir, err := os.MkdirTemp("", "olmgen-rehearse-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	versions, err := rehearse.Bin(bin, programs)
	if err != nil {
		return err
	}
	// The programs see nothing of this user, and give memory back early.
	for name, value := range map[string]string{"HOME": dir, "TMPDIR": dir, "GOMEMLIMIT": "1GiB", "KUBECONFIG": "",
		"KUBEBUILDER_ASSETS": ""} {
		os.Setenv(name, value)
	}
	report, err := rehearse.Run(ctx, rehearse.Options{Bin: bin, Dir: filepath.Join(dir, "run"), Names: names,
		Patience: f.timeout, Compare: f.compare, Programs: versions,
		Progress: func(what string) { fmt.Fprintln(cmd.ErrOrStderr(), "olmgen-rehearse:", what) }}, states...)
	if err != nil {
		return err
	}
	if err := print.Report(cmd.OutOrStdout(), report, format); err != nil {
		return err
	}
	if f.caseDir != "" && len(report.Prediction) > 0 {
		if err := report.WriteCase(f.caseDir, f.anonymize, states[len(states)-1]); err != nil {
			return err
		}
	}
	if report.Meets(f.unknown) {
		return errFound
	}
	return nil
}

// programs looks for the programs that run.
func (f *flags) programs() []rehearse.Program {
	dir := ""
	for _, value := range f.olm {
		if f.request.OLMv1 = f.request.OLMv1 || value == "v1"; value != "v1" {
			dir = value
		}
	}
	return rehearse.Find(f.assets, dir, f.request.OLMv1)
}

// states reads the tree, or its two revisions.
func (f *flags) states(ctx context.Context, cmd *cobra.Command, paths []string) (names []string,
	states []*rehearse.State, remove func(), err error) {
	f.request.Tree.Charts = beside.Renderer{Program: &beside.Program{Name: beside.Helm, Does: "renders charts"}}
	f.request.Tree.KubeVersion, f.request.Tree.Stdin = writes.Version, cmd.InOrStdin()
	f.request.Source.Warn = func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "olmgen-rehearse: "+format+"\n", args...)
	}
	f.request.API = f.validator(cmd)
	for _, value := range f.repos {
		address, dir, ok := strings.Cut(value, "=")
		if !ok {
			return nil, nil, nil, fmt.Errorf("--repo %s is not URL=DIR", value)
		}
		f.request.Tree.Repos = append(f.request.Tree.Repos, repos.Checkout{Address: address, Dir: dir})
	}
	if err := f.request.Open(ctx); err != nil {
		return nil, nil, nil, err
	}
	if f.git == "" {
		s, err := f.request.State(ctx, paths...)
		return []string{"the tree"}, []*rehearse.State{s}, func() {}, err
	}
	old, now, two := strings.Cut(f.git, "..")
	if len(paths) > 1 || old == "" || two && (now == "" || strings.HasPrefix(now, ".")) {
		return nil, nil, nil, errors.New("--git wants OLD..NEW, and one PATH")
	}
	revisions, remove, err := review.Checkout(append(paths, ".")[0], old, now)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, r := range revisions {
		var paths []string
		if !r.Empty {
			paths = []string{r.Ref}
		}
		f.request.Tree.Top = r.Root
		s, err := f.request.State(ctx, paths...)
		if err != nil {
			remove()
			return nil, nil, nil, errors.New(r.Named(err.Error()))
		}
		names, states = append(names, r.Name), append(states, s)
	}
	return names, states, remove, nil
}

// validator returns the program that says what the API server refuses, for the prediction; nil without one.
func (f *flags) validator(cmd *cobra.Command) writes.Checker {
	p := &beside.Program{Name: beside.Validate, Does: "knows what the API server refuses"}
	if _, err := p.Find(); err != nil {
		if f.compare {
			fmt.Fprintln(cmd.ErrOrStderr(), "olmgen-rehearse: the prediction is without the API server's answers:", err)
		}
		return nil
	}
	return beside.Kubernetes{Program: p}
}
