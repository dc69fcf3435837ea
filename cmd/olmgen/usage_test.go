package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/generate"
)

// A command line that does not say what to do ends with exit code 2, one line on stderr and, where there is a next step, a hint; nothing
// is written.
func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args string // split at blanks; '' is an empty argument
		want string
	}{
		{"rendre", "olmgen: unknown command \"rendre\"\nhint: did you mean render? see olmgen --help\n"},
		{"rendre --help", "olmgen: unknown command \"rendre\"\nhint: did you mean render? see olmgen --help\n"},
		{"completion cmd -h", "olmgen: unknown command \"cmd\"\nhint: see olmgen completion --help\n"},
		{"help nothing", "olmgen: no command or topic is called \"nothing\"\nhint: see olmgen --help and olmgen help topics\n"},
		{"help certifcates", "olmgen: no command or topic is called \"certifcates\"\nhint: did you mean certificates? see olmgen --help and olmgen help topics\n"},
		{"help certs", "olmgen: no command or topic is called \"certs\"\nhint: olmgen help certificates explains --certs\n"},
		{"help rendre", "olmgen: no command or topic is called \"rendre\"\nhint: did you mean render? see olmgen --help and olmgen help topics\n"},
		{"help render x", "olmgen: unknown command \"x\"\nhint: see olmgen render --help\n"},
		{"completion cmd", "olmgen: unknown command \"cmd\"\nhint: see olmgen completion --help\n"},
		{"--bogus", "olmgen: unknown flag: --bogus\nhint: see olmgen --help\n"},
		{"render", "olmgen: the bundle is missing\nhint: write olmgen render SOURCE | -f FILE; see olmgen render --help\n"},
		{"render a b", "olmgen: one argument too many: \"b\"\nhint: write olmgen render SOURCE | -f FILE; see olmgen render --help\n"},
		{"render a -o", "olmgen: flag needs an argument: 'o' in -o\nhint: see olmgen render --help\n"},
		{"render a -o ''", "olmgen: --output is empty\nhint: give a value, or leave it out\n"},
		{"render a --names short", "olmgen: --names: unknown value \"short\"\nhint: choose one of stable, olm\n"},
		{"render a --copied-csvs all", "olmgen: --copied-csvs: unknown value \"all\"\nhint: choose one of stub, full, none\n"},
		{"render a --install-mode global", "olmgen: --install-mode: unknown value \"global\"\nhint: choose one of OwnNamespace, SingleNamespace, MultiNamespace, AllNamespaces\n"},
		{"render a --selector =", "olmgen: --selector: couldn't parse the selector string \"=\": found '=', expected: !, identifier, or 'end of string'\nhint: write it as in key=value,other in (a, b)\n"},
		{"render a --profile none", "olmgen: --profile: unknown value \"none\"\nhint: choose one of olm, plain, descoped, olmv1, subscription, clusterextension\n"},
		{"render a --approval Manual", "olmgen: --approval: has no effect with profile olm\nhint: leave it out: it is for profile subscription\n"},
		{"render a --profile subscription --names olm", "olmgen: --names: has no effect with profile subscription\nhint: leave it out: it is for profile olm or plain\n"},
		{"render a --profile subscription --catalog-source mine", "olmgen: --catalog-source: \"mine\" is not NAMESPACE/NAME\nhint: write it as in openshift-marketplace/community-operators\n"},
		{"render a --profile subscription --catalog-source ''", "olmgen: --catalog-source is empty\nhint: give a value, or leave it out\n"},
		{"render a --profile subscription --approval Never", "olmgen: --approval: unknown value \"Never\"\nhint: choose one of Automatic, Manual\n"},
		{"render a --profile clusterextension --operator-group x", "olmgen: --operator-group: has no effect with profile clusterextension\nhint: leave it out: it is for profile olm, plain, descoped or subscription\n"},
		{"render a --profile olmv1 --create-namespace", "olmgen: --create-namespace: has no effect with profile olmv1\nhint: leave it out: it is for profile olm, plain, descoped, subscription or clusterextension\n"},
		{"render a --profile plain --version-range 1", "olmgen: --version-range: has no effect with profile plain\nhint: leave it out: it is for profile clusterextension\n"},
		{"render a --selector a=b --profile descoped", "olmgen: --selector: has no effect with profile descoped\nhint: leave it out: it is for profile olm, plain or subscription\n"},
		{"render a --helm-crds crds", "olmgen: --helm-crds: has no effect with layout flat\nhint: leave it out: it is for layout helm\n"},
		{"render a -n Bad_NS", "olmgen: --namespace: \"Bad_NS\" is not a valid namespace name\nhint: use lower-case letters, digits and -\n"},
		{"render a -n ''", "olmgen: --namespace is empty\nhint: give a value, or leave it out\n"},
		{"render a --target-namespaces a,,b", "olmgen: invalid argument \"a,,b\" for \"--target-namespaces\" flag: an item of the list is empty\nhint: olmgen help placement explains --target-namespaces\n"},
		{"render a --strict=yes", "olmgen: --strict: \"yes\" is neither true nor false\nhint: write --strict or --strict=false\n"},
		{"render a --create-namespace=yes", "olmgen: --create-namespace: \"yes\" is neither true nor false\nhint: write --create-namespace or --create-namespace=false\n"},
		{"render ''", "olmgen: an argument is empty\nhint: see olmgen render --help\n"},
		{"lint ''", "olmgen: an argument is empty\nhint: see olmgen lint --help\n"},
		{"render a --name x", "olmgen: unknown flag: --name\nhint: did you mean --names? see olmgen render --help\n"},
		{"template a", "olmgen: unknown command \"template\"\nhint: olmgen render writes the objects; see olmgen --help\n"},
		{"apply -f x", "olmgen: unknown command \"apply\"\nhint: olmgen changes no cluster: olmgen render BUNDLE | kubectl apply " +
			"--server-side -f -; see olmgen --help\n"},
		{"catalog appl -f x", "olmgen: unknown command \"appl\"\nhint: see olmgen catalog --help\n"},
		{"plan", "olmgen: unknown command \"plan\"\nhint: olmgen render -o DIR --dry-run lists what would change, " +
			"olmgen diff compares two releases; see olmgen --help\n"},
		{"bundle validate a", "olmgen: unknown command \"bundle\"\nhint: olmgen validate BUNDLE says whether a bundle is right; see olmgen --help\n"},
		{"render a --prof plain", "olmgen: unknown flag: --prof\nhint: did you mean --profile? see olmgen render --help\n"},
		{"render a --out b", "olmgen: unknown flag: --out\nhint: did you mean --output? see olmgen render --help\n"},
		{"render a --create", "olmgen: unknown flag: --create\nhint: did you mean --create-namespace or --create-target-namespaces? see olmgen render --help\n"},
		{"render a -profile plain", "olmgen: -profile: a long flag begins with two dashes\nhint: write --profile\n"},
		{"render a -out b", "olmgen: -out: a long flag begins with two dashes\nhint: write --output, or -o ut if \"ut\" is the value\n"},
		{"render a -output=b", "olmgen: -output: a long flag begins with two dashes\nhint: write --output, or -o utput=b if \"utput=b\" is the value\n"},
		{"render a -namespace ops", "olmgen: -namespace: a long flag begins with two dashes\nhint: write --namespace, or -n amespace if \"amespace\" is the value\n"},
		{"render a -for=b", "olmgen: -for: a long flag begins with two dashes\nhint: write --force or --format, or -f or=b if \"or=b\" is the value\n"},
		{"catalog site a -shard 1/2", "olmgen: -shard: a long flag begins with two dashes\nhint: write --shard\n"},
		{"render a -color always", "olmgen: -color: a long flag begins with two dashes\nhint: write --color\n"},
		{"-version", "olmgen: -version: a long flag begins with two dashes\nhint: write --version\n"},
		{"render a -help", "olmgen: -help: a long flag begins with two dashes\nhint: write --help\n"},
		{"check a -o json", "olmgen: unknown shorthand flag: 'o' in -o\nhint: write --format json; see olmgen check --help\n"},
		{"check a --output-format json", "olmgen: unknown flag: --output-format\nhint: write --format json; see olmgen check --help\n"},
		{"catalog path --package a", "olmgen: unknown flag: --package\nhint: write the package without --package; see olmgen catalog path --help\n"},
		{"permissions a -ojson", "olmgen: unknown shorthand flag: 'o' in -ojson\nhint: write --format json; see olmgen permissions --help\n"},
		{"graph a -o a.html", "olmgen: unknown shorthand flag: 'o' in -o\nhint: write > a.html; see olmgen graph --help\n"},
		{"diff a b -o out", "olmgen: unknown shorthand flag: 'o' in -o\nhint: write --format FORMAT > out; see olmgen diff --help\n"},
		{"diff a b -oreport.md", "olmgen: unknown shorthand flag: 'o' in -oreport.md\nhint: write --format markdown > report.md; see olmgen diff --help\n"},
		{"images a --output=a.txt", "olmgen: unknown flag: --output\nhint: write --format text > a.txt; see olmgen images --help\n"},
		{"check a --json", "olmgen: unknown flag: --json\nhint: write --format json; see olmgen check --help\n"},
		{"ls", "olmgen: unknown command \"ls\"\nhint: olmgen catalog audit CATALOG lists the packages of a catalog; see olmgen --help\n"},
		{"catalog list", "olmgen: unknown command \"list\"\nhint: olmgen catalog audit CATALOG lists the packages of a catalog; see olmgen catalog --help\n"},
		{"uninstall", "olmgen: unknown command \"uninstall\"\nhint: olmgen changes no cluster: olmgen render BUNDLE | kubectl delete -f -; see olmgen --help\n"},
		{"catalog render x", "olmgen: unknown command \"render\"\nhint: did you mean olmgen render? see olmgen catalog --help\n"},
		{"diff -f olmgen.yaml", "olmgen: unknown shorthand flag: 'f' in -f\nhint: write olmgen.yaml without -f; see olmgen diff --help\n"},
		{"check -f olmgen.yaml", "olmgen: unknown shorthand flag: 'f' in -f\nhint: the bundles are the sources in it; olmgen render -f olmgen.yaml -o DIR makes a TREE of them; see olmgen check --help\n"},
		{"audit a", "olmgen: unknown command \"audit\"\nhint: did you mean olmgen catalog audit? see olmgen --help\n"},
		{"version x", "olmgen: one argument too many: \"x\"\nhint: write olmgen version; see olmgen version --help\n"},
	} {
		t.Chdir(t.TempDir())
		var args []string
		for a := range strings.FieldsSeq(c.args) {
			args = append(args, strings.Trim(a, "'"))
		}
		code, stdout, stderr := olmgen(args...)
		if code != exitUsage || stdout != "" || stderr != c.want {
			t.Errorf("olmgen %s: exit code %d, stdout %q, stderr\n%swant\n%s", c.args, code, stdout, stderr, c.want)
		}
		if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
			t.Errorf("olmgen %s: wrote %v, %v", c.args, entries, err)
		}
	}
}

