package source

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

// A registry that cannot be reached is an error with a way around it.
func TestUnreachableRegistry(t *testing.T) {
	err := pullError("x.io/a:1", fmt.Errorf("get: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no such host")}))
	want := "the registry cannot be reached: set HTTPS_PROXY if there is a proxy, or fetch it with network access " +
		"(skopeo copy docker://x.io/a:1 oci:DIR) and use oci-layout:DIR"
	h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok || err.Error() != "x.io/a:1: get: dial tcp: no such host" || h.Hint() != want {
		t.Errorf("%#v", err)
	}
}
