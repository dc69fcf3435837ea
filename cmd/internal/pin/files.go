package pin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// The directories of the catalogs and for the cluster, and the file for oc-mirror.
const (
	catalogsDir  = "catalogs"
	clusterDir   = "cluster"
	imagesetFile = "imageset.yaml"
)

func (p *Pin) add(path string, data []byte) {
	p.Files = append(p.Files, output.File{Path: path, Data: data})
}

func (m *maker) makeFiles() error {
	dirs := directories(m.Catalogs)
	for i := range m.Catalogs {
		c := &m.Catalogs[i]
		for _, p := range c.Packages {
			m.add(path.Join(catalogsDir, dirs[i], p.Name, "catalog.yaml"), p.File)
		}
		m.add(path.Join(catalogsDir, dirs[i]+".Dockerfile"), dockerfile(dirs[i]))
	}
	m.add("images.txt", m.images())
	if err := m.clusterFiles(dirs); err != nil {
		return err
	}
	lock, err := m.Lock.bytes()
	m.add(LockName, lock)
	return err
}

// directories returns the directory of each catalog: its name, or where two have one name the namespace before it.
func directories(catalogs []Catalog) (dirs []string) {
	for _, c := range catalogs {
		dir := c.To.Name
		same := func(o Catalog) bool { return o.To.Name == c.To.Name && o.To != c.To }
		if slices.ContainsFunc(catalogs, same) {
			dir = cmp.Or(c.To.Namespace, "clustercatalog") + "." + dir
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// dockerfile returns what "opm generate dockerfile" writes, with the release of opm as an argument: the one whose rules
// the pinned catalogs keep (operator-registry: alpha/action/generate_dockerfile.go). Every release of OLM v0 and v1
// takes this form.
func dockerfile(dir string) []byte {
	return fmt.Appendf(nil, `# docker build -f %[1]s.Dockerfile -t REGISTRY/%[1]s .
ARG OPM_IMAGE=quay.io/operator-framework/opm:%[2]s.0
FROM ${OPM_IMAGE} AS builder
ADD %[1]s /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM ${OPM_IMAGE}
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
LABEL operators.operatorframework.io.index.configs.v1=/configs
`, dir, versions.Newest(versions.OPM).Number())
}

// images returns the images of all pinned bundles, and those that they name, one in each line.
func (m *maker) images() []byte {
	all := map[string]bool{}
	for _, c := range m.Catalogs {
		for _, p := range c.Packages {
			for _, image := range p.Images {
				all[image] = true
			}
		}
	}
	delete(all, "")
	var out bytes.Buffer
	for _, image := range lists.Keys(all) {
		out.WriteString(image + "\n")
	}
	return out.Bytes()
}

// setImage sets the image of a pinned catalog in the lock, and the content that it is of: the image that is given, else
// that of the old lock; empty if there is none.
func (m *maker) setImage(c *Catalog, locked *LockedCatalog) {
	image, ok := m.options.Images[c.Source.String()]
	if !ok && len(m.Catalogs) == 1 {
		image, ok = m.options.Images[""]
	}
	locked.Image, locked.Content = image, digest(c)
	if !ok {
		was := m.old.catalog(locked.Name)
		locked.Image, locked.Content = was.Image, was.Content
	}
}

func digest(c *Catalog) string {
	sum := sha256.New()
	for _, p := range c.Packages {
		fmt.Fprintf(sum, "%s\n%d\n", p.Name, len(p.File))
		sum.Write(p.File)
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil))
}

// checkImages refuses images for catalogs that are not pinned, and one image for several.
func (m *maker) checkImages() error {
	names := lists.Map(m.Catalogs, func(c Catalog) string { return c.Source.String() })
	for _, key := range lists.Keys(m.options.Images) {
		switch {
		case key == "" && len(names) > 1:
			return manifest.WithHint(fmt.Errorf("one image is given, and the pin has %s",
				text.Count(len(names), "catalog")), "give CATALOG=IMAGE for each of "+text.And(names))
		case key != "" && !slices.Contains(names, key):
			return manifest.WithHint(fmt.Errorf("an image is given for catalog %s, which is not pinned", key),
				"the pin has "+text.And(names))
		}
	}
	return nil
}

// clusterFiles adds the objects that make a cluster use the pinned catalogs, and the configuration of oc-mirror, if the
// image of each catalog is known.
func (m *maker) clusterFiles(dirs []string) error {
	if err := m.checkImages(); err != nil {
		return err
	}
	var missing, stale []string
	for i := range m.Catalogs {
		c, locked := &m.Catalogs[i], &m.Lock.Catalogs[i]
		m.setImage(c, locked)
		switch {
		case locked.Image == "":
			missing = append(missing, c.To.String())
		case locked.Content != digest(c):
			stale = append(stale, c.To.String())
		}
	}
	switch {
	case len(missing) > 0 && m.options.Admission.Write:
		return manifest.WithHint(fmt.Errorf("admission policies name the images of the pinned catalogs by digest, and "+
			"that of %s is not known", text.And(missing)), "pin without policies, build and push the catalogs, and "+
			"give their images")
	case len(missing) > 0:
		if len(m.options.Images)+len(m.cluster) > 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("the image of %s is not known. What the directory has for the "+
				"cluster stays as it is until you build and push each catalog, and give the images of all of them",
				text.And(missing)))
		}
		old, policies := m.keepsPolicies()
		if m.Files = append(m.Files, m.cluster...); policies {
			m.Lock.Admission = old
		}
		return nil
	case len(stale) > 0:
		m.Notes = append(m.Notes, fmt.Sprintf("the image of %s is of an earlier content: build and push it, and give "+
			"the new digest", text.And(stale)))
	}
	for _, c := range m.Catalogs {
		if c.To.Namespace == "" && olm.IsDefaultClusterCatalog(c.To.Name) {
			m.Notes = append(m.Notes, fmt.Sprintf("%s is a ClusterCatalog of OpenShift, which restores its image: "+
				"give the pinned one a name of its own", c.To))
		}
		if olm.IsDefaultCatalogSource(c.To.Namespace, c.To.Name) {
			m.Notes = append(m.Notes, fmt.Sprintf("%s is a CatalogSource of OpenShift, which restores it: disable it "+
				"in spec.sources of the OperatorHub cluster before the pinned one is applied", c.To))
		}
	}
	return m.clusterObjects(dirs)
}

