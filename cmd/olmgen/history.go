package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/bundle"
	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/compare/history"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

type historyFlags struct {
	render renderFlags
	format findings.Format
}

func newHistory() *cobra.Command {
	f := historyFlags{format: findings.Text}
	cmd := &cobra.Command{
		Use:   "history DIR|CATALOG",
		Short: "Which release changed what? Show all releases of an operator",
		Args:  args(1, 1, "the directory or catalog"),
	}
	formatFlag(cmd, &f.format, []findings.Format{findings.Text, findings.Markdown, findings.JSON,
		findings.HTML, findings.SVG})
	f.render.register(cmd, func(o config.Option) bool { return reviewed(o) && o.ID != bundle.OptionVersion })
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) }
	return cmd
}

func (f *historyFlags) run(cmd *cobra.Command, ref string) error {
	c, err := f.render.options.Config(ref, forReview)
	if err != nil {
		return err
	}
	if p := c.Groups[0].Bundles[0].Profile; p.HandsOver() {
		return &usageError{fmt.Sprintf("profile %s leaves RBAC to OLM", p), "leave out --profile"}
	}
	options, err := c.GenerateOptions(0, 0, "")
	if err != nil {
		return err
	}
	so := withInput(cmd, f.render.source)
	so.Package, _ = f.render.options.Text(bundle.OptionPackage)
	so.Channel, _ = f.render.options.Text(bundle.OptionChannel)
	releases, err := fbc.Releases(cmd.Context(), ref, so)
	if err != nil {
		return err
	}
	bar, done := progress(cmd.ErrOrStderr())
	list, err := history.Read(cmd.Context(), releases, options, bar)
	done()
	if err != nil {
		return err
	}
	h, err := history.New(cmp.Or(list.Package, filepath.Base(filepath.Clean(ref))), list.Inputs)
	if err != nil {
		return err
	}
	if len(list.LeftOut) > 0 {
		reason, _ := config.ErrorText(list.Reason, func(manifest.Option) string { return "" })
		note := fmt.Sprintf("left out: %s: %s", text.FirstOf(6, list.LeftOut), reason)
		warn(cmd, "%s", note)
		h.Notes = append(h.Notes, note)
	}
	return print.Report(cmd.OutOrStdout(), h, f.format)
}
