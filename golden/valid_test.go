package golden

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/generate"
)

// labelled are the parts of any object that the API server checks for valid labels.
type labelled struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Template struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		} `json:"template"`
	} `json:"spec"`
	AggregationRule struct {
		ClusterRoleSelectors []metav1.LabelSelector `json:"clusterRoleSelectors"`
	} `json:"aggregationRule"`
}

// invalid lists what the API server would not take of an object's name, namespace, labels and annotations.
func invalid(o generate.Object) []string {
	var l labelled
	data := o.Data
	if before, _, ok := bytes.Cut(data, []byte("\nspec:\n")); ok && o.Kind == "CustomResourceDefinition" && bytes.Contains(before, []byte("\nmetadata:\n")) {
		data = before // the rest is long and has no labels
	}
	if err := yaml.Unmarshal(data, &l); err != nil {
		return []string{fmt.Sprintf("%s %s: %v", o.Kind, o.Name, err)}
	}
	problems := validName(o.Kind)(o.Name)
	if o.Namespace != "" {
		problems = append(problems, validation.IsDNS1123Label(o.Namespace)...)
	}
	if l.Metadata.Name != o.Name || l.Metadata.Namespace != o.Namespace {
		problems = append(problems, fmt.Sprintf("it says that it is %s/%s", l.Metadata.Namespace, l.Metadata.Name))
	}
	var errs field.ErrorList
	for at, meta := range map[string]metav1.ObjectMeta{"metadata": l.Metadata, "spec.template.metadata": l.Spec.Template.Metadata} {
		errs = append(errs, metav1validation.ValidateLabels(meta.Labels, field.NewPath(at, "labels"))...)
		errs = append(errs, apivalidation.ValidateAnnotations(meta.Annotations, field.NewPath(at, "annotations"))...)
	}
	for i := range l.AggregationRule.ClusterRoleSelectors {
		errs = append(errs, metav1validation.ValidateLabelSelector(&l.AggregationRule.ClusterRoleSelectors[i], metav1validation.LabelSelectorValidationOptions{}, field.NewPath("aggregationRule"))...)
	}
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	for i, p := range problems {
		problems[i] = fmt.Sprintf("%s %s/%s: %s", o.Kind, o.Namespace, o.Name, p)
	}
	return problems
}

// validName returns the API server's rule for names of a kind.
func validName(kind string) func(string) []string {
	switch kind {
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return content.IsPathSegmentName
	case "Namespace":
		return validation.IsDNS1123Label
	case "Service":
		return validation.IsDNS1035Label
	}
	return validation.IsDNS1123Subdomain
}
