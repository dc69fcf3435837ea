package generate

import "testing"

func TestServiceName(t *testing.T) {
	if got := serviceName("my.dep"); got != "my-dep-service" {
		t.Errorf("got %q", got)
	}
}
