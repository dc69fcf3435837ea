package bundle

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDigestIsWhatSha256sumSays(t *testing.T) {
	sha256sum, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is not here")
	}
	dir := "../examples/memcached-operator/bundle"
	b, err := Read(os.DirFS(dir), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", sha256sum+" $(ls manifests/* metadata/* | LC_ALL=C sort) | "+sha256sum)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "sha256:" + strings.Fields(string(out))[0]; b.Digest() != want {
		t.Errorf("%s, want %s", b.Digest(), want)
	}
}

func TestDigestDependsOnEveryFile(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"manifests/csv.yaml", "metadata/annotations.yaml"} {
		files[name] = &fstest.MapFile{Data: []byte(goodFile(t, name))}
	}
	read := func() string {
		b, err := Read(files, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return b.Digest()
	}
	first := read()
	if again := read(); again != first {
		t.Errorf("read twice: %s and %s", first, again)
	}
	for name := range files {
		files[name].Data = append(files[name].Data, '\n')
		if now := read(); now == first {
			t.Errorf("%s may change without another digest", name)
		}
	}
}

func goodFile(t *testing.T, name string) string {
	t.Helper()
	if strings.HasPrefix(name, "metadata") {
		return "annotations:\n  operators.operatorframework.io.bundle.package.v1: x\n"
	}
	return "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: x.v1.0.0\n"
}
