package output

import (
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/manifest"
)

func refuse(text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text)
}

// OptionForce is the option of writing that errors are about.
const OptionForce manifest.Option = "WriteOptions.Force"

// refuseOption is refuse with a hint about one option.
func refuseOption(option manifest.Option, text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text, option)
}

// unsupported tells whether err means that this file system cannot do it at all, so that another way is worth a try.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported)
}
