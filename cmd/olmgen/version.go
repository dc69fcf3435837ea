package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/findings"
)

// version is set by the linker in releases; otherwise the module's version is what Go recorded.
var version string

// build is what olmgen version prints as JSON. A field that is not known is missing.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Date      string `json:"date,omitempty"` // of the commit
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersion() *cobra.Command {
	format := findings.Text
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of olmgen",
		Args:  args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format == findings.Text {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "olmgen "+versionString())
				return err
			}
			return findings.WriteJSON(cmd.OutOrStdout(), buildOf())
		},
	}
	formatFlag(cmd, &format, []findings.Format{findings.Text, findings.JSON})
	return cmd
}

func buildOf() build {
	b := build{Version: versionString(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
