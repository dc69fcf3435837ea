package witness

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// formats has a text of each format that the API server checks (apiextensions-apiserver:
// pkg/apiserver/validation/formats.go). Their names are without hyphens there.
var formats = map[string]string{
	"bsonobjectid": "507f1f77bcf86cd799439011", "uri": "https://example.com", "email": "a@example.com",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "cidr": "192.0.2.0/24",
	"mac": "00:00:5e:00:53:01", "uuid": "a8098c1a-f86e-11da-bd1a-00112444be1e",
	"uuid3": "bcd02e22-68f0-3046-a512-327cca9def8f", "uuid4": "025b0d74-00a2-4048-bf57-227c5111bb34",
	"uuid5": "886313e1-3b8a-5372-9b90-0c9aee199e5d", "isbn": "0321751043", "isbn10": "0321751043",
	"isbn13": "978-0321751041", "creditcard": "4111111111111111", "ssn": "078-05-1120", "hexcolor": "#ffffff",
	"rgbcolor": "rgb(255,255,255)", "byte": "eHh4", "password": "x", "date": "2006-01-02", "duration": "1s",
	"datetime": "2006-01-02T15:04:05Z", "k8sshortname": "x", "k8slongname": "x.x",
}

// format returns the format of a schema, and "" for one that the API server does not check.
func format(s *Props) string {
	switch s.Type {
	case "", "string":
		name := strings.ReplaceAll(s.Format, "-", "")
		if _, ok := formats[name]; ok {
			return name
		}
	case "integer":
		if s.Format == "int32" || s.Format == "int64" {
			return s.Format
		}
	case "number":
		if s.Format == "float" || s.Format == "double" {
			return s.Format
		}
	}
	return ""
}

// others are texts that a new rule may be about.
var others = []string{"", "1", "0", "-1", "A_b 1", "a/b:c", "10Gi", "1.5", "true", "a\nb", "ä", "a", "example.com",
	"K8s-name"}

// mostLength is how long a text is, at most, and mostRepeated how often a part of a pattern is in one.
const (
	mostLength   = 1 << 15
	mostRepeated = 1 << 11
)

// words returns texts that are of interest to some schemas.
func (g *generator) words(schemas []*Props) []string {
	var out []string
	lengths := []int{1}
	for _, s := range schemas {
		if text, ok := formats[format(s)]; ok && s.Format != "" {
			out = append(out, text)
		}
		for _, b := range []*int64{s.MinLength, s.MaxLength} {
			if b != nil && *b < mostLength {
				lengths = append(lengths, int(*b), int(*b)+1, max(0, int(*b)-1))
			}
		}
	}
	for _, s := range schemas {
		if s.Pattern != "" {
			key := fmt.Sprint(s.Pattern, lengths)
			if _, known := g.samples[key]; !known {
				g.samples[key] = samples(s.Pattern, lengths)
			}
			out = append(out, g.samples[key]...)
		}
	}
	return slices.Concat(out, lists.Map(lengths, func(n int) string { return strings.Repeat("a", n) }), others)
}

// samples returns texts that match a pattern, or would if they stood elsewhere in a text.
func samples(pattern string, lengths []int) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var out []string
	for _, repeat := range append([]int{0, 1, 2, 7, 64}, lengths...) {
		if repeat > mostRepeated {
			continue
		}
		for choice := range 4 {
			var b strings.Builder
			write(&b, re, repeat, choice)
			if text := b.String(); len(text) <= mostLength && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// write writes a text that matches. What may be repeated is, some times. choice is the number of an alternative.
func write(b *strings.Builder, re *syntax.Regexp, repeat, choice int) {
	if b.Len() > 2*repeat+mostLength/64 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(oneOf(re.Rune, choice))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("a0-A"[choice%4])
	case syntax.OpAlternate:
		write(b, re.Sub[choice%len(re.Sub)], repeat, choice)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			write(b, sub, repeat, choice)
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, greatest := 0, math.MaxInt
		switch re.Op {
		case syntax.OpPlus:
			least = 1
		case syntax.OpQuest:
			greatest = 1
		case syntax.OpRepeat:
			least = re.Min
			if re.Max >= 0 {
				greatest = re.Max
			}
		}
		for range min(max(least, repeat), greatest) {
			write(b, re.Sub[0], repeat, choice)
		}
	}
}

func oneOf(class []rune, choice int) rune {
	has := func(r rune) bool {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return true
			}
		}
		return false
	}
	preferred := []rune("a0-A_.z9/: ")
	for i := range preferred {
		if r := preferred[(i+choice)%len(preferred)]; has(r) {
			return r
		}
	}
	if len(class) == 0 {
		return 'x'
	}
	return class[2*(choice%(len(class)/2))]
}

