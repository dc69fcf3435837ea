package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// usedFlags are the audit logs that rights are compared with.
type usedFlags struct {
	files, accounts []string
	policy          bool
}

func (f *usedFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.files, "used", nil,
		"compare with what the audit log in `FILE` shows to be used, or - for stdin; may be repeated")
	flags.StringArrayVar(&f.accounts, "account", nil,
		"the name that an account has in the log, as `OLD=NEW`, each NAMESPACE/NAME; may be repeated")
	flags.BoolVar(&f.policy, "audit-policy", false,
		"print the audit policy that records what --used needs; with --openshift-version as the APIServer of OpenShift")
	place(flags, topicFindings, "used", "account", "audit-policy")
}

// add reads the logs and adds what they show to a report.
func (f *usedFlags) add(cmd *cobra.Command, report *permissions.Report) error {
	if len(f.files) == 0 && len(f.accounts) == 0 {
		return nil
	}
	if len(f.files) == 0 {
		return &usageError{"--account is for an audit log, and there is none", "name the log with --used"}
	}
	names, err := f.names()
	if err != nil {
		return err
	}
	log, err := report.NewLog(names)
	if err != nil {
		return err
	}
	if err := f.read(cmd, log, "--used"); err != nil {
		return err
	}
	report.Use(log, names)
	return nil
}

func (f *usedFlags) read(cmd *cobra.Command, log *used.Log, flag string) error {
	for i, file := range f.files {
		if slices.Contains(f.files[:i], file) {
			return &usageError{flag + ": " + file + " is given twice", "leave one out"}
		}
		if err := readLog(cmd, log, file); err != nil {
			return err
		}
	}
	return nil
}

func readLog(cmd *cobra.Command, log *used.Log, file string) error {
	if file == "-" {
		return log.Read("stdin", cmd.InOrStdin())
	}
	in, err := os.Open(file)
	if bad, ok := errors.AsType[*fs.PathError](err); ok {
		return &manifest.Error{File: filepath.ToSlash(file), Msg: bad.Err.Error(),
			Tip: "name the file of an audit log with --used"}
	}
	if err != nil {
		return err
	}
	return errors.Join(log.Read(filepath.ToSlash(file), in), in.Close())
}

// names returns the names in the log by those of the operator.
func (f *usedFlags) names() (map[rbac.Account]rbac.Account, error) {
	out := map[rbac.Account]rbac.Account{}
	for _, given := range f.accounts {
		old, now, ok := strings.Cut(given, "=")
		from, ok1 := account(old)
		to, ok2 := account(now)
		if !ok || !ok1 || !ok2 {
			return nil, &usageError{"--account: " + given + " is not OLD=NEW, each NAMESPACE/NAME",
				"write such as --account old-namespace/manager=operators/manager"}
		}
		out[to] = from
	}
	return out, nil
}

func account(s string) (rbac.Account, bool) {
	namespace, name, ok := strings.Cut(s, "/")
	return rbac.Account{Namespace: namespace, Name: name}, ok && namespace != "" && name != ""
}