// An empty value, most likely that of an unset variable, is refused for every flag of every command.
func TestEmptyFlags(t *testing.T) {
	flags := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			check(c)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags++
			code, stdout, stderr := olmgen(append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name+"=")...)
			if want := "olmgen: --" + f.Name + " is empty\n"; code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, want) {
				t.Errorf("%s --%s=: exit code %d, %s", cmd.CommandPath(), f.Name, code, stderr)
			}
		})
	}
	for _, c := range commands() {
		for _, cmd := range newRoot(c.name).Commands() {
			if cmd.Name() == c.name {
				check(cmd)
			}
		}
	}
	if flags < 300 {
		t.Errorf("%d flags", flags)
	}
}

// Help is data: it goes to stdout, and the exit code is 0. (The completion scripts are in testdata/script/usage.txtar.)
func TestHelp(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "olmgen reads an OLM operator bundle"}, {"--help", "olmgen reads an OLM operator bundle"}, {"help", "olmgen reads an OLM operator bundle"},
		{"render --help", "Usage:\n  olmgen render"}, {"help render", "Usage:\n  olmgen render"}, {"version --help", "Usage:\n  olmgen version"},
		{"version", "olmgen "},
		{"__complete render --names ", "stable\nolm\n"}, {"__complete render --profile ", "olm\nplain\ndescoped\nolmv1\nsubscription\nclusterextension\n"},
		{"__complete render --approval ", "Automatic\nManual\n"}, {"__complete render --upgrade-constraint-policy ", "CatalogProvided\nSelfCertified\n"},
		{"help profile", "\n  clusterextension  what hands it to OLM v1"},
		{"__complete diff --fail-on error,ri", "error,risk-gained\n:6\n"}, {"__complete render --suppress scope,cluster-r", "scope,cluster-rules\n"},
		{"__complete render --aggregate-to admin,", "admin,edit\nadmin,view\nadmin,cluster-reader\nadmin,none\n:6\n"},
		{"help profiles", "\n  clusterextension  what hands it to OLM v1"}, {"__complete render --install-mode ", "OwnNamespace\n"}, {"__complete rend", "render\t"},
	} {
		args := strings.Split(c.args, " ")
		if c.args == "" {
			args = nil
		}
		code, stdout, stderr := olmgen(args...)
		if code != exitDone || !strings.Contains(stdout, c.want) || strings.Contains(stderr, "olmgen: ") {
			t.Errorf("olmgen %s: exit code %d, stderr %q, stdout\n%s", c.args, code, stderr, stdout)
		}
	}
}

