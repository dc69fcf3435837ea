package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/cmd/internal/site"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
)

const maxPart = 512 << 20

func newCatalogMerge() *cobra.Command {
	format, failOn := findings.Text, failOn{}
	var dir, title string
	force := false
	cmd := &cobra.Command{
		Use:   "merge PART...",
		Short: "Make one report or site of the parts that shards have written",
		Args:  args(1, math.MaxInt, "the part"),
		RunE: func(cmd *cobra.Command, names []string) error {
			parts, err := readParts(names, audit.ReadPart)
			if err != nil {
				return err
			}
			if parts[0].Kind == audit.KindSitePart {
				if dir == "" || dir == output.Stdout {
					return &usageError{"-o is missing", "these are parts of a site: name its directory"}
				}
				s, err := site.Merge(parts, site.Options{Title: title})
				if err != nil {
					return withPartHint(err)
				}
				return writeSite(cmd, dir, s, force)
			}
			if dir != "" {
				return &usageError{"-o is for parts of a site", "the report goes to stdout"}
			}
			report, err := audit.MergeParts(parts)
			if err != nil {
				return withPartHint(err)
			}
			return printAudit(cmd, report, format, &failOn)
		},
	}
	flags := cmd.Flags()
	registerAuditFormat(cmd, &format, &failOn)
	flags.StringVarP(&dir, "output", "o", "", "`DIR` of the site")
	flags.StringVar(&title, "title", "Operators", "`TITLE` of the index of the site")
	flags.BoolVar(&force, "force", false, "overwrite pages that were edited by hand")
	return cmd
}

func withPartHint(err error) error {
	return manifest.WithHint(err, shard.Hint)
}

// readParts reads the files that writePart has written.
func readParts[P any](names []string, read func([]byte) (*P, error)) ([]*P, error) {
	var parts []*P
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(f, maxPart+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if len(data) > maxPart {
			return nil, &manifest.Error{File: filepath.ToSlash(name), Tip: "make more shards",
				Msg: fmt.Sprintf("larger than %d MiB", maxPart>>20)}
		}
		part, err := read(data)
		if err != nil {
			return nil, &manifest.Error{File: filepath.ToSlash(name), Msg: err.Error(), Tip: "run its shard again"}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// writePart writes a part to a file, or to stdout if there is no name. A file has all of the part or does not change.
func writePart(cmd *cobra.Command, name string, part any, err error) error {
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(part)
	}
	if name == "" {
		return write(cmd.OutOrStdout())
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return &usageError{fmt.Sprintf("%s is a directory", name), "with --shard, -o names a file"}
	}
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return err
	}
	return output.WriteFile(name, data.Bytes(), true)
}
