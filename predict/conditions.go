package predict

import "github.com/olmgen/olmgen/internal/cluster"

// notUpgradeable returns the reason why OLM does not replace a CSV, or "". An unreadable OperatorCondition is a finding
// and does not block.
func (c *prediction) notUpgradeable(v *csv) string {
	o := c.Conditions[v.Namespace+"/"+v.Name]
	if o == nil {
		return ""
	}
	why, err := cluster.NotUpgradeable(o)
	if err != nil {
		c.fault(err, o)
	}
	return why
}
