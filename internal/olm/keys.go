package olm

import "strings"

// OwnKey reports whether a label or annotation is one that OLM writes on what it makes.
func OwnKey(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return strings.HasPrefix(key, "olm.") || strings.HasSuffix("."+prefix, "."+Group)
}
