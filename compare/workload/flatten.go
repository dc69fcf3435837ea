package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// values are the fields of an object as text, by their path. An item of a list is called by its name where it has one,
// so that a list that is only reordered has the same fields.
type values map[string]string

// defaults are values that the API server fills in. Writing them down is no change (Kubernetes: pkg/apis/core/v1,
// defaults.go).
var defaults = map[string]string{
	"protocol":                 "TCP",
	"terminationMessagePath":   "/dev/termination-log",
	"terminationMessagePolicy": "File",
	"dnsPolicy":                "ClusterFirst",
	"restartPolicy":            "Always",
	"schedulerName":            "default-scheduler",
	"hostNetwork":              "false",
	"hostPID":                  "false",
	"hostIPC":                  "false",
	"privileged":               "false",
	"readOnly":                 "false",
	"readOnlyRootFilesystem":   "false",
	"runAsNonRoot":             "false",
	"enableServiceLinks":       "true",
	"defaultMode":              "420",
	"successThreshold":         "1",
	"failureThreshold":         "3",
	"periodSeconds":            "10",
	"timeoutSeconds":           "1",
	"revisionHistoryLimit":     "10",
	"progressDeadlineSeconds":  "600",
	"scheme":                   "HTTP",
	"sessionAffinity":          "None",
	"type":                     "ClusterIP",
}

// flatten adds the fields of a value.
func (v values) flatten(path string, value any) {
	switch x := value.(type) {
	case nil:
	case map[string]any:
		for key, item := range x {
			v.flatten(join(path, key), item)
		}
	case []any:
		v.list(path, x)
	default:
		text := scalar(path, x)
		if text != "" && defaults[last(path)] != text {
			v[path] = text
		}
	}
}

// join adds a key to a path. A key that could be taken for several is quoted.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]\""):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func (v values) list(path string, list []any) {
	switch last(path) {
	case "args":
		v.arguments(path, list)
		return
	case "command":
		v[path] = texts(list, " ")
		return
	}
	seen := map[string]int{}
	for i, item := range list {
		key := strconv.Itoa(i)
		m, isMap := item.(map[string]any)
		if isMap {
			key = nameOf(last(path), m, key)
		} else {
			key = scalar(path, item)
		}
		if seen[key]++; seen[key] > 1 {
			key += "#" + strconv.Itoa(seen[key])
		}
		at := path + "[" + key + "]"
		switch {
		case !isMap:
			v[at] = ""
		case wholes[last(path)]:
			v[at] = compact(m)
		default:
			v[at] = "" // it is there, whatever else it has
			v.flatten(at, m)
		}
	}
}

// wholes are lists whose items are compared as a whole.
var wholes = map[string]bool{"tolerations": true, "topologySpreadConstraints": true, "ingress": true, "egress": true,
	"matchConditions": true, "matchExpressions": true, "nodeSelectorTerms": true, "envFrom": true, "rules": true}

// nameOf returns what an item of a list is called.
func nameOf(list string, item map[string]any, otherwise string) string {
	keys := []string{"name", "mountPath", "containerPort", "port", "devicePath", "key", "path", "ip", "uid"}
	if list == "ports" {
		keys = []string{"containerPort", "port", "name"}
	}
	if list == "volumeMounts" {
		keys = []string{"mountPath"}
	}
	if wholes[list] {
		return compact(item)
	}
	for _, key := range keys {
		if s := scalar("", item[key]); s != "" {
			return s
		}
	}
	return otherwise
}

// arguments adds arguments by their flags: "--v=2" is the value 2 of --v.
func (v values) arguments(path string, list []any) {
	seen := map[string]int{}
	words := 0
	for i := range list {
		text := scalar("", list[i])
		key, value, ok := strings.Cut(text, "=")
		switch {
		case !strings.HasPrefix(text, "-") || strings.ContainsAny(key, " \n"):
			words++
			key, value = "word "+strconv.Itoa(words), text
		case !ok:
			value = ""
		}
		if seen[key]++; seen[key] > 1 {
			key += "#" + strconv.Itoa(seen[key])
		}
		v[path+"["+key+"]"] = value
	}
}

func texts(list []any, separator string) string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = scalar("", x)
	}
	return strings.Join(out, separator)
}

// scalar returns a value as text. Equal quantities have the same text.
func scalar(path string, value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		if quantity(path) {
			return canonical(x)
		}
		return x
	case bool, int, int32, int64, float64, json.Number:
		if quantity(path) {
			return canonical(fmt.Sprint(x))
		}
		return fmt.Sprint(x)
	}
	return compact(value)
}

func quantity(path string) bool {
	return strings.Contains(path, "resources.requests") || strings.Contains(path, "resources.limits") ||
		last(path) == "sizeLimit"
}

func canonical(s string) string {
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return s
	}
	return q.String()
}

// compact returns a value as JSON with sorted keys.
func compact(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// without removes what is below some paths.
func (v values) without(paths ...string) {
	for key := range v {
		if slices.ContainsFunc(paths, func(p string) bool {
			return key == p || strings.HasPrefix(key, p+".") || strings.HasPrefix(key, p+"[")
		}) {
			delete(v, key)
		}
	}
}
