package main

import "testing"

// A command is found by the name that it has in commands.
func TestCommands(t *testing.T) {
	for _, c := range commands() {
		root := newRoot(c.name)
		found, _, err := root.Find([]string{c.name})
		if err != nil || found.Name() != c.name {
			t.Errorf("%s: found %v, %v", c.name, found, err)
		}
		if n := len(root.Commands()); n > 3 { // with help and completion
			t.Errorf("%s: %d commands are made", c.name, n)
		}
	}
	if n := len(newRoot().Commands()); n != len(commands())+2 {
		t.Errorf("%d commands", n)
	}
}

func BenchmarkRoot(b *testing.B) {
	for b.Loop() {
		newRoot("version")
	}
}