// Namespaces are completed, after a comma too, with those that the RenderConfig of the directory names.
func TestCompleteNamespaces(t *testing.T) {
	t.Chdir(t.TempDir())
	noError(t, os.WriteFile("olmgen.yaml", []byte("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n"+
		"- namespace: operators\n  targetNamespaces: [team-a, team-b]\n  bundles: [{source: a}]\n"+
		"- namespace: others\n  bundles: [{source: b, profile: descoped, descoped: {bindNamespaces: [team-c]}}]\n"), 0o600))
	for _, c := range [][3]string{
		{"--target-namespaces", "team-a,team", "team-a,team-b\nteam-a,team-c\n:6\n"},
		{"--bind-namespaces", "", "operators\nothers\nteam-a\nteam-b\nteam-c\n:6\n"},
		{"--copied-csv-namespaces", "team-b,oth", "team-b,others\n:6\n"}, {"-n", "oth", "others\n:4\n"},
	} {
		if _, stdout, _ := olmgen("__complete", "render", c[0], c[1]); stdout != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], stdout, c[2])
		}
	}
}

// Packages, channels and versions are completed with those of the catalogs and directories that the command line names.
func TestCompleteReleases(t *testing.T) {
	t.Chdir(inputs(t))
	var odd string
	for _, name := range []string{"$(date)", "a b", `"a\e[31m"`, "a-1.b"} {
		odd += "---\nschema: olm.package\nname: " + name + "\n"
	}
	noError(t, os.WriteFile("odd.yaml", []byte(odd), 0o600))
	noError(t, os.WriteFile("broken.yaml", []byte("schema: [\n"), 0o600))
	for _, c := range [][2]string{
		{"render catalog:catalog --package ", "redis\n:4\n"}, {"render catalog:catalog --package x", ":4\n"},
		{"render catalog:catalog.yaml --package redis --channel ", "stable\n:4\n"}, {"render catalog:catalog --package redis --version 1", "1.0.0\n:4\n"},
		{"catalog path --catalog catalog ", "redis\n:4\n"}, {"catalog path redis --catalog a=catalog --from ", "1.0.0\n:4\n"},
		{"catalog path redis --catalog bundle --channel ", "alpha\n:4\n"}, {"catalog pin tree --catalog olm/community=catalog --package r", "redis\n:4\n"},
		{"graph catalog:bundle --package ", "memcached-operator\n:4\n"}, {"render catalog:missing --package ", ":4\n"},
		{"catalog path --catalog odd.yaml ", "a-1.b\n:4\n"}, {"catalog path --catalog broken.yaml ", ":4\n"},
		{"catalog path --catalog /dev/zero ", ":4\n"}, {"catalog path --catalog /dev/zero --catalog catalog ", "redis\n:4\n"},
	} {
		if _, stdout, _ := olmgen(append([]string{"__complete"}, strings.Split(c[0], " ")...)...); stdout != c[1] {
			t.Errorf("%s: %q, want %q", c[0], stdout, c[1])
		}
	}
}

