package main

import "testing"

func BenchmarkRoot(b *testing.B) {
	for b.Loop() {
		newRoot()
	}
}
