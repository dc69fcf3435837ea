package adopt

import (
	"testing"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/fit"
)

func TestOpenShift(t *testing.T) {
	for status, want := range map[string]string{
		`{}`: "", `{desired: {version: 4.20.1}}`: "4.20.1",
		`{desired: {version: 4.21.0}, history: [{state: Partial, version: 4.21.0}, {state: Completed, version: 4.20.3}]}`: "4.20.3",
		`{desired: {version: 4.21.0}, history: [{state: Completed}]}`:                                                     "4.21.0",
	} {
		version := item("ClusterVersion", "version", "status: "+status)
		version["apiVersion"] = "config.openshift.io/v1"
		s := cluster(t, append(migrating(), version))
		if got := OpenShift(s.Dump); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
	if got := OpenShift(cluster(t, migrating()).Dump); got != "" {
		t.Error(got)
	}
}

// The file names the release that its profile is for.
func TestReleasesOfFile(t *testing.T) {
	target, err := fit.Given{OLM: []string{"v0.40", "v1.10"}, OpenShift: "4.20"}.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to             generate.Profile
		asked          bool
		olm, openshift string
	}{
		{generate.ProfileOLM, true, "v0.40", `"4.20"`}, {generate.ProfileOLM, false, "v0.40", ""},
		{generate.ProfileClusterExtension, false, "v1.10", `"4.20"`}, {generate.ProfilePlain, true, "", `"4.20"`},
	} {
		s := &State{Target: target, Asked: c.asked}
		if olm, openshift := s.releases(c.to); olm != c.olm || openshift != c.openshift {
			t.Errorf("%s, asked %t: %q, %q", c.to, c.asked, olm, openshift)
		}
	}
	if olm, openshift := (&State{}).releases(generate.ProfileOLMv1); olm+openshift != "" {
		t.Error(olm, openshift)
	}
}