// An upgrade of the operator keeps the names of all files, and a line changes only if it names the version.
func TestUpgradeChangesOnlyTheVersion(t *testing.T) {
	root := t.TempDir()
	dir, out := filepath.Join(root, "bundle"), filepath.Join(root, "out")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "memcached-operator", "bundle"))); err != nil {
		t.Fatal(err)
	}
	render := func() map[string]string {
		if code, _, stderr := olmgen("render", dir, "-o", out, "-n", "operators", "--target-namespaces", "a,b"); code != exitDone {
			t.Fatal(stderr)
		}
		files := map[string]string{}
		entries, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(out, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(data)
		}
		return files
	}
	before := render()
	csv := filepath.Join(dir, csvFile)
	data, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(csv, []byte(strings.ReplaceAll(string(data), "0.0.1", "0.0.2")), 0o644); err != nil {
		t.Fatal(err)
	}
	after := render()
	for name, old := range before {
		got, ok := after[name]
		if !ok {
			t.Errorf("%s is gone", name)
		}
		if want := strings.ReplaceAll(old, "0.0.1", "0.0.2"); name != "olmgen.lock" && got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, were %d", len(after), len(before))
	}
	if before["kustomization.yaml"] != after["kustomization.yaml"] {
		t.Error("kustomization.yaml changed")
	}
}

