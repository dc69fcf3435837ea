package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/output"
)

// A command that reads what it will write holds it before: while another run does, it does not get as far as the
// file, which is broken.
func TestHeldFromTheFirstRead(t *testing.T) {
	bundle := example(t, "bundle")
	t.Chdir(t.TempDir())
	subscription := "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: a, namespace: b}\n"
	for name, text := range map[string]string{"pin/pin.yaml": "]", "olmgen.yaml": "]", "tree.yaml": subscription} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must(t, os.WriteFile(name, []byte(text), 0o666))
	}
	for _, c := range []struct{ held, command string }{
		{"pin", "catalog pin tree.yaml -o pin"},
		{"olmgen.yaml", "update"},
		{"olmgen.yaml", "init --append " + bundle},
	} {
		for _, busy := range []bool{true, false} {
			hold := output.HoldFile
			if c.held == "pin" {
				hold = output.Hold
			}
			h, err := hold(c.held)
			must(t, err)
			if !busy {
				h.Release()
			}
			var stdout, stderr bytes.Buffer
			code := run(strings.Fields(c.command), strings.NewReader(""), &stdout, &stderr)
			said := strings.Contains(stderr.String(), "another olmgen is writing to "+c.held+" (process ")
			if code != exitFailed || said != busy || !busy && !strings.Contains(stderr.String(), ".yaml:1") {
				t.Errorf("%s: %d, %s", c.command, code, &stderr)
			}
			if busy {
				h.Release()
			}
			if left, err := filepath.Glob("*/.*olmgen-work"); err != nil || len(left) > 0 {
				t.Errorf("%s left %v", c.command, left)
			}
		}
	}
}