func (m *maker) clusterObjects(dirs []string) error {
	set, err := templates.Load(nil)
	if err != nil {
		return err
	}
	var resources, images []string
	for i := range m.Catalogs {
		c, image := &m.Catalogs[i], m.Lock.Catalogs[i].Image
		file, data, err := catalogObject(set, c, image, c.priority, dirs[i])
		if err != nil {
			return err
		}
		m.add(path.Join(clusterDir, file), data)
		resources = append(resources, file)
		images = append(images, image)
	}
	policies, err := m.policies()
	if err != nil {
		return err
	}
	if policies != nil {
		m.add(path.Join(clusterDir, admissionFile), policies)
		resources = append(resources, admissionFile)
	}
	component, err := m.component(resources)
	if err != nil {
		return err
	}
	m.add(clusterDir+"/kustomization.yaml", component)
	imageset, err := ImageSet(m.Catalogs, images)
	m.add(imagesetFile, imageset)
	return err
}

// catalogObject returns the CatalogSource or ClusterCatalog of a pinned catalog, and the name of its file.
func catalogObject(set *templates.Set, c *Catalog, image string, priority int, dir string) (file string,
	data []byte, err error) {
	if c.To.Namespace == "" {
		data, err = set.Execute("clustercatalog.yaml", views.ClusterCatalog{Name: c.To.Name, Image: image,
			Priority: priority})
		return "clustercatalog-" + c.To.Name + ".yaml", data, err
	}
	data, err = set.Execute("catalogsource.yaml", views.CatalogSource{Name: c.To.Name, Namespace: c.To.Namespace,
		Image: image, Priority: priority})
	return "catalogsource-" + dir + ".yaml", data, err
}

