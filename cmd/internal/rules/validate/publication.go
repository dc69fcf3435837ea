package validate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/source"
)

// The sets of rules of the pipelines that publish operators for OpenShift.
const (
	Community = "community" // community-operators-prod
	Certified = "certified" // certified-operators, redhat-marketplace
)

// Catalogs are all sets of rules.
var Catalogs = []string{Community, Certified}

// RuleCatalogName is about the names of an operator.
const RuleCatalogName = "catalog/operator-name"

const (
	ruleCatalogDir     = "catalog/directory"
	ruleCatalogVersion = "catalog/version"
	ruleCatalogFields  = "catalog/required-fields"
	ruleCatalogKube    = "catalog/openshift-versions"
	ruleCatalogPruned  = "catalog/pruned-graph"
	ruleCatalogFeature = "catalog/features"
	ruleCatalogImages  = "catalog/related-images"
)

const (
	fromPipelines = " " + pipeline.Source + "static_tests/"
	fromPreflight = " Source: redhat-openshift-ecosystem/openshift-preflight, internal/policy/operator/"
)

// publisher asks what the pipelines of catalogs ask of one bundle.
type publisher struct {
	b     *bundle.Bundle
	place place
	list  []Finding
}

// place is where a bundle stands in the repository of a catalog.
type place struct {
	operator, version string // the names of the directories; empty outside of operators/NAME/VERSION
	others            bool   // the operator has other bundles
	fbc               bool   // it has file-based catalogs: its bundles are not asked about their graph
}

// placeOf returns the place of a source.
func placeOf(src *source.Source) (p place) {
	dir, err := filepath.Abs(src.Ref)
	if err != nil || src.Kind != source.KindDir || filepath.Base(filepath.Dir(filepath.Dir(dir))) != "operators" {
		return p
	}
	p.operator, p.version = filepath.Base(filepath.Dir(dir)), filepath.Base(dir)
	entries, err := os.ReadDir(filepath.Dir(dir))
	p.others = err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() != p.version && source.IsBundleDir(filepath.Join(filepath.Dir(dir), e.Name()))
	})
	ci, _ := pipeline.ReadCI(filepath.Dir(dir)) // release.Check says what is wrong with it
	p.fbc = ci.FBC.Enabled
	return p
}

// publication returns what the pipelines of catalogs refuse or warn of. Without a set of rules it names the pipelines
// that refuse a NetworkPolicy.
func publication(src *source.Source, b *bundle.Bundle, catalogs []string) []Finding {
	p := &publisher{b: b, place: placeOf(src)}
	p.openShiftVersions(slices.Contains(catalogs, Community))
	if len(catalogs) == 0 {
		p.networkPolicies(findings.Note)
		return p.list
	}
	p.networkPolicies(findings.Error)
	p.names()
	p.version()
	if slices.Contains(catalogs, Community) {
		p.requiredFields()
	}
	if slices.Contains(catalogs, Certified) {
		p.prunedGraph()
		p.features()
		p.relatedImages()
	}
	return p.list
}

// add adds a finding at a field of the CSV.
func (p *publisher) add(rule string, level findings.Severity, field, format string, args ...any) {
	p.list = append(p.list, finding(rule, level, p.b.CSVObject.Errorf(field, format, args...)))
}

// addAnnotation adds a finding at an annotation of the bundle.
func (p *publisher) addAnnotation(rule string, level findings.Severity, key, format string, args ...any) {
	p.list = append(p.list, finding(rule, level, p.b.AnnotationError(key, format, args...)))
}

// networkPolicies asks what check_network_policy_presence does (operator-pipelines: common/bundle.py).
func (p *publisher) networkPolicies(level findings.Severity) {
	for _, o := range p.b.Others {
		if o.Kind == "NetworkPolicy" && install.GroupOf(o) == networkingv1.GroupName {
			p.list = append(p.list, finding(ruleCatalog, level, o.Errorf("kind", "the pipeline of OpenShift's "+
				"catalogs community-operators, certified-operators and redhat-marketplace refuses bundles with "+
				"a NetworkPolicy (check_network_policy_presence)")))
		}
	}
}

