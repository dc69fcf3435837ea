package main

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// takingPaths are the command lines of each command that reads what a person names: @ stands for it. A command without
// any reads nothing of that kind.
var takingPaths = map[string][]string{
	"olmgen render": {"@", "dir:@", "tar:@", "zip:@", "oci-layout:@", "docker-archive:@", "catalog:@", "packagemanifest:@", "--config @", "bundle --mirror-map @", "bundle --profile descoped --tenants @", "bundle --config-subscription @", "bundle --templates @",
		"bundle --ca-bundle @ --certs user", "bundle --only-used @ --profile plain", "bundle --verify-key @"},
	"olmgen descope":        {"@ -o out", "bundle -o out --tenants @", "bundle -o out --tree @"},
	"olmgen init":           {"@ -o -"},
	"olmgen update":         {"@", "--config @", "tree --catalog @", "-f olmgen.yaml --tree @", "tree --pin @"},
	"olmgen adopt":          {"@ -o -", "dump --since @ --verify -f olmgen.yaml", "--verify dump --config @"},
	"olmgen fn":             {"@"},
	"olmgen convert":        {"@ -o out"},
	"olmgen permissions":    {"@", "--config @", "tree --catalog @", "bundle --baseline @", "bundle --used @"},
	"olmgen diff":           {"@ bundle", "bundle @", "bundle bundle --crd-rules @", "tree tree --old-catalog @", "bundle bundle --tree @", "tree tree --catalog @", "bundle bundle --crs @"},
	"olmgen history":        {"@"},
	"olmgen graph":          {"@", "--config @", "tree --catalog @"},
	"olmgen check":          {"@", "tree --catalog @", "tree --baseline @", "tree --cluster @", "tree --repo https://git.example/r=@"},
	"olmgen lint":           {"@ --policy operate-first", "tree --policy @"},
	"olmgen validate":       {"@", "--config @"},
	"olmgen images":         {"@", "--config @", "bundle --mirror-map @"},
	"olmgen installer-rbac": {"@ --installer a/b", "--config @ --installer a/b"},

	"olmgen catalog resolve":  {"@", "tree --catalog @"},
	"olmgen catalog path":     {"redis --catalog @"},
	"olmgen catalog diff":     {"@ catalog", "catalog @", "catalog catalog --tree @", "catalog catalog --config @"},
	"olmgen catalog validate": {"@"},
	"olmgen catalog audit":    {"@", "--tree @"},
	"olmgen catalog site":     {"@ -o out"},
	"olmgen catalog merge":    {"@"},
	"olmgen catalog pin":      {"@ -o out", "--config @ -o out", "tree --catalog @ -o out"},

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
	for name := range readingFlags() {
		if !slices.ContainsFunc(slices.Collect(maps.Values(takingPaths)), func(lines []string) bool {
			return strings.Contains(strings.Join(lines, " "), name+" @") || name == "--repo"
		}) {
			t.Errorf("%s has no line in takingPaths", name)
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	tried := map[string]bool{}
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
					hint := checkHint(t, known, strings.Join(args, " "), stdout, stderr)
					for _, advised := range advice(hint, path[len("olmgen "):]+" "+line, input) {
						if tried[advised] {
							continue
						}
						tried[advised] = true
						code, _, stderr := olmgen(strings.Fields(advised)...)
						understood := code == exitDone || code == exitFound || strings.Contains(stderr, "olmgen: "+input+":") // a place in it
						if !understood {
							t.Errorf("olmgen %s: the hint leads to olmgen %s\n%s", strings.Join(args, " "), advised, stderr)
						}
						must(t, os.RemoveAll("out"))
					}
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
				checkHint(t, known, command+" < "+input, stdout.String(), stderr.String())
			}
		}
	}
}

var (
	named   = regexp.MustCompile(`olmgen(?: [a-z][a-z-]*)+|(?:^|[ ("])(--[a-z][a-z-]+|-[a-z])\b`)
	seeOnly = regexp.MustCompile(`see olmgen[a-z -]* --help`)
	line    = regexp.MustCompile(`^(?:write|start the file with) [a-zA-Z]+:\s?\S`) // of a file, or the same input with a prefix
	verb    = regexp.MustCompile(` (?:lists|reads|renders|says|makes|judges|checks|has)\b|[;,"\n]`)
)

