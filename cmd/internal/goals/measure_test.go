//go:build unix

package goals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// figure is what was measured for a goal.
type figure struct {
	value float64       // what the goal is about
	cost  time.Duration // the CPU time of the job; 0 if the goal is not about time
	limit time.Duration // what it costs to read, hash and write the same bytes
}

// cost is a job that is measured. It returns its CPU time.
type cost func() (time.Duration, error)

// alternate runs each job once, then each again, and so on. It returns the times of each job, run by run.
func (b *bench) alternate(jobs ...cost) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(jobs))
	for range b.runs {
		for i, job := range jobs {
			t, err := job()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
	}
	return times, nil
}

func median[T ~int64 | ~float64](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// ratio returns the median of what each run of a job costs in relation to the sum of other jobs in the same round, each
// less what comes off it.
func ratio(of []time.Duration, to ...[]time.Duration) float64 {
	var list []float64
	for i, t := range of {
		sum := time.Duration(0)
		for _, other := range to {
			sum += other[i]
		}
		list = append(list, t.Seconds()/sum.Seconds())
	}
	return median(list)
}

// less takes the times of one job off those of another.
func less(of, off []time.Duration) (out []time.Duration) {
	for i, t := range of {
		out = append(out, t-off[i])
	}
	return out
}

// inside measures a function of this process.
func inside(f func() error) cost {
	return func() (time.Duration, error) {
		runtime.GC() // what is left of the run before is not the cost of this one
		return lap(f)
	}
}

func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// command measures a run of olmgen.
func (b *bench) command(ctx context.Context, args ...string) cost {
	return func() (time.Duration, error) {
		state, err := b.start(ctx, args...)
		if err != nil {
			return 0, err
		}
		return state.UserTime() + state.SystemTime(), nil
	}
}

// start runs olmgen and returns what is left of the process. What it prints is thrown away.
func (b *bench) start(ctx context.Context, args ...string) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, b.olmgen, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("olmgen %v: %w: %s", args, err, stderr.Bytes())
	}
	return cmd.ProcessState, nil
}

// limit measures what it costs to read and hash the files below directories, and to write a number of bytes.
func (b *bench) limit(write int64, dirs ...string) (time.Duration, error) {
	times, err := b.alternate(inside(func() error {
		for _, dir := range dirs {
			if err := filepath.WalkDir(dir, hashed); err != nil {
				return err
			}
		}
		return b.fill(write)
	}))
	if err != nil {
		return 0, err
	}
	return median(times[0]), nil
}

func hashed(path string, d fs.DirEntry, err error) error {
	if err != nil || d.IsDir() {
		return err
	}
	data, err := os.ReadFile(path)
	sha256.Sum256(data)
	return err
}

// fill writes a file of so many bytes.
func (b *bench) fill(size int64) error {
	f, err := os.Create(filepath.Join(b.dir, "fill"))
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for ; size > 0 && err == nil; size -= int64(len(block)) {
		_, err = f.Write(block[:min(size, int64(len(block)))])
	}
	return errors.Join(err, f.Close())
}

// sizeOf returns the bytes of all files below a directory.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
