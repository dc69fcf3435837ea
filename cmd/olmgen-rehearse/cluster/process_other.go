//go:build !linux

package cluster

import "syscall"

func lockThread() {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
