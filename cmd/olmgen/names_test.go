package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A name that no object can have is refused before it reaches a file name, a Dockerfile, a comment, a patch or CEL, and
// before a path is opened that has it.
func TestNamesInFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		subscription = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: a, namespace: olm}\n" +
			"spec: {name: %q, channel: stable, source: %q, sourceNamespace: olm}\n" +
			"---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: a, namespace: olm}\n"
		content = "{\"schema\": \"olm.package\", \"name\": %q, \"defaultChannel\": \"stable\"}\n" +
			"{\"schema\": \"olm.channel\", \"package\": %[1]q, \"name\": \"stable\", \"entries\": [{\"name\": \"a.v1.0.0\"}]}\n" +
			"{\"schema\": \"olm.bundle\", \"package\": %[1]q, \"name\": \"a.v1.0.0\", \"image\": \"example.com/a:v1\", \"relatedImages\": [{\"name\": \"a\", \"image\": %[2]q}], \"properties\": " +
			"[{\"type\": \"olm.package\", \"value\": {\"packageName\": %[1]q, \"version\": \"1.0.0\"}}]}\n"
		lock = "apiVersion: olmgen.dev/v1alpha1\nkind: CatalogPin\ncatalogs:\n- {source: %q, name: %q}\noperators: []\n"
	)
	pin := func(pkg, source, image string) (code int, said string) {
		must(t, os.WriteFile("tree.yaml", fmt.Appendf(nil, subscription, pkg, source), 0o666))
		must(t, os.WriteFile("catalog.json", fmt.Appendf(nil, content, pkg, image), 0o666))
		var stdout, stderr bytes.Buffer
		code = run([]string{"catalog", "pin", "tree.yaml", "--catalog", "catalog.json", "-o", "pin"},
			strings.NewReader(""), &stdout, &stderr)
		return code, stderr.String()
	}
	const image = "example.com/a@sha256:6666666666666666666666666666666666666666666666666666666666666666"
	for _, bad := range []string{"x #y", "c http://evil.example/x.tar", `a"b`, "a\nb", "../up", "$(id)", "UPPER", "a{{b"} {
		for what, try := range map[string]func() (int, string){
			"catalog": func() (int, string) { return pin("a", bad, image) },
			"package": func() (int, string) { return pin(bad, "c", image) },
			"lock": func() (int, string) {
				must(t, os.Mkdir("pin", 0o777))
				must(t, os.WriteFile("pin/pin.yaml", fmt.Appendf(nil, lock, "olm/c", "olm/"+bad), 0o666))
				return pin("a", "c", image)
			},
		} {
			code, said := try()
			if code == exitDone || !strings.Contains(said, "has the name ") &&
				(what != "package" || !strings.Contains(said, "invalid package name")) {
				t.Errorf("%s %q: %d, %s", what, bad, code, said)
			}
			if _, err := os.Stat("pin/catalogs"); err == nil {
				t.Errorf("%s %q is written", what, bad)
			}
			must(t, os.RemoveAll("pin"))
		}
	}
	for _, bad := range []string{"a b", "a\nhint: b", "a\u2028b"} {
		if code, said := pin("a", "c", bad); code != exitFailed || !strings.Contains(said, "invalid reference format") {
			t.Errorf("image %q: %d, %s", bad, code, said)
		}
	}
	if code, said := pin("a", "c", image); code != exitDone {
		t.Error(code, said)
	}
}
