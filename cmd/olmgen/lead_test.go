package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// takingPaths are the command lines of each command that reads what a person names: @ stands for it. A command without
// any reads nothing of that kind.
var takingPaths = map[string][]string{
	"olmgen render":         {"@", "-f @", "bundle --mirror-map @", "bundle --profile descoped --tenants @", "bundle --config-subscription @", "bundle --templates @"},
	"olmgen descope":        {"@ -o out", "bundle -o out --tenants @", "bundle -o out --tree @"},
	"olmgen init":           {"@ -o -"},
	"olmgen update":         {"@", "-f @", "tree --catalog @", "-f olmgen.yaml --tree @"},
	"olmgen adopt":          {"@ -o -", "dump --since @ --verify -f olmgen.yaml", "--verify dump -f @"},
	"olmgen fn":             {"@"},
	"olmgen convert":        {"@ -o out"},
	"olmgen permissions":    {"@", "-f @", "tree --catalog @", "bundle --baseline @"},
	"olmgen diff":           {"@ bundle", "bundle @", "bundle bundle --tree @", "tree tree --catalog @", "bundle bundle --crs @"},
	"olmgen history":        {"@"},
	"olmgen graph":          {"@", "-f @", "tree --catalog @"},
	"olmgen check":          {"@", "tree --catalog @", "tree --baseline @"},
	"olmgen lint":           {"@ --policy operate-first", "tree --policy @"},
	"olmgen validate":       {"@", "-f @"},
	"olmgen images":         {"@", "-f @", "bundle --mirror-map @"},
	"olmgen installer-rbac": {"@ --installer a/b", "-f @ --installer a/b"},

	"olmgen catalog resolve":  {"@", "tree --catalog @"},
	"olmgen catalog path":     {"redis --catalog @"},
	"olmgen catalog diff":     {"@ catalog", "catalog @", "catalog catalog --tree @", "catalog catalog -f @"},
	"olmgen catalog validate": {"@"},
	"olmgen catalog audit":    {"@", "--tree @"},
	"olmgen catalog site":     {"@ -o out"},
	"olmgen catalog merge":    {"@"},
	"olmgen catalog pin":      {"@ -o out", "-f @ -o out", "tree --catalog @ -o out"},

	"olmgen": nil, "olmgen catalog": nil, "olmgen version": nil, "olmgen help": nil,
}

