package manifest

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var tokenRounds = flag.Int("token-rounds", 20_000, "documents that TestSkimTokens makes")

// tokens are what YAML's scalars and their surroundings are made of. Bytes that are put together at random, as a fuzzer
// does, rarely are such a text.
var tokens = strings.Split(`a|b c|é|0|1_0|0x1F|1.5|.inf|true|no|~|null|2001-01-01|=|<<|"|'|''|\"|\\|\n|\ |\t|\u00e9|\x41|\/|\|| |  |#| #|`+
	`:|: |-|- |?|? |,|[|]|[]|{|}|{}|>|>-|`+"\x00|\x00-|\x00+|\x002|"+`|>2+|&x |*x|!t |!!str |%|@|`+"`|---|...|\t|\r|\u2028|\u0085|\ufeff", "|")

func randomToken(r *rand.Rand) string {
	return strings.ReplaceAll(tokens[r.IntN(len(tokens))], "\x00", "|")
}

// tokenDocument makes a document of random lines. Most lines are indented as far as one before them.
func tokenDocument(r *rand.Rand) string {
	var b strings.Builder
	indents := []int{0}
	b.WriteString("kind: ClusterServiceVersion\n")
	for range 1 + r.IntN(6) {
		indent := indents[r.IntN(len(indents))]
		if r.IntN(3) == 0 {
			indent += 1 + r.IntN(3)
			indents = append(indents, indent)
		}
		b.WriteString(strings.Repeat(" ", indent))
		for r.IntN(4) == 0 {
			b.WriteString("- ")
		}
		if r.IntN(4) > 0 {
			b.WriteString(string(rune('d'+r.IntN(20))) + ": ")
		}
		quote := []string{"", "", `"`, "'"}[r.IntN(4)]
		b.WriteString(quote)
		for range r.IntN(5) {
			b.WriteString(randomToken(r))
			if r.IntN(5) == 0 {
				b.WriteString(strings.Repeat(" ", r.IntN(3)) + "\n" + strings.Repeat(" ", indent+r.IntN(3)))
			}
		}
		b.WriteString(quote)
		b.WriteString(strings.Repeat("\n", r.IntN(3)))
		if r.IntN(10) > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// What is read without the library equals what it reads, for texts of random tokens. Enough of them must be read so.
func TestSkimTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, uint64(*tokenRounds)))
	skimmed := 0
	for range *tokenRounds {
		text := tokenDocument(r)
		docs, err := ReadFile("manifest.yaml", []byte(text), Limits{})
		if err == nil && len(docs) == 1 && checkSkim(t, docs[0].Raw) {
			skimmed++
		}
		if t.Failed() {
			t.Fatalf("%q", text)
		}
	}
	t.Logf("%d of %d documents are read without the library", skimmed, *tokenRounds)
	if skimmed < *tokenRounds/50 {
		t.Errorf("%d of %d documents are read without the library", skimmed, *tokenRounds)
	}
}

// A text of random tokens is printed so that every reader takes it for the same.
func TestEncodeTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(2, uint64(*tokenRounds)))
	for range *tokenRounds / 20 {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString(randomToken(r))
			if r.IntN(4) == 0 {
				b.WriteString("\n")
			}
		}
		if checkEncode(t, hostileObject(b.String())); t.Failed() {
			t.Fatalf("%q", b.String())
		}
	}
}

// A value of random tokens is decoded as JSON's decoder decodes it, whatever the type of its field.
func TestIntoTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(3, uint64(*tokenRounds)))
	fields := strings.Fields("name Name small whole float bytes any map floats array spec list Plain Hidden unknown")
	values := append([]string{"-1", "127", "128", "1e2", "18446744073709551616", "YQ==", "a", "''", "[1, 2, 3]", "[[a], []]", "{a: 1}", "{a: {}}",
		"{a: null}", "{name: a, name2: b}", "{Name: a, name: b}", "-0", "1e400", "0.1", "[~]"}, tokens...)
	for range *tokenRounds / 2 {
		var b strings.Builder
		b.WriteString("kind: A\n")
		used := map[string]bool{}
		for range 1 + r.IntN(3) {
			if f := fields[r.IntN(len(fields))]; !used[f] {
				used[f] = true
				b.WriteString(f + ": " + strings.ReplaceAll(values[r.IntN(len(values))], "\x00", "|") + "\n")
			}
		}
		for _, o := range acceptedObjects("manifest.yaml", []byte(b.String())) {
			sameTyped(t, o, new(odd))
		}
	}
}

// A stream of documents of random tokens is split and read as the library does, which finds the ends by itself. What
// olmgen refuses does not count.
func TestStreamTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(4, uint64(*tokenRounds)))
	separators := []string{"---\n", "--- # c\n", "---\r\n", "---\t\n", "--- ", "# c\n", "\n", ""}
	read := 0
	for range *tokenRounds {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(separators[r.IntN(len(separators))])
			b.WriteString(strings.TrimPrefix(tokenDocument(r), "kind: ClusterServiceVersion\n"))
			if r.IntN(3) > 0 && !strings.HasSuffix(b.String(), "\n") {
				b.WriteString("\n")
			}
		}
		text := b.String()
		got, ok := streamValues(text)
		if !ok || got == 0 || strings.Contains(text, "...") { // the library refuses blank documents with tabs or "..."
			continue
		}
		read++
		d, n := yaml.NewDecoder(strings.NewReader(text)), 0
		for {
			var x yaml.Node
			err := d.Decode(&x)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("the library refuses what is read: %v: %q", err, text)
			}
			if len(x.Content) > 0 && x.Content[0].ShortTag() != "!!null" {
				n++
			}
		}
		if n != got {
			t.Fatalf("%d documents, want %d: %q", got, n, text)
		}
	}
	t.Logf("%d of %d streams are read", read, *tokenRounds)
	if read < *tokenRounds/100 {
		t.Errorf("%d of %d streams are read", read, *tokenRounds)
	}
}

// streamValues counts the documents of a stream that are not null; ok is false if one is refused.
func streamValues(text string) (n int, ok bool) {
	docs, err := ReadFile("manifest.yaml", []byte(text), Limits{})
	if err != nil {
		return 0, false
	}
	for _, d := range docs {
		v, err := d.Value()
		if err != nil {
			return 0, false
		}
		if v != nil {
			n++
		}
	}
	return n, true
}
