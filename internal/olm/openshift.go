package olm

import (
	"fmt"
	"math"
	"strings"

	"github.com/blang/semver/v4"
)

// AnnotationOpenShiftVersions is an annotation of a bundle: the releases of OpenShift whose catalogs have it.
const AnnotationOpenShiftVersions = "com.redhat.openshift.versions"

// OpenShiftCatalogs returns the releases of OpenShift whose catalogs have a bundle: v4.6 is it and later ones, =v4.6 it
// alone, and v4.6-v4.8 these three; v4.5,v4.6 is what v4.5 is (Red Hat: Managing OpenShift Versions). No text is all.
func OpenShiftCatalogs(text string) (first, last semver.Version, err error) {
	last.Major = math.MaxUint64
	if text == "" {
		return first, last, nil
	}
	said, _, _ := strings.Cut(text, ",")
	said, only := strings.CutPrefix(strings.TrimSpace(said), "=")
	from, to, ranged := strings.Cut(said, "-")
	if first, err = semver.ParseTolerant(from); err == nil && only {
		last = first
	} else if err == nil && ranged {
		last, err = semver.ParseTolerant(to)
	}
	if err != nil || only && ranged || last.LT(first) {
		err = fmt.Errorf("%q names no releases of OpenShift: write such as v4.18, v4.18-v4.20 or =v4.18", text)
	}
	return first, last, err
}
