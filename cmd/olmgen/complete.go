package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	fbc "github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/source"
)

// releaseFlags are the flags that a shell completes with what the catalogs of a command line have.
var releaseFlags = map[string]func(*fbc.Package) []string{"package": packageName, "channel": channelsOf,
	"version": versionsOf, "old-version": versionsOf, "from": versionsOf, "to": versionsOf}

// offerReleases has a shell complete the packages, channels and versions of a command that chooses among them.
func offerReleases(cmd *cobra.Command) {
	for name, words := range releaseFlags {
		if cmd.Flags().Lookup(name) != nil {
			complete := func(cmd *cobra.Command, given []string, start string) ([]string, cobra.ShellCompDirective) {
				return releases(cmd, given, start, words)
			}
			if _, known := cmd.GetFlagCompletionFunc(name); !known {
				cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, complete))
			}
		}
	}
	if wordOf(cmd) == "PACKAGE" {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, start string) ([]string,
			cobra.ShellCompDirective) {
			return releases(cmd, nil, start, packageName)
		}
	}
}

func packageName(p *fbc.Package) []string { return []string{p.Name} }

func channelsOf(p *fbc.Package) []string {
	return lists.Map(p.Channels, func(ch *fbc.Channel) string { return ch.Name })
}

func versionsOf(p *fbc.Package) (versions []string) {
	for _, b := range p.Bundles {
		if v, ok := b.Version(); ok {
			versions = append(versions, v.String())
		}
	}
	return versions
}

// completionTime is how long a shell waits for words: nobody who presses a key waits for a large catalog.
const completionTime = time.Second

// releases returns what the packages of the catalogs of a command line have that begins with start: of the package that
// is named, or of all. It never uses the network. A catalog that cannot be read, or not in completionTime, has nothing,
// nor has a pipe or a device. A word that a shell would have to quote is left out.
func releases(cmd *cobra.Command, given []string, start string, words func(*fbc.Package) []string) ([]string,
	cobra.ShellCompDirective) {
	asked := strings.Join(given, " ") // of olmgen catalog path
	if f := cmd.Flags().Lookup("package"); f != nil {
		asked = f.Value.String()
	}
	refs := given
	if f := cmd.Flags().Lookup("catalog"); f != nil {
		refs = append(refs, valuesOf(f)...)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	all := make(chan []string, len(refs))
	go func() { // a parser looks at the context where it can
		defer close(all)
		for _, ref := range refs {
			ref, _, _ = strings.Cut(strings.TrimPrefix(ref[strings.LastIndexByte(ref, '=')+1:], "catalog:"), ",")
			all <- wordsIn(ctx, ref, asked, words)
		}
	}()
	var found []string
	for open := true; open; {
		var list []string
		select {
		case list, open = <-all:
			found = append(found, list...)
		case <-ctx.Done():
			open = false
		}
	}
	return lists.SortedUnique(lists.Filter(found, func(word string) bool {
		return strings.HasPrefix(word, start) && unquoted().MatchString(word)
	})), cobra.ShellCompDirectiveNoFileComp
}

// unquoted are words that a shell takes as they are.
var unquoted = lazy.Regexp(`^[\w.+:/@-]+$`)

// wordsIn returns the words of one catalog: of the package that is asked for, or of all.
func wordsIn(ctx context.Context, ref, asked string, words func(*fbc.Package) []string) (found []string) {
	if info, err := os.Stat(ref); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	c, err := fbc.Read(ctx, ref, fbc.Options{Source: source.Options{Offline: true}})
	for i := 0; err == nil && i < len(c.Names()); i++ {
		name := c.Names()[i]
		if c.Packages[asked] == nil || name == asked {
			found = append(found, words(c.Packages[name])...)
		}
	}
	return found
}
