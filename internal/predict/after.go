package predict

import (
	"maps"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// after returns the cluster that OLM leaves.
func (o *simulation) after(objects []*manifest.Object) (out []*manifest.Object) {
	known := map[*manifest.Object]*csv{}
	for _, v := range o.csvs {
		if v.sub == nil {
			known[v.Object] = v
		}
	}
	for _, x := range objects {
		if x.Group() == olm.Group && x.Kind == "ClusterServiceVersion" && known[x] != nil {
			v := known[x]
			if v.deleted {
				continue
			}
			x = withStatus(x, v.status())
		}
		out = append(out, x)
	}
	for _, v := range o.csvs {
		if v.sub != nil && !v.deleted {
			out = append(out, withStatus(inNamespace(v.Object, v.namespace), v.status()))
		}
	}
	return out
}

func (v *csv) status() map[string]any {
	return map[string]any{"phase": string(v.phase), "reason": string(v.reason), "message": v.message}
}

// withStatus returns an object with some fields of its status set.
func withStatus(o *manifest.Object, fields map[string]any) *manifest.Object {
	value, err := o.Value()
	if err != nil {
		return o
	}
	value = maps.Clone(value)
	status, _ := value["status"].(map[string]any)
	status = maps.Clone(status)
	if status == nil {
		status = map[string]any{}
	}
	maps.Copy(status, fields)
	value["status"] = status
	out := o.Derive(value, func(field string) string { return field })
	out.Namespace = o.Namespace
	return out
}