// checkHint wants one error on stderr, and a hint that shows the line to write, or names a command or a flag that exists, and more
// than --help. It returns the hint.
func checkHint(t *testing.T, known map[string]bool, command, stdout, stderr string) string {
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
	found := named.FindAllStringSubmatch(seeOnly.ReplaceAllString(hint, ""), -1)
	if len(found) == 0 && !line.MatchString(hint) {
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
	return hint
}

// advice returns what a hint says to do with an input: the commands that name it, or the same command line with another word for it.
func advice(hint, given, input string) (commands []string) {
	fill := strings.NewReplacer("NS/NAME", "a/b", "NAME", "redis", "DIR", "out", "TREE", "tree", "adopt ", "adopt -o - ", "init ", "init -o - ")
	if strings.HasPrefix(hint, "write catalog:"+input) {
		commands = append(commands, strings.ReplaceAll(given, "@", "catalog:"+input))
	}
	for _, part := range strings.Split(hint, "olmgen ")[1:] {
		command := verb.Split(part, 2)[0]
		_, rest, _ := newRoot().Find(strings.Fields(command))
		if slices.ContainsFunc(rest, func(word string) bool { return strings.TrimPrefix(word, "catalog:") == input }) {
			commands = append(commands, fill.Replace(command))
		}
	}
	return commands
}

// readingFlags returns the flags whose value is a path that a command reads.
func readingFlags() map[string]bool {
	flags := map[string]bool{}
	for _, c := range allCommands(newRoot()) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if readsPath(f) {
				flags["--"+f.Name] = true
			}
		})
	}
	return flags
}

// allCommands returns a command and all below it.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, allCommands(c)...)
	}
	return all
}

// commandsAndFlags returns the paths of all commands, and all flags.
func commandsAndFlags() map[string]bool {
	known := map[string]bool{"--help": true}
	for _, c := range allCommands(newRoot()) {
		known[c.CommandPath()] = true
		for _, name := range beginning(c, "") {
			known[name] = true
			if f := c.Flags().Lookup(strings.TrimPrefix(name, "--")); f.Shorthand != "" {
				known["-"+f.Shorthand] = true
			}
		}
	}
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
	catalog := "schema: olm.package\nname: redis\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: redis\nname: stable\n" +
		"entries: [{name: redis.v1.0.0}]\n---\nschema: olm.bundle\npackage: redis\nname: redis.v1.0.0\nimage: quay.io/x/redis:v1\n" +
		"properties:\n- {type: olm.package, value: {packageName: redis, version: 1.0.0}}\n"
	manifests, err := filepath.Glob(filepath.Join(dir, "bundle", "manifests", "*"))
	must(t, err)
	for _, file := range manifests {
		data, err := os.ReadFile(file)
		must(t, err)
		data, err = yaml.YAMLToJSON([]byte(strings.NewReplacer("memcached-operator.v0.0.1", "redis.v1.0.0", "version: 0.0.1", "version: 1.0.0").Replace(string(data))))
		must(t, err)
		catalog += "- {type: olm.bundle.object, value: {data: " + base64.StdEncoding.EncodeToString(data) + "}}\n"
	}
	csv, err := os.ReadFile(filepath.Join(dir, "bundle", csvFile))
	must(t, err)
	for name, text := range map[string]string{
		"subscription.yaml": subscription, "tree/subscription.yaml": subscription, "csv.yaml": string(csv), "configmap.yaml": configMap,
		"list.yaml":         "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(subscription), "\n", "\n  ") + "\n",
		"policy.yaml":       "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\nmetadata: {name: p, namespace: ops}\nspec: {disabled: false, policy-templates: []}\n",
		"limits.yaml":       "apiVersion: olmgen.dev/v1alpha1\nkind: Policy\nextends: [operate-first]\n",
		"olmgen.yaml":       "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: ops\n  bundles: [{source: bundle}]\n",
		"configs/prod.yaml": "apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n- namespace: ops\n  bundles: [{source: ../bundle}]\n",
		"catalog.yaml":      catalog, "catalog/catalog.yaml": catalog,
		"kustomization/kustomization.yaml": kustomization, "kustomization/a.yaml": configMap,
		"chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "chart/templates/a.yaml": configMap,
		"mirrors.yaml": "mirrors: [{source: quay.io, mirror: r.example}]\n",
		"array.json":   "[1, 2]\n", "number.json": "7\n", "sequence.yaml": "- a\n- b\n",
		"empty.yaml": "", "text": "hello\n", "text.yaml": "hello\n", "broken.yaml": "a: [1\nb: 2\n", "garbage": "\x00\xff\xfe\x01", "garbage.yaml": "\x00\xff\xfe\x01",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	return dir
}
