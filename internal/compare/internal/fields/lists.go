package fields

import (
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// list adds the items of a list, which is not empty.
func (w *walker) list(s spot, list []any) {
	name := Last(s.generic)
	switch name {
	case "args":
		w.arguments(s, list)
		return
	case "command":
		w.out[s.path] = Value{Text: words(list), At: s.at}
		return
	}
	seen := map[string]int{}
	var order []string
	for i, item := range list {
		key := strconv.Itoa(i)
		if plain, ok := decoded.At(w.given, decoded.Segments(s.item(key, i).at)); ok && wholes[name] {
			item = plain
		}
		m, isMap := item.(map[string]any)
		if isMap {
			key = nameOf(name, m, key)
		} else {
			key = scalar(s.path, item).Text
		}
		if w.dropped(spot{generic: s.generic + "[" + key + "]"}, "") {
			continue
		}
		order = append(order, key)
		if seen[key]++; seen[key] > 1 {
			key += "#" + strconv.Itoa(seen[key])
		}
		at := s.item(key, i)
		_, isText := item.(string)
		// it is there, whatever else it has
		w.out[at.path] = Value{Number: !isMap && !isText, At: at.at, Default: !isMap && w.filled[s.at]}
		switch {
		case isMap && wholes[name]:
			w.out[at.path] = Value{Text: Text(m), At: at.at}
		case isMap:
			w.mapping(at, m)
		}
	}
	if w.ordered || inOrder(s.generic, list) {
		w.out[s.path+OrderOf] = Value{Text: strings.Join(order, ", "), At: s.at}
	}
}

// inOrder reports whether the order of a list of a built-in kind has a meaning: init containers run one by one,
// a variable sees those before it, and webhooks that change an object are called in their order.
func inOrder(generic string, list []any) bool {
	switch Last(generic) {
	case "initContainers", "webhooks":
		return true
	case "env":
		return strings.Contains(Text(list), "$(")
	}
	return false
}

// wholes are lists whose items are compared as a whole.
var wholes = map[string]bool{"tolerations": true, "topologySpreadConstraints": true, "ingress": true, "egress": true,
	"matchConditions": true, "matchExpressions": true, "nodeSelectorTerms": true, "envFrom": true, "rules": true}

func nameOf(list string, item map[string]any, otherwise string) string {
	keys := []string{"name", "generateName", "mountPath", "containerPort", "port", "devicePath", "key", "path",
		"ip", "uid", "conditionType", "cluster"}
	switch {
	case list == "ports":
		keys = []string{"containerPort", "port", "name"}
	case list == "volumeMounts":
		keys = []string{"mountPath"}
	case wholes[list]:
		return Text(item)
	}
	for _, key := range keys {
		switch item[key].(type) {
		case map[string]any, []any: // name nothing
			continue
		}
		if s := Text(item[key]); s != "" {
			return s
		}
	}
	return otherwise
}

// arguments adds arguments by their flags: "--v=2" is the value 2 of --v. With words among them, the order is a field.
func (w *walker) arguments(s spot, list []any) {
	seen := map[string]int{}
	count := 0
	var order []any
	for i, item := range list {
		text := Text(item)
		key, value, ok := strings.Cut(text, "=")
		switch {
		case !strings.HasPrefix(text, "-") || strings.ContainsAny(key, " \n"):
			count++
			key, value = "word "+strconv.Itoa(count), text
		case ok && value == "":
			key = text
		}
		if !ok || strings.HasPrefix(key, "word ") {
			order = append(order, item)
		}
		if seen[key]++; seen[key] > 1 {
			key += "#" + strconv.Itoa(seen[key])
		}
		_, isText := item.(string)
		at := s.item(key, i)
		w.out[at.path] = Value{Text: value, Number: !isText, At: at.at}
	}
	if count > 0 {
		w.out[s.path+OrderOf] = Value{Text: words(order), At: s.at}
	}
}

// words joins texts by spaces, and quotes those that have some.
func words(list []any) string {
	return strings.Join(lists.Map(list, func(x any) string {
		if s := Text(x); s != "" && !strings.ContainsAny(s, " \"\n\t") {
			return s
		}
		return strconv.Quote(Text(x))
	}), " ")
}
