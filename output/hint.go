package output

import (
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
