package predict

import "github.com/olmgen/olmgen/manifest"

// EachDecoding calls a function with each object of OLM v1 that is decoded, until the test ends.
func EachDecoding(cleanup func(func()), f func(o *manifest.Object)) {
	cleanup(func() { decode = (*manifest.Object).Into })
	decode = func(o *manifest.Object, into any) ([]string, error) {
		f(o)
		return o.Into(into)
	}
}
