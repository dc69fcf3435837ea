// Package generate turns a bundle and options into the Kubernetes objects that OLM would have made of them. It is pure: it reads no
// file and no cluster, and the same input gives the same bytes.
package generate
