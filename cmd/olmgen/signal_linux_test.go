package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// TestSignals sends what a terminal and a container engine send to commands in the middle of 4 MB: each ends within two
// seconds, with the exit code of the signal, and leaves nothing in its directory.
func TestSignals(t *testing.T) {
	fuzztest.Slow(t)
	olmgen := program(t)
	dir := t.TempDir()
	csv := "---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: p#.v1, namespace: n}\n" +
		"spec: {displayName: p, version: 1.0.0, installModes: [{type: AllNamespaces, supported: true}, " +
		"{type: OwnNamespace, supported: true}], install: {strategy: deployment, spec: {deployments: []}}}\n"
	subscription := "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: p, namespace: n}\n" +
		"spec: {name: p, channel: c, source: cat, sourceNamespace: n}\n---\napiVersion: operators.coreos.com/v1\n" +
		"kind: OperatorGroup\nmetadata: {name: g, namespace: n}\n"
	for name, text := range map[string]string{
		"csvs.yaml": lines(14_000, "", csv, ""),
		"tree.yaml": subscription,
		"cat.yaml":  catalogWith("- {name: p.v1.#.0, replaces: p.v1.~.0}\n", "")(20_000)["catalog.yaml"],
	} {
		must(t, os.WriteFile(dir+"/"+name, []byte(text), 0o666))
	}
	t.Run("a closed pipe", func(t *testing.T) {
		repo, temporary := t.TempDir(), t.TempDir()
		must(t, os.WriteFile(repo+"/tree.yaml", []byte(subscription), 0o666))
		for _, args := range []string{"init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm a"} {
			must(t, exec.Command("git", append([]string{"-C", repo}, strings.Fields(args)...)...).Run())
		}
		closed, out, err := os.Pipe()
		must(t, err)
		closed.Close()
		cmd := exec.Command(olmgen, "diff", "--git", "HEAD", ".")
		cmd.Dir, cmd.Stdout, cmd.Env = repo, out, append(os.Environ(), "TMPDIR="+temporary)
		err = cmd.Run()
		left, _ := os.ReadDir(temporary)
		if code := cmd.ProcessState.ExitCode(); code != exitSignal+int(syscall.SIGPIPE) || len(left) > 0 {
			t.Errorf("%v, and %d directories are left", err, len(left))
		}
	})
	for _, command := range []string{"check csvs.yaml", "lint csvs.yaml --policy operate-first", "permissions csvs.yaml",
		"diff csvs.yaml tree.yaml", "images csvs.yaml", "catalog resolve tree.yaml --catalog cat.yaml",
		"catalog pin tree.yaml --catalog cat.yaml -o pinned", "catalog site cat.yaml -o site",
		"update tree.yaml --catalog cat.yaml", "catalog audit cat.yaml"} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s, %s", command, signal), func(t *testing.T) {
				cmd := exec.Command(olmgen, strings.Fields(command)...)
				cmd.Dir = dir
				must(t, cmd.Start())
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-ended:
					t.Skip("it ended before the signal")
				case <-time.After(700 * time.Millisecond):
				}
				sent := time.Now()
				must(t, cmd.Process.Signal(signal))
				<-ended
				if d := time.Since(sent); d > 2*time.Second {
					t.Errorf("it took %v", d)
				}
				by, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
				if by.Signaled() && by.Signal() == signal { // before it listened: a shell says the same code
					return
				}
				if code := cmd.ProcessState.ExitCode(); code != exitSignal+int(signal) && code != exitDone && code != exitFound {
					t.Errorf("exit code %d", code)
				}
				left, err := os.ReadDir(dir)
				must(t, err)
				for _, e := range left {
					if !strings.HasSuffix(e.Name(), ".yaml") && !strings.HasSuffix(e.Name(), ".olmgen-work") {
						t.Errorf("%s is left", e.Name())
					}
				}
			})
		}
	}
}
