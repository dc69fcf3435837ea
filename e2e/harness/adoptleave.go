package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/text"
)

// form is where a plan leads.
type form struct {
	to    generate.Profile
	stays string // the packages that stay with OLM, with commas; "" if none does
}

// staying returns the packages that stay with OLM.
func (f form) staying() []string { return strings.Split(f.stays, ",") }

func (f form) String() string {
	out := string(f.to)
	if f.stays != "" {
		out += ", without " + f.stays
	}
	return out
}

// plain is the form of the cases with one group.
var plain = form{to: generate.ProfilePlain}

// departure is a printed plan, and what it starts from.
type departure struct {
	form
	lists  string           // the variables that its commands read
	gone   []string         // the rows of what it deletes beside the ClusterServiceVersions
	csvs   []string         // the names and namespaces of these
	steps  []adopt.Step     // with their commands
	back   []string         // the commands of the way back
	lost   []string         // what the comparison says of rights
	before *adopt.State     // of which only the operators that leave are chosen
	after  []map[string]any // what is rendered
	result *adopt.Verification
}

// plan has olmgen print a plan of a dump that kubectl makes, as a person does.
func (a *adoption) plan(ctx context.Context, f form) (*departure, error) {
	if err := errors.Join(os.RemoveAll(a.dir), os.Mkdir(a.dir, 0o755)); err != nil {
		return nil, err
	}
	before, _, err := a.dump(ctx)
	if err != nil {
		return nil, err
	}
	command := "olmgen adopt dump.yaml --to " + string(f.to) + " -o olmgen.yaml --plan plan.md --force"
	if f.stays != "" {
		command += " --except " + strings.Join(f.staying(), " --except ")
		if before, err = before.Select(adopt.Selection{Except: f.staying()}); err != nil {
			return nil, err
		}
	}
	certs, err := a.keepCertificates(before)
	if err != nil {
		return nil, err
	}
	sources, err := a.sources()
	if err != nil {
		return nil, err
	}
	for _, csv := range slices.Sorted(maps.Keys(sources)) {
		command += " --source " + text.Shell(csv+"="+sources[csv])
	}
	dumped := "$(olmgen adopt --print-kubectl) > dump.yaml\n"
	if a.managed {
		dumped = "$(olmgen adopt --print-kubectl) --show-managed-fields > dump.yaml\n"
	}
	out, err := a.cluster.Shell(ctx, a.dir, dumped+command+
		"\nis=$?; test $is = 0 || test $is = 3 # 3: it takes rights away")
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", command, err, out)
	}
	if err := a.edit("olmgen.yaml", certs); err != nil {
		return nil, err
	}
	p := &departure{form: f, before: before}
	if p.after, _, err = a.render(ctx, before, adopt.Options{To: f.to}, certs); err != nil {
		return nil, err
	}
	p.result = before.Verify(p.after)
	page, err := a.read(p)
	if err == nil {
		err = a.compare(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return p, ofOLMItself(out, page)
}

// read reads the files of a plan, and returns its page.
func (a *adoption) read(p *departure) (string, error) {
	files := map[string]string{}
	for _, name := range []string{"plan.md", "plan.sh", "plan.back.sh"} {
		data, err := os.ReadFile(filepath.Join(a.dir, name))
		if err != nil && (name != "plan.back.sh" || !errors.Is(err, os.ErrNotExist)) {
			return "", err
		}
		files[name] = string(data)
	}
	var script string
	p.lists, script, _ = strings.Cut(files["plan.sh"], "\n\n# 1. ")
	_, p.lists, _ = strings.Cut(p.lists, "\nset -eu\n")
	var err error
	p.steps, err = steps("# 1. " + script)
	_, back, _ := strings.Cut(files["plan.back.sh"], "\nset -eu\n")
	lists, back, _ := strings.Cut(back, "\n\n")
	p.lists += "\n" + lists // each script has those that its commands read
	p.back = commands(back)
	if !a.certManager {
		p.withoutCertManager()
	}
	p.gone, p.csvs = p.rows("deleted"), p.rows("operators")
	return files["plan.md"], err
}

// withoutCertManager takes what the plan does with certificates out of it: the file keeps OLM's, see keepCertificates.
func (p *departure) withoutCertManager() {
	created := slices.DeleteFunc(p.rows("created"), func(row string) bool {
		return strings.Contains(row, "cert-manager.io ")
	})
	assigned := regexp.MustCompile(`(?m)^created=(?:'[^']*'|\S+)$`)
	p.lists = assigned.ReplaceAllLiteralString(p.lists, "created="+text.Shell(strings.Join(created, "\n")))
	if len(created) == 0 {
		loop := func(c string) bool { return strings.HasPrefix(c, `echo "$created" |`) }
		for i := range p.steps {
			p.steps[i].Run = slices.DeleteFunc(p.steps[i].Run, loop)
			p.steps[i].Undo = slices.DeleteFunc(p.steps[i].Undo, loop)
		}
		p.back = slices.DeleteFunc(p.back, loop)
	}
	p.steps = slices.DeleteFunc(p.steps, func(s adopt.Step) bool {
		return s.Title == switchTitle
	})
}

// rows returns the rows of a list of a plan.
func (p *departure) rows(name string) []string {
	m := regexp.MustCompile(`(?m)^` + name + `=(?:'([^']*)'|(\S+))$`).FindStringSubmatch(p.lists)
	if m == nil {
		return nil
	}
	return strings.Split(m[1]+m[2], "\n")
}

// compare asks the comparison who loses which right.
func (a *adoption) compare(ctx context.Context, p *departure) error {
	command := "olmgen adopt --verify dump.yaml -f olmgen.yaml --format json --fail-on none 2>/dev/null"
	if p.stays != "" {
		command += " --except " + strings.Join(p.staying(), " --except ")
	}
	out, err := a.cluster.Shell(ctx, a.dir, command)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	var report adopt.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return err
	}
	for _, f := range report.Findings {
		if strings.HasPrefix(f.Message, "loses, in ") {
			p.lost = append(p.lost, f.Object+" "+f.Message)
		}
	}
	return nil
}

