package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/manifest"
)

// An error does not repeat a hostile input without end. Its lines stay.
func TestErrorText(t *testing.T) {
	open := &fs.PathError{Op: "open", Path: "nowhere", Err: fs.ErrNotExist}
	for _, err := range []error{open, fmt.Errorf("nowhere: %w", open)} {
		if said, _ := config.ErrorText(err, nil); said != "nowhere: file does not exist" {
			t.Error(said)
		}
	}
	said, hint := config.ErrorText(manifest.WithHint(errors.New("a\n"+strings.Repeat("ö", 500_000)+"!"), "do this"), nil)
	lines := strings.Split(said, "\n")
	if len(lines) != 2 || lines[0] != "a" || utf8.RuneCountInString(lines[1]) != 4000 || !strings.HasSuffix(said, "ö!") || hint != "do this" {
		t.Errorf("%d lines, %d characters, %q", len(lines), utf8.RuneCountInString(said), hint)
	}
}
