//go:build !race

package fuzztest

const raced = 1
