package output

import (
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/manifest"
)

func refuse(text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text)
}

// OptionForce names WriteOptions.Force in errors.
const OptionForce manifest.Option = "WriteOptions.Force"

// OptionReplace names WriteOptions.Replace in errors.
const OptionReplace manifest.Option = "WriteOptions.Replace"

// refuseOption is refuse with a hint about one option.
func refuseOption(option manifest.Option, text, format string, args ...any) error {
	return manifest.WithHint(fmt.Errorf(format, args...), text, option)
}

// unsupported reports whether this file system has no such operation, so that another way is tried.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported)
}
