package framework

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCSVField(t *testing.T) {
	for path, want := range map[string]string{
		"":                                     "",
		"ObjectMeta.Name":                      "metadata.name",
		"TypeMeta.Kind":                        "kind",
		"Spec.InstallStrategy.StrategyName":    "spec.install.strategy",
		"Spec.InstallStrategy.StrategySpec":    "spec.install.spec",
		"Spec.Nonsense.Deeper":                 "Spec.Nonsense.Deeper",
		"spec.relatedImages[0].image":          "spec.relatedImages[0].image",
		"Spec.CustomResourceDefinitions.Owned": "spec.customresourcedefinitions.owned",
	} {
		if got := csvField(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestInOrder(t *testing.T) {
	const head = "removed. Migrate the API(s) for "
	for msg, want := range map[string]string{
		"something else":                         "something else",
		head + `CRD: (["a" "b"])`:                head + `CRD: (["a" "b"])`,
		head + `Role: (["r"]),CRD: (["a" "b"]),`: head + `CRD: (["a" "b"]), Role: (["r"])`,
	} {
		if got := inOrder(msg); got != want {
			t.Errorf("%s: %s, want %s", msg, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(" a\n\tb. "); got != "a b" {
		t.Errorf("%q", got)
	}
	got := oneLine(strings.Repeat("ü", maxMessage))
	if len(got) > maxMessage+30 || !utf8.ValidString(got) || !strings.HasSuffix(got, "... (600 bytes more)") {
		t.Errorf("%d bytes, valid %v: %s", len(got), utf8.ValidString(got), got[len(got)-30:])
	}
}
