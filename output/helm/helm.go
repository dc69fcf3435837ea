// Package helm makes a Helm chart of an operator's objects.
//
// [Chart.Files] returns the files of the chart. The operator's namespace and its target namespaces become values:
// [Chart] renders the operator for other namespaces and finds what differs. [CRDs] says where the chart has its CRDs.
// [ReleaseSize] computes the size of the release, which Helm stores in a Secret and which [ReleaseLimit] limits.
package helm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/templates"
)

// CRDs is where the CRDs of a chart are.
type CRDs string

// In templates/ helm upgrades the CRDs with the operator, and uninstalls them unless crds.keep is set; in crds/ it only
// ever installs them, and nothing in them can be a value.
const (
	CRDsTemplates CRDs = "templates"
	CRDsDirectory CRDs = "crds"
)

// Chart is what a chart is made of.
type Chart struct {
	Name, Version, Description string                             // the version must be semver 2
	Spec                       v1alpha1.ClusterServiceVersionSpec // of the bundle's CSV
	Namespace                  string                             // the operator's, by default
	Targets                    []string
	InstallMode                v1alpha1.InstallModeType
	FixedNamespaces            []string // namespaces that the bundle mentions; objects may be different there

	Objects  []generate.Object            // with the default values
	Names    []string                     // of their files
	FileName func(generate.Object) string // names the file of an object that the default values leave out
	// RenderIn renders the operator for another namespace and other targets. Without it, neither is a value.
	RenderIn func(namespace string, targets []string) ([]generate.Object, error)

	CRDs      CRDs // default: CRDsTemplates
	Templates *templates.Set
}

// File is one file of a chart: a slash-separated path and its bytes.
type File struct {
	Path string
	Data []byte
}

//go:embed static static/_deployment.tpl
var static embed.FS

// Files makes the chart. With its default values it renders to Objects.
func (c Chart) Files() ([]File, error) {
	if _, err := semver.Parse(c.Version); err != nil {
		return nil, fmt.Errorf("helm: %s: the version %q is not a version of a chart: %w", c.Name, c.Version, err)
	}
	if c.InstallMode != v1alpha1.InstallModeTypeSingleNamespace &&
		c.InstallMode != v1alpha1.InstallModeTypeMultiNamespace {
		c.Targets = nil
	}
	m, err := c.vary()
	if err != nil {
		return nil, err
	}
	s, err := m.settings()
	if err != nil {
		return nil, err
	}
	if err := m.configure(&c, s); err != nil {
		return nil, err
	}
	files, err := c.files(m)
	if err != nil {
		return nil, err
	}
	v := values{c: &c, m: m, s: s}
	for _, f := range []func() (File, error){c.chart, v.values, v.schema, v.checks} {
		file, err := f()
		if err != nil {
			return nil, err
		}
		if file.Path != "" {
			files = append(files, file)
		}
	}
	carried := map[string]string{".helmignore": "helmignore", "templates/NOTES.txt": "NOTES.txt"}
	if len(m.deployments) > 0 {
		carried["templates/_deployment.tpl"] = "_deployment.tpl"
	}
	for path, name := range carried {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{path, data})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func (c *Chart) files(m *model) ([]File, error) {
	var files []File
	for i := range m.entries {
		e := &m.entries[i]
		if c.CRDs == CRDsDirectory && isCRD(e.object) {
			files = append(files, File{"crds/" + e.file, e.object.Data})
			continue
		}
		text, err := e.template(m, c.CRDs)
		if err != nil {
			return nil, err
		}
		files = append(files, File{"templates/" + e.file, text})
	}
	return files, nil
}

func isCRD(o generate.Object) bool { return olm.IsCRD(o.Group(), o.Kind) }

func isDeployment(o generate.Object) bool { return o.Kind == "Deployment" && o.Group() == "apps" }

var unusual = lazy.Regexp(`[^A-Za-z0-9._-]`)

// chart makes Chart.yaml. A chart's name has letters, digits, dashes, underscores and dots.
func (c *Chart) chart() (File, error) {
	view := views.Chart{Name: unusual().ReplaceAllString(c.Name, "-"), Version: c.Version, AppVersion: c.Version,
		Description: c.Description}
	about(&view, c.Spec)
	data, err := c.Templates.Execute("chart.yaml", view)
	return File{"Chart.yaml", data}, err
}

// iconLimit is the largest icon that a chart carries, in bytes. Chart.yaml is part of every stored release and of the
// index of every chart repository.
const iconLimit = 16 << 10

// about fills in what a CSV says of its operator. What Helm would refuse is left out.
func about(chart *views.Chart, spec v1alpha1.ClusterServiceVersionSpec) {
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
	chart.Home = lists.Find(urls, func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	})
	for _, m := range spec.Maintainers {
		maintainer := views.Maintainer{Name: strings.TrimSpace(m.Name)}
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

// ReleaseLimit is what Helm can store of a release in one Secret (Kubernetes: pkg/apis/core/types.go, MaxSecretSize).
const ReleaseLimit = 1 << 20

// ReleaseSize returns about how many bytes Helm stores of a release of a chart, of its files and of the objects that
// it renders to. Helm stores both as JSON, compressed and in base64 (helm: pkg/storage/driver/util.go). Files in crds/
// are not among the objects of a release. What is surely below the limit is not compressed; its size is zero.
func ReleaseSize(files []File, objects []generate.Object) (int, error) {
	type file struct {
		Name string `json:"name"`
		Data []byte `json:"data"`
	}
	var release struct {
		Name  string `json:"name"`
		Chart struct {
			Templates []file `json:"templates"`
			Schema    []byte `json:"schema"`
			Files     []file `json:"files"`
		} `json:"chart"`
		Manifest string `json:"manifest"`
	}
	directory := false
	for _, f := range files {
		directory = directory || strings.HasPrefix(f.Path, "crds/")
		switch {
		case strings.HasPrefix(f.Path, "templates/"):
			release.Chart.Templates = append(release.Chart.Templates, file{f.Path, f.Data})
		case f.Path == "values.schema.json":
			release.Chart.Schema = f.Data
		default:
			release.Chart.Files = append(release.Chart.Files, file{f.Path, f.Data})
		}
	}
	var manifest strings.Builder
	for _, o := range objects {
		if !directory || !isCRD(o) {
			fmt.Fprintf(&manifest, "---\n# Source: templates/%s_%s.yaml\n%s", strings.ToLower(o.Kind), o.Name, o.Data)
		}
	}
	release.Manifest = manifest.String()
	data, err := json.Marshal(release)
	if err != nil || base64.StdEncoding.EncodedLen(len(data)) < ReleaseLimit {
		return 0, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(data); err != nil {
		return 0, err
	}
	err = w.Close()
	return base64.StdEncoding.EncodedLen(packed.Len()), err
}
