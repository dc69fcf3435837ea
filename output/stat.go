package output

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// statWidth is the width of a line of Stat: git's where there is no terminal.
const statWidth = 80

// Stat prints one line for each difference, with the number of its changed lines, and their sum, as "git diff --stat"
// does (git: diff.c, show_stats).
func Stat(differences []Difference) []byte {
	longest, most, inserted, deleted := 0, 0, 0, 0
	for _, d := range differences {
		longest, most = max(longest, utf8.RuneCountInString(d.Path)), max(most, d.Inserted+d.Deleted)
		inserted, deleted = inserted+d.Inserted, deleted+d.Deleted
	}
	digits := len(strconv.Itoa(most))
	name, graph := longest, most
	if room := statWidth - digits - 6; name+graph > room {
		graph = min(graph, max(6, statWidth*3/8-digits-6))
		if name > room-graph {
			name = room - graph
		} else {
			graph = room - name
		}
	}
	var b bytes.Buffer
	for _, d := range differences {
		plus, minus := scale(d.Inserted, d.Deleted, graph, most)
		signs := strings.Repeat("+", plus) + strings.Repeat("-", minus)
		line := fmt.Sprintf(" %-*s | %*d %s", name, shorten(d.Path, name), digits, d.Inserted+d.Deleted, signs)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if len(differences) > 0 {
		fmt.Fprintf(&b, " %s changed", count(len(differences), "file", ""))
		if inserted > 0 || deleted == 0 {
			b.WriteString(", " + count(inserted, "insertion", "(+)"))
		}
		if deleted > 0 || inserted == 0 {
			b.WriteString(", " + count(deleted, "deletion", "(-)"))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// shorten leaves the end of a path that is longer than width.
func shorten(path string, width int) string {
	runes := []rune(path)
	if len(runes) <= width {
		return path
	}
	end := string(runes[len(runes)-width+len("..."):])
	if i := strings.IndexByte(end, '/'); i >= 0 {
		end = end[i:]
	}
	return "..." + end
}

// scale returns how many signs stand for lines, where width signs stand for the most.
func scale(plus, minus, width, most int) (int, int) {
	if width > most {
		return plus, minus
	}
	linear := func(n int) int {
		if n == 0 {
			return 0
		}
		return 1 + n*(width-1)/most
	}
	total := linear(plus + minus)
	if total < 2 && plus > 0 && minus > 0 {
		total = 2
	}
	if plus < minus {
		p := linear(plus)
		return p, total - p
	}
	m := linear(minus)
	return total - m, m
}

func count(n int, what, sign string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s%s", n, what, sign)
}
