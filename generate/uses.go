package generate

// TakesCerts reports whether a provider can make the certificates in a profile.
func (p Profile) TakesCerts(c Certs) bool {
	switch p {
	case ProfileSubscription, ProfileClusterExtension:
		return false
	case ProfileOLMv1:
		return c != CertsUser && c != CertsOLM
	}
	return true
}

// HandsOver reports whether a profile hands the operator to OLM, which then installs it.
func (p Profile) HandsOver() bool { return p == ProfileSubscription || p == ProfileClusterExtension }