// ofOLMItself holds that OLM's own packageserver is left to it in one line, and that no plan names it.
func ofOLMItself(said, page string) error {
	const line = "ClusterServiceVersion olm/packageserver: it is OLM's own, and stays with OLM"
	switch {
	case strings.Count(said, line) != 1 || strings.Count(said, "packageserver") != 1:
		return fmt.Errorf("packageserver is not left to OLM in one line: %s", said)
	case strings.Contains(page, "packageserver") || strings.Contains(page, "olm-operators"):
		return errors.New("the plan names packageserver or its OperatorGroup")
	}
	return nil
}

// steps reads the script of a plan.
func steps(script string) (list []adopt.Step, err error) {
	for _, part := range regexp.MustCompile(`(?m)^# \d+\. `).Split(script, -1)[1:] {
		title, text, _ := strings.Cut(part, "\n")
		step := adopt.Step{Title: title}
		if guard, rest, ok := strings.Cut(text, "# The guard has passed."); ok {
			step.Guard, step.Irreversible = commands(guard), true
			_, text, _ = strings.Cut(rest, "\n")
		}
		var undo, run strings.Builder
		for line := range strings.Lines(text) {
			if back, ok := strings.CutPrefix(line, "# undo: "); ok {
				undo.WriteString(back)
			} else {
				run.WriteString(line)
			}
		}
		step.Run, step.Undo = commands(run.String()), commands(undo.String())
		list = append(list, step)
	}
	if len(list) < 3 {
		err = fmt.Errorf("the plan has %d steps:\n%s", len(list), script)
	}
	return list, err
}

// commands splits a script. A loop is one command.
func commands(script string) (list []string) {
	open := false
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case open:
			list[len(list)-1] += "\n" + line
			open = !strings.HasPrefix(line, "done")
		case line != "":
			list = append(list, line)
			open = strings.HasSuffix(line, "do") || strings.HasSuffix(line, "do ")
		}
	}
	return list
}

// edit changes a file as a person does.
func (a *adoption) edit(name string, change func(string) string) error {
	file := filepath.Join(a.dir, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(change(string(data))), 0o644)
}

