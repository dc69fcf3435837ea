package cluster

import (
	"runtime"
	"syscall"
)

func lockThread() { runtime.LockOSThread() }

// attributes let a child die with the harness, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
