package validate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/cmd/internal/beside"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/cmd/internal/rules/validate/framework"
)

// The test binary is the helper program too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(beside.Main(beside.Validate, "", os.Args[1:], map[string]beside.Answer{
			validate.Question: beside.JSON(framework.Checker{}.Check),
		}, os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

func testHelper(t *testing.T) validate.Helper {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return validate.Helper{Program: &beside.Program{Name: beside.Validate, Path: path}}
}

// Asked in another process, the validators say what they say in this one. Its environment does not count.
func TestHelper(t *testing.T) {
	t.Setenv("OPERATOR_BUNDLE_CATEGORIES", "/does/not/exist")
	src := sourceOf(t, append(oldCRD("1.22.0"), change{csvFile, "provider: {name: Example}", "provider: {}"})...)
	got, err := validate.Bundle(t.Context(), src, validate.Options{Checker: testHelper(t), OperatorHub: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Unsetenv("OPERATOR_BUNDLE_CATEGORIES"); err != nil {
		t.Fatal(err)
	}
	want, err := validate.Bundle(t.Context(), src, validate.Options{Checker: framework.Checker{}, OperatorHub: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" || len(got) != 2 {
		t.Errorf("(-in this process +in another):\n%s%v", d, got)
	}
}

func TestHelperThatFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helpers of this test are shell scripts")
	}
	for name, test := range map[string]struct{ script, want string }{
		"it fails":        {"echo it is broken >&2; echo really >&2; exit 1", ": it is broken"},
		"it is of before": {"echo it is used otherwise >&2; exit 2", ": exit status 2: it is used otherwise"},
		"it talks":        {"read line; echo hello", ": its output is not readable: "},
		"it says nothing": {"read line", ": its output is not readable: "},
	} {
		path := filepath.Join(t.TempDir(), "helper")
		if err := os.WriteFile(path, []byte("#!/bin/sh\nPATH=/bin:/usr/bin\n"+test.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := validate.Bundle(t.Context(), sourceOf(t), validate.Options{
			Checker: validate.Helper{Program: &beside.Program{Path: path}}})
		if err == nil || !strings.Contains(err.Error(), path+test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	none := validate.Helper{Program: &beside.Program{Path: filepath.Join(t.TempDir(), "none")}}
	if _, err := none.Check(t.Context(), validate.Subject{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := testHelper(t).Check(canceled, validate.Subject{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context: %v", err)
	}
	if _, err := testHelper(t).Check(t.Context(), validate.Subject{}); err == nil ||
		!strings.Contains(err.Error(), "olmgen-validate: no ClusterServiceVersion") {
		t.Errorf("a question without sense: %v", err)
	}
}
