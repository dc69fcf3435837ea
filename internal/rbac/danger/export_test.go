package danger

// Groups returns the API groups of the first need of a consequence, but for those of DeploymentConfigs, which are workloads like others.
func Groups(c Consequence) (out []string) {
	for _, p := range c.needs[0] {
		if p.groups[0] != "apps.openshift.io" {
			out = append(out, p.groups...)
		}
	}
	return out
}