// A flag is refused with the profiles that do not use its option, and with no other.
func TestProfilesOfFlags(t *testing.T) {
	values := map[string]string{"issuer": "Issuer/a", "catalog-source": "a/b", "version-range": "1", "certs": "none"}
	limited := 0
	for o := range config.WithFlags(config.Declared()) {
		if o.Profiles == nil {
			continue
		}
		limited++
		given := "--" + o.Flag
		if o.Type != config.Bool {
			given += "=" + cmp.Or(values[o.Flag], append(o.Words, "a")[0])
		}
		for _, p := range generate.Profiles {
			t.Chdir(t.TempDir())
			code, _, stderr := olmgen("render", "nowhere", "--profile", string(p), given)
			want := "olmgen: --" + o.Flag + ": has no effect with profile " + string(p) + "\nhint: leave it out: it is for profile "
			refused := code == exitUsage && strings.HasPrefix(stderr, want)
			if refused == o.Uses(p) || !refused && code == exitUsage {
				t.Errorf("render --profile %s %s: exit code %d, %s", p, given, code, stderr)
			}
		}
	}
	if limited < 20 {
		t.Errorf("only %d options are for some profiles", limited)
	}
}

// The help of a command that renders fits a screen: options have a line or only their names, below the topic that explains them.
func TestHelpFitsAScreen(t *testing.T) {
	for command, most := range map[string]int{"render": 60, "descope": 61, "graph": 65, "init": 60, "lint": 60, "check": 71, "validate": 60} {
		code, help, _ := olmgen(command, "--help")
		lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
		if code != exitDone || len(lines) > most {
			t.Errorf("olmgen %s --help: exit code %d, %d lines", command, code, len(lines))
		}
		for _, line := range lines {
			if len(line) > columns {
				t.Errorf("olmgen %s --help: %d columns: %s", command, len(line), line)
			}
		}
	}
	for _, want := range []string{"\nSource: (olmgen help sources)\n", "\nPlacement: (6 more flags: olmgen help placement)\n  -n, --namespace NAME ", "\nObjects: ",
		"\nCertificates: ", "\nHanding over to OLM: ", "\nOutput: ", "\nGlobal:\n  -h, --help "} {
		if _, help, _ := olmgen("render", "--help"); !strings.Contains(help, want) {
			t.Errorf("olmgen render --help has no %q", want)
		}
	}
}

// For each of five tasks of render and diff, its option stands in the first screen of 24 lines of the help.
func TestTasksInTheFirstScreen(t *testing.T) {
	for command, tasks := range map[string][][2]string{
		"render": {
			{"write the files of an operator for some namespaces", "--target-namespaces"},
			{"render for a cluster without OLM", "--profile"},
			{"render a version of a package in a catalog", "--package"},
			{"verify that committed files are as rendered", "--check"},
			{"annotate the files for Argo CD", "--annotations"},
		},
		"diff": {
			{"write the report as a comment for a pull request", "--format"},
			{"compare a branch in Git", "--git"},
			{"have a pipeline fail if a dangerous right is gained", "--fail-on"},
			{"say what OLM would do with what else is in the cluster", "--tree"},
			{"check the custom resources that exist", "--crs"},
		},
	} {
		for _, args := range [][]string{{"help", command}, {command, "--help"}} {
			_, help, _ := olmgen(args...)
			screen := strings.Join(strings.SplitAfter(help, "\n")[:24], "")
			for _, task := range tasks {
				if !strings.Contains(screen, task[1]+" ") && !strings.Contains(screen, task[1]+"\n") {
					t.Errorf("olmgen %s: %s: no %s in\n%s", strings.Join(args, " "), task[0], task[1], screen)
				}
			}
		}
	}
}

