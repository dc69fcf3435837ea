package main

import (
	"io"
	"os"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows on a terminal how many of several bundles have been read; done removes it. Elsewhere it does nothing.
func progress(stderr io.Writer) (step func(total int), done func()) {
	if m, ok := stderr.(*messageWriter); ok {
		stderr = m.w
	}
	file, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	var mu sync.Mutex
	var bar *progressbar.ProgressBar
	step = func(total int) {
		mu.Lock()
		defer mu.Unlock()
		if bar == nil && total > 1 {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(file),
				progressbar.OptionSetDescription("olmgen: reading bundles"),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
				progressbar.OptionSetPredictTime(false))
		}
		if bar != nil {
			_ = bar.Add(1) // what cannot be shown is not missed
		}
	}
	return step, func() {
		mu.Lock()
		defer mu.Unlock()
		if bar != nil {
			_ = bar.Clear()
		}
	}
}
