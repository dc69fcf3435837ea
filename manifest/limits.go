package manifest

// Limits bound what reading may cost. The largest object in 14,245 public bundles has 2.1 MB and 58 levels.
type Limits struct {
	FileBytes int // of one file
	Depth     int // levels of mappings and sequences in one document
	Nodes     int // values in one document, those behind aliases counted each time they are used
	Documents int // in one file
}

// DefaultLimits are far above any real bundle and far below what harms a machine.
var DefaultLimits = Limits{FileBytes: 16 << 20, Depth: 200, Nodes: 1_000_000, Documents: 10_000}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	if l.FileBytes > 0 {
		d.FileBytes = l.FileBytes
	}
	if l.Depth > 0 {
		d.Depth = l.Depth
	}
	if l.Nodes > 0 {
		d.Nodes = l.Nodes
	}
	if l.Documents > 0 {
		d.Documents = l.Documents
	}
	return d
}
