package main

import (
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	const in = `{"Action":"start","Package":"b"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"bad.go:1: no\n"}
{"Action":"output","Package":"b","Output":"ok  \tb\t0.1s\n"}
{"Action":"pass","Package":"b"}
{"Action":"pass","Package":"a","Test":"TestGood"}
{"Action":"fail","Package":"a","Test":"TestBad"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.2s\n"}
{"Action":"fail","Package":"a"}
{"Action":"build-output","ImportPath":"c","Output":"c.go:1: undefined: x\n"}
`
	var out strings.Builder
	if err := lines(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	const want = "ok  \tb\t0.1s\nbad.go:1: no\nFAIL\ta\t0.2s\nc.go:1: undefined: x\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if err := lines(strings.NewReader("no JSON\n"), &out); err == nil || !strings.HasSuffix(out.String(), "no JSON\n") {
		t.Errorf("%v, %q", err, out.String())
	}
}
