package whole_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/whole"
)

// A file is read within its budget, whatever its size is said to be.
func TestReadFile(t *testing.T) {
	most := int(budget.Of(budget.RenderConfig).Bytes)
	name := filepath.Join(t.TempDir(), "a.yaml")
	for size, ok := range map[int]bool{0: true, most: true, most + 1: false, 64 * most: false} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, int64(size)); err != nil {
			t.Fatal(err)
		}
		data, err := whole.ReadFile(name, budget.RenderConfig)
		if (err == nil) != ok || ok && len(data) != size {
			t.Errorf("%d bytes: %d, %v", size, len(data), err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), filepath.ToSlash(name)) || !strings.HasSuffix(err.Error(), ": the file is larger than 4 MiB")) {
			t.Error(err)
		}
	}
	if _, err := whole.ReadFile(filepath.Join(t.TempDir(), "b"), budget.File); !os.IsNotExist(err) {
		t.Error(err)
	}
	if runtime.GOOS == "linux" {
		if _, err := whole.ReadFile("/dev/zero", budget.File); err == nil {
			t.Error("a device without an end")
		}
	}
}
