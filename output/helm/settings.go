package helm

import "reflect"

// settings are what the containers of the Deployments run and ask for, by Deployment and container.
type settings struct {
	images    map[string]any
	resources map[string]any
}

// settle makes values of the images and resources of every Deployment, and of the same containers in a ClusterServiceVersion, from which OLM
// would make the Deployment again.
func (m *model) settle() (*settings, error) {
	s := &settings{map[string]any{}, map[string]any{}}
	for _, kind := range []string{"Deployment", "ClusterServiceVersion"} {
		for i := range m.entries {
			e := &m.entries[i]
			if e.object.Kind != kind {
				continue
			}
			v := e.value
			if v == nil {
				var err error
				if v, err = decode(e.object); err != nil {
					return nil, err
				}
			}
			if kind == "Deployment" && s.deployment(e.object.Name, v) || kind != "Deployment" && s.csv(v) {
				e.value = v
			}
		}
	}
	return s, nil
}

// deployment makes values of a Deployment's containers and tells whether there are any.
func (s *settings) deployment(name string, v map[string]any) bool {
	if s.images[name] != nil { // a second one, in another namespace
		return false
	}
	images, resources := map[string]any{}, map[string]any{}
	for _, c := range containers(v) {
		container, _ := c["name"].(string)
		image, _ := c["image"].(string)
		if container == "" || image == "" || images[container] != nil {
			continue
		}
		have, always := c["resources"]
		if !always {
			have = map[string]any{}
		}
		images[container], resources[container] = image, have
		c["image"] = setting{[]string{"images", name, container}, true}
		c["resources"] = setting{[]string{"resources", name, container}, always}
	}
	if len(images) > 0 {
		s.images[name], s.resources[name] = images, resources
	}
	return len(images) > 0
}

// csv puts the Deployments' values into a ClusterServiceVersion, where it says the same.
func (s *settings) csv(v map[string]any) bool {
	changed := false
	list, _ := dig(v, "spec", "install", "spec")["deployments"].([]any)
	for _, x := range list {
		d, _ := x.(map[string]any)
		name, _ := d["name"].(string)
		for _, c := range containers(d) {
			container, _ := c["name"].(string)
			if image := dig(s.images, name)[container]; image != nil && c["image"] == image {
				c["image"] = setting{[]string{"images", name, container}, true}
				changed = true
			}
			have, always := c["resources"]
			if !always {
				have = map[string]any{}
			}
			if resources, ok := dig(s.resources, name)[container]; ok && reflect.DeepEqual(have, resources) {
				c["resources"] = setting{[]string{"resources", name, container}, always}
				changed = true
			}
		}
	}
	return changed
}

// containers gives those of a Deployment, or of one in a ClusterServiceVersion.
func containers(deployment map[string]any) []map[string]any {
	pod := dig(deployment, "spec", "template", "spec")
	var out []map[string]any
	for _, field := range []string{"initContainers", "containers"} {
		list, _ := pod[field].([]any)
		for _, x := range list {
			if c, ok := x.(map[string]any); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// dig gives a mapping inside of others, nil if it is not there.
func dig(v map[string]any, path ...string) map[string]any {
	for _, p := range path {
		v, _ = v[p].(map[string]any)
	}
	return v
}
