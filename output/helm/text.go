package helm

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

const keepAnnotation = "helm.sh/resource-policy"

// writer prints an object as a template: in olmgen's form with a token, which becomes an action, for each variable.
type writer struct {
	token   string
	actions []string // of the tokens, by number
	root    string   // where the values are: .Values, and inside of a range $.Values
	target  string   // the action that gives the target namespace
}

func (e *entry) template(m *model, crds CRDs) ([]byte, error) {
	w := &writer{token: tokenFor(e.object.Data), root: ".Values", target: "first .Values.targetNamespaces"}
	if e.each {
		w.root, w.target = "$.Values", "$target"
	}
	if isCRD(e.object) && crds != CRDsDirectory {
		text, err := w.crd(e)
		return e.condition(text), err
	}
	text := w.entryText(e)
	if m.deployments[e.object.Name] && isDeployment(e.object) {
		return e.changed("olmgen.deployment", text), nil
	}
	if m.apiServices[e.object.Name] && e.object.Kind == "APIService" {
		return e.changed("olmgen.annotations", text), nil
	}
	if e.each {
		list := "sortAlpha .Values.targetNamespaces"
		if m.own {
			list = "without (sortAlpha .Values.targetNamespaces) .Values.namespace"
		}
		text = fmt.Appendf(nil, "{{- range $target := %s }}\n---\n%s{{- end }}\n", list, text)
	}
	return e.condition(text), nil
}

// changed prints an object that a named template changes by the values: its own text is a named template as well.
// toYaml returns nothing for what cannot be YAML.
func (e *entry) changed(by string, text []byte) []byte {
	name := strconv.Quote("olmgen " + e.object.Name + " " + e.file)
	use := fmt.Appendf(nil, "{{- $object := include %s . | fromYaml }}\n{{- include %q (list $object .Values) }}\n"+
		"{{ toYaml $object | required \"a value has a control character\" }}\n", name, by)
	return slices.Concat(fmt.Appendf(nil, "{{- define %s -}}\n%s{{ end -}}\n", name, text), e.condition(use))
}

func (e *entry) condition(text []byte) []byte {
	switch {
	case e.only != "":
		return fmt.Appendf(nil, "{{- if eq .Values.namespace %q }}\n%s{{- end }}\n", e.only, text)
	case len(e.except) > 0:
		return fmt.Appendf(nil, "{{- if not (has .Values.namespace (list %s)) }}\n%s{{- end }}\n", quoted(e.except),
			text)
	}
	return text
}

// crd prints a CRD with the values that say whether it is installed, and whether it stays when the release goes.
func (w *writer) crd(e *entry) ([]byte, error) {
	found, err := e.object.Get("metadata", "annotations")
	if err != nil {
		return nil, err
	}
	annotations, _ := found.(map[string]any)
	if _, ok := annotations[keepAnnotation]; ok {
		return fmt.Appendf(nil, "{{- if .Values.crds.install }}\n%s{{- end }}\n", w.entryText(e)), nil
	}
	var text []byte
	if e.value != nil {
		m := w.tokens(e.value)
		if dig(m, "metadata", "annotations") == nil {
			dig(m, "metadata")["annotations"] = map[string]any{}
		}
		dig(m, "metadata", "annotations")[keepAnnotation] = w.token + "keep"
		text = w.fill(manifest.Encode(m))
	} else {
		kept, err := e.object.Edit(manifest.Edit{Annotations: map[string]string{keepAnnotation: w.token + "keep"}})
		if err != nil {
			return nil, err
		}
		text = escape(kept.Data)
	}
	line := `([ ]*"?` + regexp.QuoteMeta(keepAnnotation) + `"?: "?)` + w.token + `keep("?)\n`
	if len(annotations) == 0 {
		line = `[ ]*annotations:[ ]*\n` + line
	}
	text = regexp.MustCompile(`(?m)^`+line).ReplaceAllFunc(text, func(b []byte) []byte {
		b = bytes.Replace(b, []byte(w.token), nil, 1)
		return fmt.Appendf(nil, "{{- if .Values.crds.keep }}\n%s{{- end }}\n", b)
	})
	if bytes.Contains(text, []byte(w.token)) {
		return nil, fmt.Errorf("%s: no place for the annotation %s", e.file, keepAnnotation)
	}
	return fmt.Appendf(nil, "{{- if .Values.crds.install }}\n%s{{- end }}\n", text), nil
}

