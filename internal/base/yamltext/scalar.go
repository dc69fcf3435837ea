package yamltext

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/lazy"
)

var yamlFloat = lazy.Regexp(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// words are the plain scalars that are not strings, as sigs.k8s.io/yaml (YAML 1.1) reads them.
var words = map[string]any{
	"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil,
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"true": true, "True": true, "TRUE": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
	"false": false, "False": false, "FALSE": false,
	".nan": math.NaN(), ".NaN": math.NaN(), ".NAN": math.NaN(),
	".inf": math.Inf(1), ".Inf": math.Inf(1), ".INF": math.Inf(1),
	"+.inf": math.Inf(1), "+.Inf": math.Inf(1), "+.INF": math.Inf(1),
	"-.inf": math.Inf(-1), "-.Inf": math.Inf(-1), "-.INF": math.Inf(-1),
}

// Scalar returns the value of a scalar node as Kubernetes reads it: nil, bool, int64, uint64, float64 or string.
func Scalar(n *yaml.Node) (any, error) {
	tag := n.Tag
	if n.Style&yaml.TaggedStyle == 0 {
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return n.Value, nil
		}
		return Plain(n.Value), nil
	}
	switch tag {
	case "!!str", "tag:yaml.org,2002:str", "!":
		return n.Value, nil
	case "!!binary":
		b, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return nil, fmt.Errorf("!!binary value is not base64")
		}
		return string(b), nil
	case "!!null", "!!bool", "!!int", "!!float", "!!timestamp":
		return tagged(tag, n.Value)
	}
	return nil, fmt.Errorf("unsupported YAML tag %s", tag)
}

func tagged(tag, s string) (any, error) {
	v, fits := Plain(s), false
	if i, ok := v.(int64); ok && tag == "!!float" {
		v = float64(i)
	}
	switch v.(type) {
	case nil:
		fits = tag == "!!null"
	case bool:
		fits = tag == "!!bool"
	case int64, uint64:
		fits = tag == "!!int"
	case float64:
		fits = tag == "!!float"
	case string:
		fits = tag == "!!timestamp" && IsTimestamp(s)
	}
	if !fits {
		return nil, fmt.Errorf("value %q does not fit its YAML tag %s", s, tag)
	}
	return v, nil
}

// Disputed reports whether an unquoted scalar means one thing to Kubernetes (YAML 1.1) and another to readers of YAML
// 1.2, such as kustomize: yes, no, on, off, y, n are booleans only to the former, 0o7 is a number only to the latter.
func Disputed[T string | []byte](s T) bool {
	if len(s) > 3 || len(s) == 0 {
		return len(s) > 3 && s[0] == '0' && s[1] == 'o'
	}
	switch string(s) {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return true
	}
	return s[0] == '0' && len(s) > 2 && s[1] == 'o'
}

// SurelyText reports whether an untagged, unquoted scalar begins as no number and no word does.
func SurelyText(s string) bool { return s != "" && textBegins[s[0]] }

var textBegins = func() (of [256]bool) {
	for c := range of {
		of[c] = (c < '0' || c > '9') && strings.IndexByte("+-.~nNyYoOtTfF", byte(c)) < 0
	}
	return of
}()

// Plain resolves an untagged, unquoted scalar.
func Plain(s string) any {
	if s == "" {
		return nil
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-':
		if v, ok := word(s); ok {
			return v
		}
		return number(s)
	case c == '.':
		if v, ok := word(s); ok {
			return v
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	case strings.IndexByte("~nNyYoOtTfF", c) >= 0:
		if v, ok := word(s); ok {
			return v
		}
	}
	return s
}

func word(s string) (value any, ok bool) {
	if len(s) > len("false") {
		return nil, false
	}
	value, ok = words[s]
	return value, ok
}

func number(s string) any {
	if IsTimestamp(s) {
		return s
	}
	p := strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(p, 0, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(p, 0, 64); err == nil {
		return u
	}
	if yamlFloat().MatchString(p) {
		if f, err := strconv.ParseFloat(p, 64); err == nil {
			return f
		}
	}
	if strings.HasPrefix(p, "0b") || strings.HasPrefix(p, "-0b") {
		if i, err := strconv.ParseInt(strings.Replace(p, "0b", "", 1), 2, 64); err == nil {
			return i
		}
	}
	return s
}

var timestampFormats = []string{
	"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2",
}

// IsTimestamp reports whether YAML 1.1 sees a time in s. Kubernetes' decoder keeps such a value as a string.
func IsTimestamp(s string) bool {
	if len(s) < 8 || s[4] != '-' || strings.Trim(s[:4], digits) != "" {
		return false
	}
	for _, f := range timestampFormats {
		if _, err := time.Parse(f, s); err == nil {
			return true
		}
	}
	return false
}
