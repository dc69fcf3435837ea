package golden

import (
	"cmp"
	"os"
	"slices"
	"sync"

	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// libraryOptions returns the library's options for the flags of "olmgen render". dir is the directory in which the command runs.
func libraryOptions(dir string, args []string) (bundle.ReadOptions, generate.Options, error) {
	set := pflag.NewFlagSet("render", pflag.ContinueOnError)
	set.StringP("output", "o", "", "")
	flags := config.NewFlags(config.WithFlags(config.Declared()))
	for _, v := range flags.Values() {
		set.VarPF(v, v.Flag, v.Short, v.Usage()).NoOptDefVal = v.Alone
	}
	flags.Dir = dir
	if err := set.Parse(args); err != nil {
		return bundle.ReadOptions{}, generate.Options{}, err
	}
	c, err := flags.Config("bundle", nil)
	if err != nil {
		return bundle.ReadOptions{}, generate.Options{}, err
	}
	allow := c.Groups[0].Bundles[0].AllowUnsupported
	o, err := c.GenerateOptions(0, 0, dir)
	return bundle.ReadOptions{AllowUnsupported: allow != nil && *allow}, o, err
}

// layoutOf returns the layout that flags of "olmgen render" ask for.
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
	r.laid = output.SingleOperator(output.Operator{Name: b.Package, Channel: cmp.Or(b.DefaultChannel, "none"), Result: result}, o.Templates)
	r.tree, err = layOut(r.laid, output.LayoutFlat)
	return r, err
}

// layOut returns the files of a layout.
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
