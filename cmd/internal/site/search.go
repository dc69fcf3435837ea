package site

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// allWords is how many bytes the words that only the search sees have on the index, for all packages together. Each
// package may have leastWords whatever the number of packages.
const (
	allWords   = 36_000
	leastWords = 80
)

// words returns what the search finds an operator by, beside what the index shows: categories, provider, keywords and
// kinds, in lower case and each once.
func words(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	add := func(text string) {
		if text = strings.ToLower(clean(text)); text != "" {
			out = lists.Add(out, text)
		}
	}
	for c := range strings.SplitSeq(csv.Annotations["categories"], ",") {
		add(c)
	}
	add(csv.Spec.Provider.Name)
	for _, k := range csv.Spec.Keywords {
		add(k)
	}
	for _, c := range csv.Spec.CustomResourceDefinitions.Owned {
		add(c.Kind)
	}
	return out
}

// within returns as many of the words as fit, without those that are in the text already.
func within(list []string, text string, most int) string {
	var b strings.Builder
	text = strings.ToLower(text)
	for _, w := range list {
		if strings.Contains(text, w) || strings.Contains(b.String(), w) {
			continue
		}
		if b.Len()+len(w)+1 > most {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}
