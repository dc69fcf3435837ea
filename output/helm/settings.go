package helm

import (
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// settings are what the containers of the Deployments run and ask for, by Deployment and container.
type settings struct {
	images    map[string]any
	resources map[string]any
	replicas  map[string]any // of the Deployments that say it
}

// settings makes values of the images and resources of every Deployment. The same containers of a ClusterServiceVersion
// get them too, because OLM makes the Deployment of it.
func (m *model) settings() (*settings, error) {
	s := &settings{map[string]any{}, map[string]any{}, map[string]any{}}
	for _, kind := range []string{"Deployment.apps", "ClusterServiceVersion.operators.coreos.com"} {
		for i := range m.entries {
			e := &m.entries[i]
			if e.object.Kind+"."+e.object.Group() != kind {
				continue
			}
			v := e.value
			if v == nil {
				var err error
				if v, err = e.object.Value(); err != nil {
					return nil, err
				}
			}
			var found bool
			if e.object.Kind == "Deployment" {
				found = s.deployment(e.object.Name, v)
			} else {
				found = s.csv(v)
			}
			if found {
				e.value = v
			}
		}
	}
	return s, nil
}

// configure finds the objects that values change as spec.config of a Subscription does. A Deployment with characters
// that YAML has no room for cannot be among them: Helm would print nothing.
func (m *model) configure(c *Chart, s *settings) error {
	m.deployments, m.apiServices = map[string]bool{}, map[string]bool{}
	for _, d := range c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		m.deployments[d.Name] = s.images[d.Name] != nil
	}
	for _, e := range m.entries {
		if !isDeployment(e.object) || !m.deployments[e.object.Name] {
			continue
		}
		v, err := e.object.Value()
		if err != nil {
			return err
		}
		if _, err := yaml.Marshal(v); err != nil {
			m.deployments[e.object.Name] = false
		}
	}
	maps.DeleteFunc(m.deployments, func(_ string, ok bool) bool { return !ok })
	if len(m.deployments) > 0 {
		for _, a := range c.Spec.APIServiceDefinitions.Owned {
			m.apiServices[a.Version+"."+a.Group] = true
		}
	}
	return nil
}

// deployment makes values of a Deployment's containers and tells whether there are any. Another Deployment of that
// name, one for another namespace, has those values where it says the same.
func (s *settings) deployment(name string, v map[string]any) bool {
	if s.images[name] != nil {
		return s.reuse(name, v)
	}
	images, resources := map[string]any{}, map[string]any{}
	for _, c := range containers(v) {
		container, _ := c["name"].(string)
		image, _ := c["image"].(string)
		if container != "" && image != "" && images[container] == nil {
			images[container], resources[container] = image, resourcesOf(c)
		}
	}
	if len(images) == 0 {
		return false
	}
	s.images[name], s.resources[name] = images, resources
	if n, ok := dig(v, "spec")["replicas"]; ok {
		s.replicas[name] = n
	}
	return s.reuse(name, v)
}

// csv puts the Deployments' values into a ClusterServiceVersion, where it says the same.
func (s *settings) csv(v map[string]any) bool {
	changed := false
	list, _ := dig(v, "spec", "install", "spec")["deployments"].([]any)
	for _, x := range list {
		d, _ := x.(map[string]any)
		name, _ := d["name"].(string)
		changed = s.reuse(name, d) || changed
	}
	return changed
}

// reuse puts the values of a Deployment into another object that says the same.
func (s *settings) reuse(name string, v map[string]any) bool {
	changed := false
	for _, c := range containers(v) {
		container, _ := c["name"].(string)
		if image := dig(s.images, name)[container]; image != nil && c["image"] == image {
			c["image"] = setting{[]string{"images", name, container}, true}
			changed = true
		}
		if have, ok := dig(s.resources, name)[container]; ok && reflect.DeepEqual(have, resourcesOf(c)) {
			_, always := c["resources"]
			c["resources"] = setting{[]string{"resources", name, container}, always}
			changed = true
		}
	}
	return changed
}

// resourcesOf returns what a container asks for: nothing, if it does not say.
func resourcesOf(container map[string]any) any {
	if r, ok := container["resources"]; ok {
		return r
	}
	return map[string]any{}
}

func containers(deployment map[string]any) []map[string]any {
	pod := dig(deployment, "spec", "template", "spec")
	return slices.Concat(normalize.List(pod, "initContainers"), normalize.List(pod, "containers"))
}

func dig(v map[string]any, path ...string) map[string]any {
	for _, p := range path {
		v, _ = v[p].(map[string]any)
	}
	return v
}
