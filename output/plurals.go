package output

import (
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
)

func kindOf(x generate.Object) string { return x.Kind + "." + x.Group() }

// plurals returns the plurals of the objects' kinds. For a kind that is not known, the tree must contain its CRD.
func (t Tree) plurals(objects []generate.Shared) (map[string]string, error) {
	plurals := map[string]string{}
	var defined map[string]string
	for _, x := range objects {
		kind := kindOf(x.Object)
		if k, ok := olm.KindOf(x.Group(), x.Kind); ok {
			plurals[kind] = k.Plural
			continue
		}
		if defined == nil {
			var err error
			if defined, err = t.definedPlurals(); err != nil {
				return nil, err
			}
		}
		if plurals[kind] = defined[kind]; plurals[kind] == "" {
			return nil, refuse("its CRD, which has it, is not among the objects: use another layout",
				"the layout %s does not know the plural of kind %s of %s", LayoutClusterScope, x.Kind, x.APIVersion)
		}
	}
	return plurals, nil
}

// definedPlurals returns the plurals of the kinds that the CRDs in the tree define.
func (t Tree) definedPlurals() (map[string]string, error) {
	defined := map[string]string{}
	for _, x := range t.Objects {
		if !olm.IsCRD(x.Group(), x.Kind) {
			continue
		}
		o, err := x.Manifest()
		if err != nil {
			return nil, err
		}
		k, _ := olm.DefinedKind(o)
		defined[k.Name+"."+k.Group] = k.Plural
	}
	return defined, nil
}
