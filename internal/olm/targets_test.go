package olm

import (
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMode(t *testing.T) {
	labels := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	for _, c := range []struct {
		spec operatorsv1.OperatorGroupSpec
		mode v1alpha1.InstallModeType
	}{
		{operatorsv1.OperatorGroupSpec{}, v1alpha1.InstallModeTypeAllNamespaces},
		{operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{}}, v1alpha1.InstallModeTypeAllNamespaces},
		{operatorsv1.OperatorGroupSpec{Selector: labels}, ""},
		{operatorsv1.OperatorGroupSpec{Selector: labels, TargetNamespaces: []string{"ops"}}, v1alpha1.InstallModeTypeOwnNamespace},
		{operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"a"}}, v1alpha1.InstallModeTypeSingleNamespace},
		{operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"a", "ops"}}, v1alpha1.InstallModeTypeMultiNamespace},
		{operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"ops", "a"}}, v1alpha1.InstallModeTypeMultiNamespace},
	} {
		targets := TargetsOf(&c.spec)
		if got := targets.Mode("ops"); got != c.mode {
			t.Errorf("%+v: %q, want %q", c.spec, got, c.mode)
		}
		if targets.Global() != (c.mode == v1alpha1.InstallModeTypeAllNamespaces) {
			t.Errorf("%+v: global: %v", c.spec, targets.Global())
		}
	}
}

func TestOwnKey(t *testing.T) {
	for key, want := range map[string]bool{LabelOwner: true, LabelComponent + "etcd.ops": true, "x." + Group + "/y": true, "example.com/olm.x": false,
		"notoperators.coreos.com/x": false, AnnotationProperties: false} {
		if OwnKey(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

func TestSupports(t *testing.T) {
	modes := []v1alpha1.InstallMode{{Type: v1alpha1.InstallModeTypeOwnNamespace, Supported: true}, {Type: v1alpha1.InstallModeTypeAllNamespaces}}
	for mode, want := range map[v1alpha1.InstallModeType]bool{
		v1alpha1.InstallModeTypeOwnNamespace: true, v1alpha1.InstallModeTypeAllNamespaces: false, v1alpha1.InstallModeTypeMultiNamespace: false,
	} {
		if Supports(modes, mode) != want {
			t.Errorf("%s: %v", mode, !want)
		}
	}
}