func (w *writer) entryText(e *entry) []byte {
	if e.value == nil {
		return escape(e.object.Data)
	}
	return w.fill(manifest.Encode(w.tokens(e.value)))
}

// tokenFor returns a word that is not in the text and that YAML never quotes.
func tokenFor(text []byte) string {
	for i := 0; ; i++ {
		if t := fmt.Sprintf("olmgen-token%d-", i); !bytes.Contains(text, []byte(t)) {
			return t
		}
	}
}

func escape(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("{{"), []byte(`{{ "{{" }}`))
}

func (w *writer) tokens(v map[string]any) map[string]any {
	return decoded.Copy(v, w.tokensOf).(map[string]any)
}

func (w *writer) tokensOf(v any) any {
	switch v := v.(type) {
	case textParts:
		return w.add(w.scalar(v))
	case targetItems:
		return w.add("") + "items"
	case setting:
		s := w.root
		if path := strings.Join(v.path, "\x00"); plainPath().MatchString(path) {
			s += "." + strings.ReplaceAll(path, "\x00", ".")
		} else {
			s = fmt.Sprintf("index %s.%s %s", s, v.path[0], quoted(v.path[1:]))
		}
		switch {
		case v.path[0] == "images":
			return w.add("{{ " + s + " | quote }}")
		case v.always:
			return w.add(s) + "always"
		}
		return w.add(s) + "unless"
	case string:
		// The "{{-" after a block trims the white space at the block's end.
		if strings.Contains(v, "\n") && strings.TrimRight(v, " \t\r\n") != strings.TrimSuffix(v, "\n") {
			return w.add(w.scalar(textParts{{literal, v}, {literal, ""}}))
		}
	}
	return v
}

// plainPath are keys that a template can name with a dot.
var plainPath = lazy.Regexp(`^[a-z]+(\x00[a-zA-Z_][a-zA-Z0-9_]*)*$`)

func quoted(keys []string) string {
	out := lists.Map(keys, strconv.Quote)
	return strings.Join(out, " ")
}

func (w *writer) add(action string) string {
	w.actions = append(w.actions, action)
	return fmt.Sprintf("%s%d-", w.token, len(w.actions)-1)
}

// scalar returns a string with variables: one that is a variable as an action, any other in double quotes. The schema
// lets nothing through that could end the quotes.
func (w *writer) scalar(v textParts) string {
	if len(v) == 1 {
		return "{{ " + w.variable(v[0].kind) + " | quote }}"
	}
	var b strings.Builder
	for _, p := range v {
		if p.kind == literal {
			q := strconv.QuoteToASCII(p.literal)
			q = string(escape([]byte(q[1 : len(q)-1])))
			if before, ok := strings.CutSuffix(q, "{"); ok { // or it would be taken for a part of the next action
				q = before + `{{ "{" }}`
			}
			b.WriteString(q)
			continue
		}
		b.WriteString("{{ " + w.variable(p.kind) + " }}")
	}
	return `"` + b.String() + `"`
}

func (w *writer) variable(kind variable) string {
	switch kind {
	case namespaceVar:
		return w.root + ".namespace"
	case targetVar:
		return w.target
	}
	return "sortAlpha " + w.root + `.targetNamespaces | join ","`
}

// fill puts the actions in the place of the tokens.
func (w *writer) fill(text []byte) []byte {
	tokens := regexp.MustCompile(`(?m)^( *)(- |resources: )?` + w.token + `(\d+)-(items|always|unless)\n|` + w.token +
		`(\d+)-`)
	return tokens.ReplaceAllFunc(escape(text), func(b []byte) []byte {
		f := tokens.FindSubmatch(b)
		indent := string(f[1])
		number := f[3]
		if len(f[5]) > 0 {
			number = f[5]
		}
		n, err := strconv.Atoi(string(number))
		if err != nil {
			return b
		}
		action := w.actions[n]
		below := fmt.Sprintf("%sresources:\n%s  {{- toYaml %s | nindent %d }}\n", indent, indent, "%s", len(indent)+2)
		switch string(f[4]) {
		case "items":
			return fmt.Appendf(nil,
				"%[1]s{{- range sortAlpha %[2]s.targetNamespaces }}\n%[1]s- {{ . | quote }}\n%[1]s{{- end }}\n", indent,
				w.root)
		case "always":
			return fmt.Appendf(nil, below, "("+action+")")
		case "unless":
			return fmt.Appendf(nil, indent+"{{- with "+action+" }}\n"+below+indent+"{{- end }}\n", ".")
		}
		return []byte(action)
	})
}
