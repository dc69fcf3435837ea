package output

import (
	"errors"
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

func refuse(text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text)
}

const maxNamed = 5

// some joins the first few names and says how many more there are.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// unsupported tells whether err means that this file system cannot do it at all, so that another way is worth a try.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported)
}
