package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a program of the cluster, in a process group of its own.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// start runs a program whose output goes to a file in dir.
func start(dir, program string, env []string, args ...string) (*process, error) {
	name := filepath.Base(program)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(program, args...) //nolint:noctx // stop ends it
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() {
		lockThread() // a child with a parent-death signal dies with the thread that started it
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // exited reports how it ended
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return p, nil
}

// stop ends the process group, politely for a second.
func (p *process) stop() {
	group := -p.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(time.Second):
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.done
}

// memory returns the bytes that the process holds in memory, 0 where nobody says it.
func (p *process) memory() int64 {
	var size, resident int64
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(data), &size, &resident)
	}
	if err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// exited is an error with the end of the log once the process has ended.
func (p *process) exited() error {
	select {
	case <-p.done:
		data, _ := os.ReadFile(p.log)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		return fmt.Errorf("%s ended (%v):\n%s", p.name, p.cmd.ProcessState,
			strings.Join(lines[max(0, len(lines)-10):], "\n"))
	default:
		return nil
	}
}
