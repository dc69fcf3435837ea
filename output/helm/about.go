package helm

import (
	"cmp"
	"encoding/base64"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/templates"
)

// iconLimit is the largest icon that a chart carries, in bytes. Chart.yaml is part of every stored release and of the
// index of every chart repository.
const iconLimit = 16 << 10

// about fills in what a CSV says of its operator. What Helm would refuse is left out.
func about(chart *templates.Chart, spec v1alpha1.ClusterServiceVersionSpec) {
	if v, err := semver.ParseTolerant(spec.MinKubeVersion); spec.MinKubeVersion != "" && err == nil {
		chart.KubeVersion = ">=" + v.FinalizeVersion() + "-0" // versions of vendors look like pre-releases
	}
	for _, k := range spec.Keywords {
		if k = strings.TrimSpace(k); k != "" && !slices.Contains(chart.Keywords, k) {
			chart.Keywords = append(chart.Keywords, k)
		}
	}
	urls := []string{spec.Provider.URL}
	for _, l := range spec.Links {
		urls = append(urls, l.URL)
	}
	if i := slices.IndexFunc(urls, isWebPage); i >= 0 {
		chart.Home = urls[i]
	}
	for _, m := range spec.Maintainers {
		maintainer := templates.Maintainer{Name: strings.TrimSpace(m.Name)}
		if a, err := mail.ParseAddress(m.Email); err == nil && a.Address == m.Email &&
			plainEmail().MatchString(m.Email) {
			maintainer.Email = m.Email
		}
		maintainer.Name = cmp.Or(maintainer.Name, maintainer.Email)
		if maintainer.Name != "" && !slices.Contains(chart.Maintainers, maintainer) {
			chart.Maintainers = append(chart.Maintainers, maintainer)
		}
	}
	for _, i := range spec.Icon {
		data := strings.Join(strings.Fields(i.Data), "")
		if _, err := base64.StdEncoding.DecodeString(data); data != "" && err == nil && len(data) <= iconLimit &&
			mediaType().MatchString(i.MediaType) {
			chart.Icon = "data:" + i.MediaType + ";base64," + data
			break
		}
	}
}

var (
	plainEmail = lazy.Regexp(`^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*\.[a-zA-Z]{2,}$`)
	mediaType  = lazy.Regexp(`^image/[a-z0-9.+-]+$`)
)

func isWebPage(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