// keepCertificates returns the edit by which operators that serve webhooks or APIs keep the certificate that OLM
// made.
func (a *adoption) keepCertificates(s *adopt.State) (func(string) string, error) {
	if a.certManager {
		return func(file string) string { return file }, nil
	}
	authorities := services(s)
	var files []string // in the order of the operators in the file
	for _, o := range s.All() {
		spec := o.CSV.Spec
		if len(spec.WebhookDefinitions)+len(spec.APIServiceDefinitions.Owned) == 0 {
			continue
		}
		name := "ca-" + o.Package + ".pem"
		for _, d := range spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			ca, err := base64.StdEncoding.DecodeString(authorities[d.Name+"-service"])
			if err == nil && len(ca) > 0 {
				err = os.WriteFile(filepath.Join(a.dir, name), ca, 0o644)
			}
			if err != nil {
				return nil, err
			}
		}
		files = append(files, name)
	}
	manager := regexp.MustCompile(`(?m)^( +)provider: cert-manager$`)
	return func(file string) string {
		n := 0
		return manager.ReplaceAllStringFunc(file, func(found string) string {
			indent := strings.TrimSuffix(found, "provider: cert-manager")
			n++
			return indent + "provider: user\n" + indent + "secret: '{deployment}-service-cert'\n" +
				indent + "caBundleFile: " + files[min(n, len(files))-1]
		})
	}, nil
}

// services returns the CAs that objects trust, by the Service that they call.
func services(s *adopt.State) map[string]string {
	found := map[string]string{}
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			service, _ := v["service"].(map[string]any)
			if ca, _ := v["caBundle"].(string); ca != "" && service != nil {
				found[fmt.Sprint(service["name"])] = ca
			}
			for _, x := range v {
				look(x)
			}
		case []any:
			for _, x := range v {
				look(x)
			}
		}
	}
	for _, kind := range serving {
		for _, o := range s.Dump.OfKind(kind) {
			look(o.Value())
		}
	}
	return found
}

// run follows steps, and counts their commands.
func (a *adoption) run(ctx context.Context, p *departure, steps []adopt.Step) (ran int, err error) {
	for _, s := range steps {
		n, err := a.follow(ctx, p, s.Title, slices.Concat(s.Guard, s.Run))
		if err != nil {
			return ran, err
		}
		ran += n
	}
	return ran, nil
}

// follow runs the commands of a step, and counts them. Scaling OLM's Deployments stops and starts OLM, which has none
// here. With kills, each command is killed once and runs again.
func (a *adoption) follow(ctx context.Context, p *departure, title string, commands []string) (ran int, err error) {
	var script []string
	run := func() error {
		if len(script) == 0 {
			return nil
		}
		out, err := a.cluster.Shell(ctx, a.dir, "set -eu\n"+p.lists+"\nset -x\n"+strings.Join(script, "\n"))
		if err != nil {
			return fmt.Errorf("step %q: %w: %s", title, err, out[max(0, len(out)-2000):])
		}
		script = nil
		return nil
	}
	for _, line := range commands {
		switch {
		case strings.Contains(line, "scale deployment"):
			if err := errors.Join(run(), a.scale(ctx, line)); err != nil {
				return ran, err
			}
			if a.deployed {
				script = append(script, line)
			}
		case absent.MatchString(line):
			continue
		case a.kills && !strings.HasPrefix(line, "#"):
			moments := []string{"0.05", "0.1", "0.2", "0.4"} // of a command that takes half a second
			script = append(script, "timeout -s KILL "+moments[ran%len(moments)]+" sh -c "+
				text.Shell("set -eu\n"+p.lists+"\n"+line)+" >/dev/null 2>&1 || true", line)
		default:
			script = append(script, line)
		}
		ran++
	}
	return ran, run()
}

// absent matches the commands for which something is not there: the pods of OLM.
var absent = regexp.MustCompile(` wait pods `)

// scale does what a command that scales OLM says.
func (a *adoption) scale(ctx context.Context, line string) error {
	switch {
	case strings.HasSuffix(line, "--replicas=0"):
		a.cluster.StopOLM()
	case strings.Contains(line, "catalog-operator"):
		return a.cluster.RunOLM(ctx)
	}
	return nil
}

// undo follows the plan up to its point, and then undoes each step, from the last to the first. Everything must be as
// before.
func (a *adoption) undo(ctx context.Context) error {
	p, err := a.plan(ctx, plain)
	if err != nil {
		return err
	}
	point := slices.IndexFunc(p.steps, func(s adopt.Step) bool { return s.Irreversible })
	ran, err := a.run(ctx, p, p.steps[:point])
	if err != nil {
		return err
	}
	for _, s := range slices.Backward(p.steps[:point]) {
		n, err := a.follow(ctx, p, "undo "+s.Title, s.Undo)
		if err != nil {
			return err
		}
		ran += n
	}
	after, err := a.quiet(ctx)
	if err != nil {
		return err
	}
	n, err := tolerance{kinds: []string{"Subscription"}}.restored(p.before, after)
	if err != nil {
		return fmt.Errorf("after undo: %w", err)
	}
	a.say("undone: %d commands up to the point and back, %d objects as before", ran, n)
	return a.sameAnswers(ctx, "after undo")
}