// Every command with every kind of input gives an answer, or one line that says what is wrong and a hint with a command
// or a flag that exists.
func TestHintsLead(t *testing.T) {
	dir := inputs(t)
	known := commandsAndFlags()
	for path := range known {
		if _, ok := takingPaths[path]; !ok && !strings.HasPrefix(path, "-") && !strings.HasPrefix(path, "olmgen completion") {
			t.Errorf("%s has no line in takingPaths", path)
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for path, lines := range takingPaths {
		for _, line := range lines {
			for _, e := range append(entries, nil) {
				input := "missing"
				if e != nil {
					input = e.Name()
				}
				t.Run(strings.ReplaceAll(path+" "+line, "/", "_")+"="+input, func(t *testing.T) {
					t.Chdir(dir)
					args := strings.Fields(path + " " + strings.ReplaceAll(line, "@", input))[1:]
					code, stdout, stderr := olmgen(args...)
					must(t, os.RemoveAll("out"))
					if code == exitDone || code == exitFound {
						return
					}
					is, _ := materialOf(input)
					cmd, _, err := newRoot().Find(args)
					must(t, err)
					checkHint(t, known, is == "" || strings.Contains(line, "--") || slices.Contains(words[wordOf(cmd)].takes, is), strings.Join(args, " "), stdout, stderr)
				})
			}
		}
	}
}

// What comes over a pipe has a hint as well.
func TestHintsForPipes(t *testing.T) {
	dir := inputs(t)
	known := commandsAndFlags()
	t.Chdir(dir)
	for _, command := range []string{"render -", "render -f -", "check -", "permissions -", "images -", "adopt - -o -", "validate -",
		"installer-rbac - --installer a/b", "fn", "lint - --policy operate-first", "diff - bundle", "catalog resolve -"} {
		for _, input := range []string{"subscription.yaml", "empty.yaml", "garbage", "text", "catalog.yaml"} {
			data, err := os.ReadFile(input)
			must(t, err)
			var stdout, stderr strings.Builder
			code := run(strings.Fields(command), strings.NewReader(string(data)), &stdout, &stderr)
			if code == exitFailed || code == exitUsage {
				checkHint(t, known, true, command+" < "+input, stdout.String(), stderr.String())
			}
		}
	}
}

var named = regexp.MustCompile(`olmgen(?: [a-z][a-z-]*)+|(?:^|[ ("])(--[a-z][a-z-]+|-[a-z])\b`)

// checkHint wants one error on stderr, and a hint that names a command or a flag that exists. For what has no kind that is known, for
// one that the command reads, and for the files of flags, it may say in words what to name.
func checkHint(t *testing.T, known map[string]bool, nothing bool, command, stdout, stderr string) {
	t.Helper()
	faults, hint := 0, ""
	for line := range strings.Lines(stderr) {
		said, is := strings.CutPrefix(line, "olmgen: ")
		if is && !strings.HasPrefix(said, "warning: ") && !strings.HasPrefix(said, "note: ") && !strings.Contains(": "+said, ": not known: ") {
			faults++
		}
		if h, ok := strings.CutPrefix(line, "hint: "); ok {
			hint = h
		} else if is {
			hint = ""
		}
	}
	if faults != 1 || stdout != "" {
		t.Errorf("olmgen %s: %d errors, %d bytes on stdout\n%s", command, faults, len(stdout), stderr)
	}
	found := named.FindAllStringSubmatch(hint, -1)
	if nothing && hint != "" && len(found) == 0 {
		return // what to name instead
	}
	if !slices.ContainsFunc(found, func(at []string) bool { return !strings.HasSuffix(hint, "see "+at[0]+" --help\n") || len(found) > 2 }) {
		t.Errorf("olmgen %s: the hint names no command and no flag\n%s", command, stderr)
	}
	for _, at := range found {
		words := strings.Fields(at[0])
		if at[1] != "" {
			words = []string{at[1]}
		}
		for len(words) > 2 && !known[strings.Join(words, " ")] {
			words = words[:len(words)-1] // the rest is a sentence
		}
		if len(words) == 2 && words[1] == "help" {
			continue
		}
		if !known[strings.Join(words, " ")] {
			t.Errorf("olmgen %s: there is no %s\n%s", command, strings.Join(words, " "), stderr)
		}
	}
}

// commandsAndFlags returns the paths of all commands, and all flags.
func commandsAndFlags() map[string]bool {
	known := map[string]bool{"--help": true}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		known[cmd.CommandPath()] = true
		for _, name := range beginning(cmd, "") {
			known[name] = true
			if f := cmd.Flags().Lookup(strings.TrimPrefix(name, "--")); f.Shorthand != "" {
				known["-"+f.Shorthand] = true
			}
		}
		for _, c := range cmd.Commands() {
			add(c)
		}
	}
	add(newRoot())
	return known
}

// inputs returns a directory with what a person may name: each entry is an input of a kind.
func inputs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "bundle"), os.DirFS(example(t, "bundle"))))
	must(t, os.CopyFS(filepath.Join(dir, "dump"), os.DirFS(filepath.Join("..", "..", "examples", "adopt"))))
	const subscription = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: redis, namespace: ops}\n" +
		"spec: {name: redis, channel: stable, source: community, sourceNamespace: olm}\n"
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
	const catalog = "schema: olm.package\nname: redis\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: redis\nname: stable\n" +
		"entries: [{name: redis.v1.0.0}]\n---\nschema: olm.bundle\npackage: redis\nname: redis.v1.0.0\nimage: quay.io/x/redis:v1\n" +
		"properties: [{type: olm.package, value: {packageName: redis, version: 1.0.0}}]\n"
	csv, err := os.ReadFile(filepath.Join(dir, "bundle", csvFile))
	must(t, err)
	for name, text := range map[string]string{
		"subscription.yaml": subscription, "tree/subscription.yaml": subscription, "csv.yaml": string(csv), "configmap.yaml": configMap,
		"list.yaml":         "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(subscription), "\n", "\n  ") + "\n",
		"policy.yaml":       "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\nmetadata: {name: p, namespace: ops}\nspec: {disabled: false, policy-templates: []}\n",
		"limits.yaml":       "apiVersion: olmgen.dev/v1alpha1\nkind: Policy\nrules: []\n",
		"olmgen.yaml":       "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: ops\n  bundles: [{source: bundle}]\n",
		"configs/prod.yaml": "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: ops\n  bundles: [{source: ../bundle}]\n",
		"catalog.yaml":      catalog, "catalog/catalog.yaml": catalog,
		"kustomization/kustomization.yaml": kustomization, "kustomization/a.yaml": configMap,
		"chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "chart/templates/a.yaml": configMap,
		"mirrors.yaml": "mirrors: [{source: quay.io, mirror: r.example}]\n",
		"empty.yaml":   "", "text": "hello\n", "text.yaml": "hello\n", "broken.yaml": "a: [1\nb: 2\n", "garbage": "\x00\xff\xfe\x01", "garbage.yaml": "\x00\xff\xfe\x01",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	return dir
}
