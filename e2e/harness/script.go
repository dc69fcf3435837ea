package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// scenario is a script below e2e/scripts with the variables that it runs with.
type scenario struct {
	name string // that -run matches
	file string // below e2e/scripts, without .txtar
	env  map[string]string
}

// session is what the steps of a script share.
type session struct {
	options
	*testscript.TestScript

	ctx     context.Context // testscript calls a step without one
	check   string
	name    string
	cluster *cluster.Cluster // that the step cluster has started
	state   any              // of the steps of one check

	complaints string // of OLM
}

// step is a command of scripts beside those of testscript.
type step func(s *session, args []string) error

// scriptSteps are those of all scripts; README.md lists them.
var scriptSteps map[string]step

func init() { // retry calls other steps
	scriptSteps = map[string]step{"action": action, "answers": answered, "argocd": argocdStep,
		"calls": calls, "cluster": startCluster, "exits": exits, "flux": fluxStep, "install": install, "logs": logs,
		"move": move, "objects": objects, "publish": publish, "put": put, "removed": removed, "render": renderStep,
		"retry": retryStep, "say": say, "serve": serve, "settles": settles, "soon": soonSays, "stays": stays}
}

// scripts are the scenarios of a check: one for each script in its directory.
func (o options) scripts(check string) (all []scenario, err error) {
	files, err := filepath.Glob(filepath.Join(o.root, "e2e", "scripts", check, "*.txtar"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		all = append(all, scenario{name: name, file: check + "/" + name})
	}
	return all, err
}

// play runs the scenarios that -run asks for, some at a time, and prints each with its time. The steps of a script
// share what fresh makes, which may be nil.
func (o options) play(ctx context.Context, check string, all []scenario, fresh func() any) error {
	all = slices.DeleteFunc(all, func(x scenario) bool { return !o.only.MatchString(x.name) })
	failed := o.each(len(all), func(n int) error {
		started := time.Now()
		s := &session{options: o, ctx: ctx, check: check, name: all[n].name}
		if fresh != nil {
			s.state = fresh()
		}
		skipped, err := s.run(all[n])
		switch seconds := time.Since(started).Seconds(); {
		case err != nil:
			fmt.Printf("%s: %s FAILED after %.0fs: %v\n", check, s.name, seconds, err)
		case skipped != "":
			fmt.Printf("%s: %s: NOT RUN: %s\n", check, s.name, skipped)
		default:
			fmt.Printf("%s: %s, %.0fs\n", check, s.name, seconds)
		}
		return err
	})
	if failed > 0 {
		return fmt.Errorf("%s: %d of %d scripts failed", check, failed, len(all))
	}
	return ctx.Err()
}

// run runs a script to its end, its first error or its skip.
func (s *session) run(x scenario) (skipped string, err error) {
	t := &scriptT{}
	commands := map[string]func(*testscript.TestScript, bool, []string){}
	for name, do := range scriptSteps {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			s.TestScript = ts
			err := errors.Join(s.ctx.Err(), do(s, args))
			switch {
			case neg && err == nil:
				ts.Fatalf("%s succeeds", name)
			case neg:
				fmt.Fprintln(ts.Stderr(), err)
			default:
				ts.Check(err)
			}
		}
	}
	setup := func(env *testscript.Env) error {
		home := filepath.Join(env.WorkDir, ".home")
		variables := map[string]string{"ROOT": s.root, "GOLDEN": s.golden(), "BIN": s.bin(), "HOME": home,
			"SCRIPTS": filepath.Join(s.root, "e2e", "scripts"), "PATH": strings.Join([]string{
				filepath.Join(s.bin(), "pipeline"), s.bin(), os.Getenv("PATH")}, string(os.PathListSeparator))}
		for _, more := range []map[string]string{variables, x.env} {
			for name, value := range more {
				env.Setenv(name, value)
			}
		}
		return os.Mkdir(home, 0o755)
	}
	file := filepath.Join(s.root, "e2e", "scripts", filepath.FromSlash(x.file)+".txtar")
	t.Run(x.name, func(t testscript.T) {
		testscript.RunT(t, testscript.Params{Files: []string{file}, Setup: setup, Cmds: commands,
			RequireExplicitExec: true, RequireUniqueNames: true})
	})
	if t.failed.Load() {
		const again = "[stdout]\n" // what a program says each time until its time is over
		said := strings.Join(slices.Compact(strings.Split(t.said, again)), again)
		return "", errors.New("\n" + strings.TrimSpace(said+s.complaints))
	}
	return t.skipped, nil
}