// component returns a component of kustomize: the catalogs, and the patches that make Subscriptions and
// ClusterExtensions use them.
func (m *maker) component(resources []string) ([]byte, error) {
	var patches []map[string]any
	patch := func(target map[string]string, op, path string, value any) error {
		text, err := yaml.Marshal([]map[string]any{{"op": op, "path": path, "value": value}})
		patches = append(patches, map[string]any{"target": target, "patch": string(text)})
		return err
	}
	targets := map[string][]Source{} // of the Subscriptions of a name
	for _, n := range m.input.Namespaces {
		for i := range n.State.Subscriptions {
			name := n.Operators[i].Name
			targets[name] = lists.Add(targets[name], m.to(PackageOf(&n.State.Subscriptions[i]).Source))
		}
	}
	for _, l := range m.left {
		targets[l.Subscription] = lists.Add(targets[l.Subscription], Source{}) // none of the others
	}
	done := map[string]bool{}
	for _, n := range m.input.Namespaces {
		for i := range n.State.Subscriptions {
			from, name := PackageOf(&n.State.Subscriptions[i]).Source, n.Operators[i].Name
			to := m.to(from)
			if to == from || done[name] || !n.Operators[i].InGit {
				continue
			}
			of := map[string]string{"group": olm.Group, "kind": v1alpha1.SubscriptionKind, "name": name}
			if own := n.Operators[i].Own; own != "" || len(targets[name]) > 1 {
				of["namespace"] = cmp.Or(own, n.State.Namespace)
			} else { // an overlay or Flux may set the namespace after the component has been built
				done[name] = true
			}
			if err := patch(of, "replace", "/spec/source", to.Name); err != nil {
				return nil, err
			}
		}
	}
	for _, x := range m.input.Extensions {
		from := x.key().Source
		if to := m.to(from); to != from && x.InGit {
			of := map[string]string{"group": olm.GroupV1, "kind": olm.KindClusterExtension, "name": x.Name}
			selector := map[string]any{"matchLabels": map[string]string{predict.LabelCatalogName: to.Name}}
			if err := patch(of, "add", "/spec/source/catalog/selector", selector); err != nil {
				return nil, err
			}
		}
	}
	fields := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component",
		"resources": resources}
	if len(patches) > 0 {
		fields["patches"] = patches
	}
	data, err := yaml.Marshal(fields)
	return append([]byte(componentHead), data...), err
}

const componentHead = `# Add this directory to "components" of the kustomization.yaml that has the Subscriptions and
# ClusterExtensions.
`

// ImageSet returns an ImageSetConfiguration for oc-mirror v2: the pinned catalogs, by their images, as they are. The
// images of bundles that are not among their relatedImages stand beside them, because oc-mirror copies relatedImages
// only (oc-mirror: internal/pkg/operator/catalog_handler.go, handleRelatedImages).
func ImageSet(catalogs []Catalog, images []string) ([]byte, error) {
	var operators []map[string]any
	more := map[string]bool{}
	for i, c := range catalogs {
		operators = append(operators, map[string]any{"catalog": images[i], "full": true})
		for _, p := range c.Packages {
			for _, image := range p.Unnamed {
				more[image] = true
			}
		}
	}
	mirror := map[string]any{"operators": operators}
	if len(more) > 0 {
		mirror["additionalImages"] = lists.Map(lists.Keys(more),
			func(image string) map[string]string { return map[string]string{"name": image} })
	}
	return yaml.Marshal(map[string]any{"apiVersion": "mirror.openshift.io/v2alpha1", "kind": "ImageSetConfiguration",
		"mirror": mirror})
}