// leave follows the whole plan. What is rendered must be as it was, nothing of OLM's own may be left, and only the
// rights may be gone that objects grant which the plan deletes. OLM starts again at the end, and must leave all alone.
func (a *adoption) leave(ctx context.Context) error {
	p, err := a.plan(ctx, plain)
	if err != nil {
		return err
	}
	return a.leaveBy(ctx, p)
}

// leaveBy follows a whole plan.
func (a *adoption) leaveBy(ctx context.Context, p *departure) error {
	for _, c := range p.result.Objects {
		if p.to != generate.ProfilePlain {
			break // the page says what it restarts and takes away, and that is compared
		}
		if len(c.Restarts)+len(c.Immutable)+len(c.Loses) > 0 {
			return fmt.Errorf("%s: the plan restarts or takes away: %v %v %v", c.Object, c.Restarts, c.Immutable,
				c.Loses)
		}
	}
	certificates, err := a.certificates(ctx)
	if err != nil {
		return err
	}
	a.kills = true
	ran, err := a.run(ctx, p, p.steps)
	a.kills = false
	if err != nil {
		return err
	}
	after, err := a.quiet(ctx)
	if err != nil {
		return err
	}
	now, err := a.certificates(ctx)
	if err == nil && !maps.Equal(certificates, now) {
		err = errors.New("the Secrets of certificates are not as before")
	}
	if err := errors.Join(err, a.free(p, after), a.resourcesKept(ctx)); err != nil {
		return err
	}
	a.say("left OLM by %d commands (%s): %d rendered objects, %d custom resources and %d certificates kept", ran,
		p.form, len(p.after), len(a.resources), len(now))
	a.departed = p
	return a.lost(ctx, p)
}

