package site

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/olmgen/olmgen/cmd/internal/audit"
	"github.com/olmgen/olmgen/cmd/internal/shard"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/output"
)

type part struct {
	Files  []partFile    `json:"files"`
	Source output.Source `json:"source"`
	Lock   string        `json:"lock,omitempty"` // of the source
	Entry  entry         `json:"entry"`
}

type partFile struct {
	Path string `json:"path"`
	Lock string `json:"lock,omitempty"`
	Text string `json:"text"`
}

// RenderPart makes the pages of the packages of a shard. Merge makes the site of all parts.
func RenderPart(ctx context.Context, set *audit.Set, in shard.Shard, o Options) (*audit.Part, error) {
	made, err := makePackages(ctx, set, in, o)
	if err != nil {
		return nil, err
	}
	packages := map[*audit.Package]audit.PartPackage{}
	for p, pages := range made {
		x := part{Source: pages.source, Lock: pages.source.Lock, Entry: pages.entry}
		x.Files = lists.Map(pages.files, func(f output.File) partFile {
			return partFile{f.Path, f.Lock, string(f.Data)}
		})
		text, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		packages[p] = audit.PartPackage{Rows: pages.rows, Site: text}
	}
	return set.Part(in, audit.KindSitePart, "", packages), nil
}

// Merge makes the site that Render makes of the whole set.
func Merge(parts []*audit.Part, o Options) (*Site, error) {
	report, err := audit.MergeParts(parts)
	if err != nil {
		return nil, err
	}
	var all []*packagePages
	for _, p := range audit.PackagesOf(parts) {
		var x part
		if err := json.Unmarshal(p.Site, &x); err != nil {
			return nil, fmt.Errorf("the pages of package %d: %w", p.Index, err)
		}
		pages := &packagePages{source: x.Source, entry: x.Entry, rows: p.Rows}
		pages.source.Lock = x.Lock
		pages.files = lists.Map(x.Files, func(f partFile) output.File {
			return output.File{Path: f.Path, Lock: f.Lock, Data: []byte(f.Text)}
		})
		all = append(all, pages)
	}
	return whole(all, report, o)
}