// startCluster is the step "cluster [webhooks] [olm] [resync=DURATION] [audit=POLICY]": it starts an API server with
// OLM's CRDs, or with a real OLM that looks at everything so often. kubectl asks it from now on. With an audit policy
// it writes audit.log, and admission asks who may change owner references, as on OpenShift.
func startCluster(s *session, args []string) error {
	var with []cluster.Option
	if slices.Contains(args, "webhooks") {
		with = append(with, cluster.WithWebhooks)
	}
	for _, arg := range args {
		if policy, ok := strings.CutPrefix(arg, "audit="); ok {
			with = append(with, cluster.WithFlags("--audit-policy-file", s.MkAbs(policy), "--audit-log-path",
				s.MkAbs("audit.log"), "--enable-admission-plugins", "OwnerReferencesPermissionEnforcement"))
		}
	}
	c, err := cluster.Start(s.ctx, s.bin(), s.files(), with...)
	if err != nil {
		return err
	}
	s.Defer(func() {
		s.complaints = complaints(c.Log("olm") + c.Log("catalog"))
		c.Stop()
	})
	s.join(c)
	for _, arg := range args {
		if every, ok := strings.CutPrefix(arg, "resync="); ok {
			c.Resync, err = time.ParseDuration(every)
		}
	}
	if err != nil || !slices.Contains(args, "olm") {
		return errors.Join(err, c.InstallOLMCRDs(s.ctx))
	}
	return c.StartOLM(s.ctx)
}

// join has the programs of a script ask a cluster.
func (s *session) join(c *cluster.Cluster) {
	s.cluster = c
	s.Setenv("KUBECONFIG", c.File("kubeconfig"))
}

// logs is the step "logs PROGRAM": it prints what a program of the cluster has said.
func logs(s *session, args []string) error {
	_, err := fmt.Fprint(s.Stdout(), s.cluster.Log(args[0]))
	return err
}

// soonSays is the step "soon REGEXP PROGRAM ARGUMENT...": it runs a program again and again until what it says matches.
func soonSays(s *session, args []string) error { return settles(s, append([]string{"0s"}, args...)) }

// settles is the step "settles DURATION REGEXP PROGRAM ARGUMENT...": soon, and what the program says must stay the same
// for so long.
func settles(s *session, args []string) error {
	const patience = 3 * time.Minute
	quiet, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	want, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	var last string
	for started, since := time.Now(), time.Now(); ; {
		failed := s.Exec(args[2], args[3:]...)
		now := s.ReadFile("stdout") + s.ReadFile("stderr")
		if now != last {
			last, since = now, time.Now()
		}
		if want.MatchString(now) && time.Since(since) >= quiet {
			return nil
		}
		if s.cluster != nil {
			if err := s.cluster.Check(); err != nil {
				return err
			}
		}
		if time.Since(started) > patience+quiet {
			return errors.Join(fmt.Errorf("after %s it does not say %q, and stay so for %s:\n%s", patience, want, quiet,
				now), failed)
		}
		if err := sleep(s.ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
}

// stays is the step "stays DURATION REGEXP PROGRAM ARGUMENT...": what a program says must match for so long.
func stays(s *session, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	want, err := regexp.Compile("(?m)" + args[1])
	for started := time.Now(); err == nil && time.Since(started) < d; err = sleep(s.ctx, 300*time.Millisecond) {
		if err := s.Exec(args[2], args[3:]...); err != nil {
			return err
		}
		if !want.MatchString(s.ReadFile("stdout")) {
			return fmt.Errorf("after %s it does not say %q", time.Since(started), want)
		}
	}
	return err
}

// retryStep is the step "retry DURATION STEP ARGUMENT...": a step must succeed within so long.
func retryStep(s *session, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	for started := time.Now(); ; {
		err := scriptSteps[args[1]](s, args[2:])
		if err == nil || time.Since(started) > d {
			return err
		}
		if err := sleep(s.ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// exits is the step "exits CODE PROGRAM ARGUMENT...".
func exits(s *session, args []string) error {
	err := s.Exec(args[1], args[2:]...)
	code := 0
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}
	if err == nil && fmt.Sprint(code) != args[0] {
		err = fmt.Errorf("exit code %d", code)
	}
	return err
}

// say is the step "say WORD...": it prints what has been proven.
func say(s *session, args []string) error {
	fmt.Printf("%s: %s: %s\n", s.check, s.name, strings.Join(args, " "))
	return nil
}

// scriptT is what testscript needs of a test.
type scriptT struct {
	failed  atomic.Bool
	said    string
	skipped string
}

// errEnd ends a script.
var errEnd = errors.New("the script ends")

func (t *scriptT) Skip(why ...any) { t.skipped = fmt.Sprint(why...); panic(errEnd) }
func (t *scriptT) Fatal(why ...any) {
	t.Log(why...)
	t.FailNow()
}
func (t *scriptT) FailNow()        { t.failed.Store(true); panic(errEnd) }
func (t *scriptT) Log(what ...any) { t.said += fmt.Sprint(what...) }
func (t *scriptT) Parallel()       {}
func (t *scriptT) Verbose() bool   { return false }
func (t *scriptT) Run(_ string, do func(testscript.T)) {
	defer func() {
		if err := recover(); err != nil && err != errEnd { //nolint:errorlint // it is this one
			panic(err)
		}
	}()
	do(t)
}