// certificates returns the Secrets that OLM made, with their UIDs.
func (a *adoption) certificates(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	list, err := a.cluster.Client.CoreV1().Secrets(a.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, s := range list.Items {
		if s.Type == corev1.SecretTypeTLS {
			found[s.Name] = fmt.Sprint(s.UID, s.Data)
		}
	}
	return found, nil
}

// free holds that what is rendered is as it was, that nothing of OLM's is left of the operators, and that nothing else
// is gone or changed.
func (a *adoption) free(p *departure, after *adopt.State) error {
	rendered := map[string]bool{}
	for _, value := range p.after {
		u := unstructured.Unstructured{Object: value}
		o := p.before.Dump.Get(u.GetKind(), u.GetNamespace(), u.GetName())
		if o == nil {
			if p.to == generate.ProfilePlain {
				return fmt.Errorf("%s %s was not there", u.GetKind(), u.GetName())
			}
			continue
		}
		rendered[o.Identity()] = true
		now := after.Dump.Get(u.GetKind(), u.GetNamespace(), u.GetName())
		check := same
		switch {
		case strings.HasSuffix(u.GetKind(), "WebhookConfiguration"):
			check = func(was, is *dump.Object) error { return sameWebhooks(p.before, after, was, is) }
		case p.to != generate.ProfilePlain && (u.GetKind() != "Deployment" || p.restarts(o)):
			check = sameObject
		}
		if err := check(o, now); err != nil {
			return err
		}
	}
	return p.others(after, rendered)
}

// untouched are kinds of operators that stay with OLM, and of foreign objects, that nothing may write.
var untouched = []string{"Deployment", "StatefulSet", "Service", "ConfigMap", "Role", "RoleBinding", "ClusterRole",
	"ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// others holds that of what is not rendered only that is gone which the plan names, and that nothing else is another.
func (p *departure) others(after *adopt.State, rendered map[string]bool) (err error) {
	for _, o := range p.before.Dump.Objects {
		now := after.Dump.Get(o.Kind, o.Namespace, o.Name)
		switch {
		case rendered[o.Identity()]:
		case p.deletes(o) && now != nil && now.UID == o.UID:
			err = errors.Join(err, fmt.Errorf("%s is still there", o.Identity()))
		case !p.deletes(o):
			check := sameObject
			// other forms aggregate other rules; who loses a right by that is asked
			aggregated := p.to != generate.ProfilePlain && o.Value()["aggregationRule"] != nil
			if slices.Contains(untouched, o.Kind) && o.Labels["olm.owner.kind"] != "OperatorGroup" && !aggregated {
				check = same
			}
			err = errors.Join(err, check(o, now))
		}
	}
	for _, kind := range []string{"ClusterServiceVersion", "Subscription", "OperatorCondition"} {
		for _, o := range after.Dump.OfKind(kind) {
			if was := p.before.Dump.Get(kind, o.Namespace, o.Name); was == nil || p.deletes(was) {
				err = errors.Join(err, fmt.Errorf("OLM has made %s", o.Identity()))
			}
		}
	}
	return err
}

// sameObject holds that an object is there and the same one.
func sameObject(before, after *dump.Object) error {
	if after == nil || after.UID != before.UID {
		return fmt.Errorf("%s is gone, or another", before.Identity())
	}
	return nil
}

// restarts reports whether the page says that the pods of a Deployment restart.
func (p *departure) restarts(o *dump.Object) bool {
	return slices.ContainsFunc(p.result.Objects, func(c adopt.Compared) bool {
		return c.Object == o.Identity() && len(c.Restarts) > 0
	})
}

// comeBack follows the way back from the point of the plan. OLM must take the objects for its own again.
func (a *adoption) comeBack(ctx context.Context) error {
	p := a.departed
	a.returned = true
	ran, err := a.follow(ctx, p, "way back", p.back)
	if err != nil {
		return err
	}
	after, err := a.quiet(ctx)
	if err != nil {
		return err
	}
	n, err := tolerance{group: true, labelled: rounds[a.Name] != nil, deleted: p.deletes, restarted: p.restarts,
		kinds: []string{"ClusterServiceVersion", "Subscription", "OperatorGroup",
			"OperatorCondition"}}.restored(p.before, after)
	if err != nil {
		return fmt.Errorf("after the way back: %w", err)
	}
	if err := a.resourcesKept(ctx); err != nil {
		return err
	}
	a.say("back to OLM by %d commands: %d objects as before, no second copy, Deployments with their UID and generation",
		ran, n)
	return a.sameAnswers(ctx, "after the way back")
}

// quiet waits until all CSVs have succeeded and nothing has changed for a while, and returns what there is.
func (a *adoption) quiet(ctx context.Context) (*adopt.State, error) {
	return a.until(ctx, func(*adopt.State) error { return nil })
}

// until is quiet that waits for something else too.
func (a *adoption) until(ctx context.Context, done func(*adopt.State) error) (*adopt.State, error) {
	const patience, quiet = 90 * time.Second, 4 * time.Second
	var last string
	for started, since := time.Now(), time.Now(); ; {
		s, _, err := a.dump(ctx)
		if err == nil {
			err = a.cluster.Check()
		}
		if err != nil {
			return nil, err
		}
		if now := content(s); now != last {
			last, since = now, time.Now()
		}
		waiting := done(s)
		if waiting == nil {
			waiting = unfinished(s)
		}
		if waiting == nil && time.Since(since) > quiet {
			return s, nil
		}
		if time.Since(started) > patience {
			return s, fmt.Errorf("OLM does not come to rest: %w\n%s", waiting, complaints(a.cluster.Log("olm")+
				a.cluster.Log("catalog")))
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return s, err
		}
	}
}

// unfinished returns what OLM still has to do, or nil.
func unfinished(s *adopt.State) error {
	for _, o := range s.Dump.OfKind("ClusterServiceVersion") {
		if o.Labels["olm.copiedFrom"] != "" {
			continue
		}
		if phase, _, _ := unstructured.NestedString(o.Value(), "status", "phase"); phase != "Succeeded" {
			message, _, _ := unstructured.NestedString(o.Value(), "status", "message")
			return fmt.Errorf("%s is %s: %s", o.Identity(), phase, message)
		}
	}
	for _, o := range s.Dump.OfKind("Subscription") {
		if at, _, _ := unstructured.NestedString(o.Value(), "status", "state"); at != "AtLatestKnown" {
			conditions, _, _ := unstructured.NestedSlice(o.Value(), "status", "conditions")
			return fmt.Errorf("%s is %s: %v", o.Identity(), at, conditions)
		}
		installed, _, _ := unstructured.NestedString(o.Value(), "status", "installedCSV")
		if s.Dump.Get("ClusterServiceVersion", o.Namespace, installed) == nil {
			return fmt.Errorf("%s has installed %q, which is not there", o.Identity(), installed)
		}
	}
	return nil
}