// names asks what check_operator_name and check_operator_version_directory_name do (common/bundle.py).
func (p *publisher) names() {
	level := findings.Warning // but for the first bundle of an operator
	if p.place.operator != "" && !p.place.others {
		level = findings.Error
	}
	name, _, ok := strings.Cut(p.b.CSV.Name, ".")
	switch given := p.b.Annotations[olm.BundlePackage]; {
	case !ok:
		p.add(RuleCatalogName, findings.Error, "metadata.name", "%q is not the name of the operator, a period and the "+
			"version", p.b.CSV.Name)
	case given == "":
		p.addAnnotation(RuleCatalogName, findings.Error, olm.BundlePackage, "the annotation %s is missing",
			olm.BundlePackage)
	case given != name:
		p.add(RuleCatalogName, level, "metadata.name", "the operator is %q, and the annotation %s says %q", name,
			olm.BundlePackage, given)
	}
	if at, given := p.place.operator, p.b.Annotations[olm.BundlePackage]; at != "" && given != "" && at != given {
		p.addAnnotation(RuleCatalogName, level, olm.BundlePackage, "the package %q is in the directory %q", given, at)
	}
	if at := p.place.version; at != "" && at != p.written() {
		p.add(ruleCatalogDir, findings.Error, "spec.version", "the version %q is in the directory %q: its name must "+
			"be the version", p.written(), at)
	}
}

// version asks for a version that catalogs can order, and says that v1.0.0 is none (operator-registry:
// alpha/property/property.go and alpha/model/model.go; community/bundle.py, check_required_fields).
func (p *publisher) version() {
	if _, err := semver.Parse(p.written()); err != nil {
		p.add(ruleCatalogVersion, findings.Error, "spec.version", "%q is no version of semver.org, such as 1.2.3: %v",
			p.written(), err)
	}
}

// value returns a field of the CSV as it is written, nil if it is not there.
func (p *publisher) value(field string) any {
	v, err := p.b.CSVObject.Get(strings.Split(field, ".")...)
	if err != nil {
		return nil
	}
	return v
}

// written returns spec.version as it stands in the CSV.
func (p *publisher) written() string {
	s, _ := p.value("spec.version").(string)
	return s
}

// requiredFields are those of check_required_fields (community/bundle.py), but for the ones that the validators of
// OperatorHub.io look at.
var requiredFields = []struct {
	field string
	level findings.Severity
	like  string // what is valid, for people
	valid func(v any) bool
}{
	{"metadata.annotations.containerImage", findings.Warning, "an image with a tag", matches(`^([^/]+/)+[^/:]+:.+`)},
	{"metadata.annotations.createdAt", findings.Warning, "a time", matches(`^\d{4}(-?\d\d){0,2}([T ].*)?$`)},
	{"metadata.annotations.repository", findings.Warning, "a URL", matches(`^https?://.+`)},
	{"metadata.annotations.support", findings.Warning, "at least 3 characters", matches(`(?s)^.{3,}`)},
	{"metadata.annotations.description", findings.Warning, "at least 10 characters", matches(`(?s)^.{10,}`)},
	{"spec.displayName", findings.Error, "at least 3 characters", matches(`^.{3,50}`)},
	{"spec.description", findings.Error, "at least 20 characters", matches(`(?s)^.{20,}`)},
	{"spec.icon", findings.Error, "a PNG, JPEG, GIF or SVG image in base64", isIcon},
	{"spec.maintainers", findings.Error, "a list with name and email", isListOf("name", "email")},
	{"spec.provider.name", findings.Error, "at least 3 characters", matches(`^.{3,}`)},
	{"spec.links", findings.Error, "a list with name and url", isListOf("name", "url")},
	{"spec.keywords", findings.Warning, "a list of texts", isTexts},
}