// Every flag of a help is in it, or counted where a topic explains it; so is every flag that is there only by name.
func TestFlagsAreExplained(t *testing.T) {
	root := newRoot()
	for _, cmd := range root.Commands() {
		_, help, _ := olmgen(cmd.Name(), "--help")
		for _, g := range flagGroups() {
			for _, f := range flagsBelow(cmd, g.topic) {
				name := regexp.MustCompile(`--` + f.Name + `(?:[ ,\[=\n]|$)`)
				_, flags, _ := strings.Cut(help, "\n"+g.title+":")
				head, _, _ := strings.Cut(flags, "\n")
				brief, set := briefOf(f)
				nameOnly := set && brief == ""
				if counted := nameOnly && strings.Contains(head, " more flag"); !counted && !name.MatchString(flags) {
					t.Errorf("olmgen %s --help: no --%s below %s", cmd.Name(), f.Name, g.title)
				}
				if !nameOnly {
					continue
				}
				if _, topic, _ := olmgen("help", string(g.topic)); !strings.Contains(topic, "--"+f.Name) {
					t.Errorf("olmgen help %s does not explain --%s of olmgen %s", g.topic, f.Name, cmd.Name())
				}
			}
		}
	}
	for o := range config.WithFlags(config.Declared()) {
		if !hasTopic(string(o.Topic)) {
			t.Errorf("--%s is below the topic %q, which has no text", o.Flag, o.Topic)
		}
	}
}

// The topics are listed, completed, and found by a wrong name.
func TestTopics(t *testing.T) {
	_, list, _ := olmgen("help", "topics")
	_, root, _ := olmgen("--help")
	_, completed, _ := olmgen("__complete", "help", "")
	for _, name := range topicNames() {
		title, body := topicText(name)
		code, stdout, stderr := olmgen("help", name)
		if code != exitDone || stderr != "" || !strings.HasPrefix(stdout, title+"\n\n"+body) || len(body) < 100 {
			t.Errorf("olmgen help %s: exit code %d, stderr %q, stdout\n%s", name, code, stderr, stdout)
		}
		if !strings.Contains(list, title) || !strings.Contains(root, title) || !strings.Contains(completed, name+"\t"+title) {
			t.Errorf("%s is not listed or not completed:\n%s\n%s\n%s", name, list, root, completed)
		}
	}
	for _, c := range newRoot().Commands() {
		if hasTopic(c.Name()) {
			t.Errorf("%s is a command and a topic", c.Name())
		}
	}
	if _, stdout, _ := olmgen("__complete", "help", "rend"); !strings.HasPrefix(stdout, "render\t") {
		t.Errorf("olmgen help completes no command: %s", stdout)
	}
}

// docs/README.md has the question of each command that answers one, in the command's own words.
func TestQuestionsOfTheMap(t *testing.T) {
	page, err := os.ReadFile("../../docs/README.md")
	noError(t, err)
	questions := 0
	for _, c := range newRoot().Commands() {
		question, _, ok := strings.Cut(c.Short, "?")
		if !ok {
			continue
		}
		questions++
		if row := "| " + question + "? | `" + c.CommandPath() + "` "; !strings.Contains(string(page), row) {
			t.Errorf("docs/README.md has no row %q", row)
		}
		if !strings.HasPrefix(c.Long, question+"?\n") {
			t.Errorf("the help of %s begins with %.40q", c.Name(), c.Long)
		}
	}
	if questions < 5 {
		t.Errorf("%d commands have a question", questions)
	}
}

// README.md answers why not something else.
func TestWhyNot(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	noError(t, err)
	lines := strings.Split(string(page), "\n")
	table := lines[slices.Index(lines, "| why not | |")+1:]
	for _, other := range []string{"OLM alone", "Helm chart", "operator-sdk"} {
		if !slices.ContainsFunc(table, func(row string) bool { return strings.HasPrefix(row, "| ") && strings.Contains(row, other+"? |") }) {
			t.Errorf("the first table has no row for %s", other)
		}
	}
}

// A flag of one letter takes its value in the same word, as kubectl's do, and values may begin with a dash.
func TestOneLetterFlags(t *testing.T) {
	bundle := example(t, "bundle")
	for _, args := range [][]string{{"-nops", "-oout"}, {"-n=ops", "-o=out"}, {"-n", "ops", "-o", "-out"}, {"-n", "ops", "--", "-out"}} {
		t.Chdir(t.TempDir())
		_, _, stderr := olmgen(append([]string{"render", bundle}, args...)...)
		if strings.Contains(stderr, "two dashes") {
			t.Errorf("%q: %s", args, stderr)
		}
	}
}