// numbers returns numbers that are of interest to some schemas.
func numbers(schemas []*Props, literals []any, fractions bool) []any {
	list := []float64{1, 0, 2, -1, 3, 5, 7, 100, 1 << 31, -1<<31 - 1, 1 << 40}
	if fractions {
		list = append(list, 1.5, 0.1, -0.5, 1e300)
	}
	near := func(n float64) { list = append(list, n, n-1, n+1) }
	for _, s := range schemas {
		for _, b := range []*float64{s.Minimum, s.Maximum} {
			if b == nil {
				continue
			}
			if near(*b); fractions {
				list = append(list, *b-0.5, *b+0.5)
			}
		}
		if m := s.MultipleOf; m != nil {
			list = append(list, *m, 2**m, 3**m, *m*(*m), -*m)
			for _, other := range schemas {
				if other.MultipleOf != nil {
					list = append(list, *m**other.MultipleOf, *m+*other.MultipleOf)
				}
			}
			for _, b := range []*float64{s.Minimum, s.Maximum} {
				if b != nil {
					list = append(list, math.Ceil(*b / *m)**m, math.Floor(*b / *m)**m)
				}
			}
		}
	}
	for _, v := range literals {
		switch n := v.(type) {
		case int64:
			near(float64(n))
		case float64:
			near(n)
		}
	}
	var out []any
	for _, n := range list {
		switch isWhole := n == math.Trunc(n) && math.Abs(n) < 1<<53; {
		case isWhole:
			out = append(out, int64(n))
		case fractions:
			out = append(out, n)
		}
	}
	return out
}

var patterns sync.Map // compiled, by their text; nil for one that no text matches

func matches(pattern, text string) bool {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = regexp.Compile(pattern)
		patterns.Store(pattern, re)
	}
	r, _ := re.(*regexp.Regexp)
	return r != nil && r.MatchString(text)
}

// fits reports whether a text, number or truth value fits all of some schemas, as far as that is quickly seen.
func fits(schemas []*Props, v any) bool {
	for _, s := range schemas {
		if len(s.Enum) > 0 && !slices.Contains(enumOf(s), v) {
			return false
		}
		ok := true
		switch v := v.(type) {
		case string:
			ok = fitsText(s, v)
		case int64:
			ok = (s.Type == "" || s.Type == "integer" || s.Type == "number") && fitsNumber(s, float64(v))
		case float64:
			ok = (s.Type == "" || s.Type == "number") && fitsNumber(s, v)
		case bool:
			ok = s.Type == "" || s.Type == "boolean"
		}
		if !ok {
			return false
		}
	}
	return true
}

func fitsText(s *Props, v string) bool {
	n := int64(utf8.RuneCountInString(v))
	f := format(s)
	return (s.Type == "" || s.Type == "string") &&
		(s.MinLength == nil || *s.MinLength <= n) && (s.MaxLength == nil || n <= *s.MaxLength) &&
		(s.Pattern == "" || matches(s.Pattern, v)) && (f == "" || v == formats[f])
}

func fitsNumber(s *Props, n float64) bool {
	within := func(bound *float64, exclusive bool, sign float64) bool {
		if bound == nil {
			return true
		}
		distance := sign * (*bound - n)
		return distance > 0 || distance == 0 && !exclusive
	}
	return within(s.Maximum, s.ExclusiveMaximum, 1) && within(s.Minimum, s.ExclusiveMinimum, -1) &&
		(s.MultipleOf == nil || *s.MultipleOf == 0 || math.Mod(n, *s.MultipleOf) == 0) &&
		(s.Type != "integer" || s.Format != "int32" || math.Abs(n) < 1<<31)
}

// texts returns JSON values as texts.
func texts[T any](list []T) (out []string) {
	for _, v := range list {
		if data, err := json.Marshal(v); err == nil {
			out = append(out, string(data))
		}
	}
	return out
}
