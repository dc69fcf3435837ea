package templates

import (
	"fmt"
	"io"
	"strings"
	"text/template"
)

// What a template may ask for: no object that an API server stores has more.
const (
	maxItems = 1 << 16 // numbers of until, untilStep and seq
	maxText  = 4 << 20 // bytes of repeat, indent and nindent, and of what a template yields
)

// boundNumbers has the functions that count refuse a large number.
func boundNumbers(f template.FuncMap) {
	numbers := func(start, stop, step int) error {
		if step == 0 || (stop < start) != (step < 0) {
			return nil // they make nothing
		}
		// In floating point nothing overflows.
		if n := (float64(stop) - float64(start)) / float64(step); n > maxItems {
			return fmt.Errorf("%.0f numbers are more than %d", n, maxItems)
		}
		return nil
	}
	untilStep := f["untilStep"].(func(int, int, int) []int)
	bounded := func(start, stop, step int) ([]int, error) {
		if err := numbers(start, stop, step); err != nil {
			return nil, err
		}
		return untilStep(start, stop, step), nil
	}
	f["untilStep"], f["until"] = bounded, func(count int) ([]int, error) { return bounded(0, count, sign(count)) }
	seq := f["seq"].(func(...int) string)
	f["seq"] = func(params ...int) (string, error) {
		start, stop, step := 1, 0, 0
		switch len(params) {
		case 1:
			stop = params[0]
		case 2:
			start, stop = params[0], params[1]
		case 3:
			start, step, stop = params[0], params[1], params[2]
		}
		if step == 0 {
			step = 1
			if stop < start {
				step = -1
			}
		}
		if err := numbers(start, stop, step); err != nil {
			return "", err
		}
		return seq(params...), nil
	}
}

// boundText has the functions that repeat a text refuse a large number.
func boundText(f template.FuncMap) {
	lines := func(s string) int { return strings.Count(s, "\n") + 1 }
	for name, each := range map[string]func(string) int{"indent": lines, "nindent": lines,
		"repeat": func(s string) int { return len(s) }} {
		inner := f[name].(func(int, string) string)
		f[name] = func(count int, s string) (string, error) {
			switch n := each(s); {
			case count < 0:
				return "", fmt.Errorf("%s: %d is below zero", name, count)
			case n > 0 && count > maxText/n:
				return "", fmt.Errorf("%d times %d characters are more than %d MiB", count, n, maxText>>20)
			}
			return inner(count, s), nil
		}
	}
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// limitedWriter refuses more than maxText bytes, so that a loop that prints ends.
type limitedWriter struct {
	io.Writer
	n int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.n += len(p); w.n > maxText {
		return 0, fmt.Errorf("the template yields more than %d MiB", maxText>>20)
	}
	return w.Writer.Write(p)
}