func matches(pattern string) func(any) bool {
	compiled := lazy.Regexp(pattern)
	return func(v any) bool { return compiled().MatchString(fmt.Sprint(v)) }
}

func isTexts(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(x any) bool { _, ok := x.(string); return !ok })
}

func isListOf(fields ...string) func(any) bool {
	return func(v any) bool {
		list, ok := v.([]any)
		return ok && len(list) > 0 && !slices.ContainsFunc(list, func(x any) bool {
			m, _ := x.(map[string]any)
			return slices.ContainsFunc(fields, func(f string) bool { _, ok := m[f].(string); return !ok })
		})
	}
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/svg+xml"}

func isIcon(v any) bool {
	if !isListOf("base64data", "mediatype")(v) {
		return false
	}
	return !slices.ContainsFunc(v.([]any), func(x any) bool {
		icon := x.(map[string]any)
		data := strings.Join(strings.Fields(icon["base64data"].(string)), "")
		_, err := base64.StdEncoding.DecodeString(data)
		return err != nil || len(data) < 4 || !slices.Contains(imageTypes, icon["mediatype"].(string))
	})
}

func (p *publisher) requiredFields() {
	for _, f := range requiredFields {
		switch v := p.value(f.field); {
		case v == nil:
			p.add(ruleCatalogFields, f.level, f.field, "missing: the catalog wants %s", f.like)
		case !f.valid(v):
			p.add(ruleCatalogFields, f.level, f.field, "the catalog wants %s", f.like)
		}
	}
}

// kubernetesOf are the minor versions of Kubernetes of the releases of OpenShift 4 that the pipeline knows
// (community/bundle.py, OCP_TO_K8S).
var kubernetesOf = []uint64{1: 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}

// openShiftVersions asks whether the releases can be read, and for the community what check_api_version_constraints
// does (community/bundle.py). That is not asked of an operator with file-based catalogs, which a bundle alone does not
// say.
func (p *publisher) openShiftVersions(community bool) {
	least, said := p.b.CSV.Spec.MinKubeVersion, p.b.Annotations[olm.AnnotationOpenShiftVersions]
	level := findings.Error
	if p.place.operator == "" || !community {
		level = findings.Warning
	}
	first, last, err := olm.OpenShiftCatalogs(said)
	if err != nil {
		p.addAnnotation(ruleCatalogKube, level, olm.AnnotationOpenShiftVersions, "%v", err)
	}
	if err != nil || !community || least == "" || p.place.fbc {
		return
	}
	want, err := semver.ParseTolerant(least)
	want.Pre = nil // the pipeline compares without it
	if err != nil {
		p.add(ruleCatalogKube, level, "spec.minKubeVersion", "%q is no version: %v", least, err)
		return
	}
	if said == "" {
		p.add(ruleCatalogKube, level, "spec.minKubeVersion", "it is %s, and the annotation %s does not say for "+
			"which releases of OpenShift the bundle is", least, olm.AnnotationOpenShiftVersions)
		return
	}
	var older []string
	for minor, kubernetes := range kubernetesOf {
		release, has := semver.Version{Major: 4, Minor: uint64(minor)}, semver.Version{Major: 1, Minor: kubernetes}
		if minor > 0 && release.GE(first) && release.LE(last) && has.LT(want) {
			older = append(older, fmt.Sprintf("4.%d", minor))
		}
	}
	if len(older) > 0 {
		p.addAnnotation(ruleCatalogKube, level, olm.AnnotationOpenShiftVersions, "OpenShift %s is older than "+
			"minKubeVersion %s", strings.Join(older, ", "), least)
	}
}

// prunedGraph asks what check_pruned_graph does (isv/bundle.py).
func (p *publisher) prunedGraph() {
	if p.b.CSV.Annotations[olm.AnnotationSkipRange] == "" || p.b.CSV.Spec.Replaces != "" || p.place.fbc ||
		p.place.version != "" && !p.place.others {
		return
	}
	p.add(ruleCatalogPruned, findings.Warning, annotationField(olm.AnnotationSkipRange),
		"without spec.replaces it takes all other bundles out of the channel")
}

// featureKeys are the annotations of a CSV that say what an operator supports, first those that are required
// (openshift-preflight: required_annotations.go).
var featureKeys = []string{"disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws",
	"token-auth-azure", "token-auth-gcp", "cnf", "cni", "csi"}

const (
	requiredFeatures = 7
	featurePrefix    = "features.operators.openshift.io/"
	oldFeatures      = "operators.openshift.io/infrastructure-features"
)

func annotationField(key string) string { return `metadata.annotations["` + key + `"]` }

// features asks what RequiredAnnotations does.
func (p *publisher) features() {
	var missing []string
	for i, name := range featureKeys {
		switch value, ok := p.b.CSV.Annotations[featurePrefix+name]; {
		case !ok && i < requiredFeatures:
			missing = append(missing, name)
		case ok && value != "true" && value != "false":
			p.add(ruleCatalogFeature, findings.Error, annotationField(featurePrefix+name),
				`%q must be "true" or "false"`, value)
		}
	}
	if len(missing) > 0 {
		p.add(ruleCatalogFeature, findings.Error, "metadata.annotations", `missing, as "true" or "false": %s%s`,
			featurePrefix, strings.Join(missing, ", "))
	}
}

// disconnected reports whether the operator claims to work without a connection (openshift-preflight:
// internal/csv/csv.go).
func (p *publisher) disconnected() bool {
	var old []string
	err := json.Unmarshal([]byte(p.b.CSV.Annotations[oldFeatures]), &old)
	return p.b.CSV.Annotations[featurePrefix+featureKeys[0]] == "true" ||
		err == nil && slices.ContainsFunc(old, func(s string) bool { return strings.EqualFold(s, featureKeys[0]) })
}

// relatedImages asks what AllImageRefsInRelatedImages and FollowsRestrictedNetworkEnablementGuidelines do
// (related_images.go, restricted_network_aware.go). Both are optional there.
func (p *publisher) relatedImages() {
	all, err := images.List(p.b)
	if err != nil {
		return // it is refused
	}
	csv := lists.Filter(all, func(i images.Image) bool { return i.File == p.b.CSVObject.File && !i.Guess })
	related := lists.Set(lists.Filter(csv, func(i images.Image) bool { return i.Kind == images.KindRelated }),
		func(i images.Image) string { return i.Image })
	said := map[string]bool{}
	for _, i := range csv {
		if !related[i.Image] && !said[i.Image] && i.Kind != images.KindArgument {
			said[i.Image] = true
			p.add(ruleCatalogImages, findings.Note, i.Field, "the image %s is not in spec.relatedImages", i.Image)
		}
	}
	if !p.disconnected() {
		return
	}
	if len(related) == 0 {
		p.add(ruleCatalogImages, findings.Warning, "spec", "the operator says that it works disconnected, and has no "+
			"relatedImages")
	}
	for _, i := range csv {
		if i.Kind == images.KindRelated && !i.Pinned {
			p.add(ruleCatalogImages, findings.Warning, i.Field, "the operator says that it works disconnected, and "+
				"the image %s has no digest", i.Image)
		}
	}
	if !slices.ContainsFunc(csv, func(i images.Image) bool {
		return i.Kind == images.KindEnv && strings.HasPrefix(i.Name, "RELATED_IMAGE_")
	}) {
		p.add(ruleCatalogImages, findings.Warning, "spec.install.spec.deployments", "the operator says that it works "+
			"disconnected, and no container has a variable RELATED_IMAGE_...")
	}
}
