package main

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/site"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/output"
)

func newCatalogSite() *cobra.Command {
	f := auditFlags{}
	options := site.Options{Command: renderCommand}
	force := false
	cmd := &cobra.Command{
		Use:   "site CATALOG|DIR... -o DIR",
		Short: "Write a static site about the operators of a catalog",
		Args:  args(1, math.MaxInt, "the catalog"),
		RunE: func(cmd *cobra.Command, refs []string) error {
			in, parts, err := f.part()
			if err != nil {
				return err
			}
			if f.output == "" || f.output == output.Stdout {
				return &usageError{"-o is missing", "name the directory of the site"}
			}
			set, done, err := f.load(cmd, refs)
			if err != nil {
				return err
			}
			if parts {
				part, err := site.RenderPart(cmd.Context(), set, in, options)
				done()
				return writePart(cmd, f.output, part, err)
			}
			s, err := site.Render(cmd.Context(), set, options)
			done()
			if err != nil {
				return err
			}
			return writeSite(cmd, f.output, s, force)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`DIR` of the site; with --shard the file for the part")
	flags.StringVar(&options.Title, "title", "Operators", "`TITLE` of the index")
	flags.BoolVar(&force, "force", false, "overwrite pages that were edited by hand")
	f.register(cmd, nil)
	return cmd
}

func writeSite(cmd *cobra.Command, dir string, s *site.Site, force bool) error {
	result, err := output.Write(dir, s.Files, output.WriteOptions{Sources: s.Sources, Force: force, Replace: true})
	if err != nil {
		return err
	}
	report(cmd, dir, result)
	if s.Failed > 0 {
		say(cmd, findings.Warning, "the pages say why", "%s cannot be read", text.Count(s.Failed, "bundle"))
	}
	return nil
}

func renderCommand(i site.Install) string {
	words := []string{"olmgen render", text.Shell(i.Source)}
	if i.Namespace != "" {
		words = append(words, "--namespace", text.Shell(i.Namespace))
	}
	if i.Certificates {
		words = append(words, "--certs cert-manager")
	}
	return strings.Join(append(words, "-o", i.Directory), " ")
}
