package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/permissions"
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
		"another name that an account has in the log, as `OLD=NEW`, by [NAMESPACE/]NAME each; may be repeated")
	flags.BoolVar(&f.policy, "audit-policy", false,
		"print the audit policy that records what --used needs; with --openshift-version as the APIServer of OpenShift")
	place(flags, topicFindings, "used", "account", "audit-policy")
}

// add reads the logs and adds what they show to a report.
func (f *usedFlags) add(cmd *cobra.Command, report *permissions.Report) error {
	if len(f.files) == 0 {
		if len(f.accounts) == 0 {
			return nil
		}
		return &usageError{"--account is for an audit log, and there is none", "name the log with --used"}
	}
	names, err := accountPairs(f.accounts)
	if err != nil {
		return err
	}
	log, err := report.NewLog(names)
	if err == nil {
		err = f.read(cmd, log, "--used")
	}
	if err != nil {
		return err
	}
	report.Use(log)
	if unseen := report.Usage.Unseen(); len(unseen) > 0 {
		say(cmd, findings.Warning, "name the account as the log does, with --account OLD=NEW, or give a longer log",
			"the log has no event of %s: what is used is not known", text.FirstOf(6, unseen))
	}
	return nil
}

// read reads the logs that a flag names.
func (f *usedFlags) read(cmd *cobra.Command, log *used.Log, flag string) error {
	for i, file := range f.files {
		switch {
		case slices.Contains(f.files[:i], file):
			return &usageError{flag + ": " + file + " is given twice", "leave one out"}
		case file == "-":
			if err := log.Read("stdin", cmd.InOrStdin()); err != nil {
				return err
			}
			continue
		}
		in, err := os.Open(file)
		if bad, ok := errors.AsType[*fs.PathError](err); ok {
			return &manifest.Error{File: filepath.ToSlash(file), Msg: bad.Err.Error(),
				Tip: "name the file of an audit log with " + flag}
		}
		if err == nil {
			err = errors.Join(log.Read(filepath.ToSlash(file), in), in.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// accountPairs reads the values of --account. A name without a namespace is that of the one account that has it.
func accountPairs(values []string) (pairs [][2]string, err error) {
	for _, pair := range values {
		old, now, _ := strings.Cut(pair, "=")
		if old == "" || now == "" {
			return nil, &usageError{fmt.Sprintf("--account %q does not name two accounts", pair), "write OLD=NEW"}
		}
		pairs = append(pairs, [2]string{old, now})
	}
	return pairs, nil
}
