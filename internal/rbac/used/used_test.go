package used_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
)

var manager = rbac.Account{Namespace: "ns", Name: "manager"}

const event = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete",` +
	`"requestURI":"/api/v1/pods?limit=1","verb":"list","user":{"username":"system:serviceaccount:ns:manager"},` +
	`"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},` +
	`"stageTimestamp":"2026-11-02T10:00:01.000001Z","annotations":{"authorization.k8s.io/decision":"allow"}}`

func newLog() *used.Log {
	return used.NewLog(map[rbac.Account][]rbac.Account{manager: {manager}})
}

func read(t *testing.T, r io.Reader) (*used.Log, error) {
	t.Helper()
	l := newLog()
	return l, l.Read("log", r)
}

// An event is found in each form of a log.
func TestForms(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(event))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	indented := strings.NewReplacer(`,"`, ",\n  \"", `{"`, "{\n  \"", `":`, `": `).Replace(event)
	list := `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[%s]}`
	for name, log := range map[string]string{
		"a line": event + "\n", "no end of line": event, "CRLF": event + "\r\n", "gzip": zipped.String(), "indented": indented,
		"a list": fmt.Sprintf(list, event), "an indented list": fmt.Sprintf(list, "\n"+indented+"\n"),
		"a list behind a line": `{"stageTimestamp":"2026-11-02T10:00:01.000001Z"}` + "\n" + fmt.Sprintf(list, event),
		"an array":             "[" + event + "]", "a node before it": "master-0.example.com " + event,
		"in a field": `{"time":1,"log":{"event":` + event + `}}`, "in a text": fmt.Sprintf(`{"message":%q}`, event),
		"a list whose kind is last": fmt.Sprintf(`{"apiVersion":"audit.k8s.io/v1","items":[%s],"kind":"EventList"}`, event),
		"in a list in a field":      fmt.Sprintf(`{"time":1,"events":[%s]}`, event), "an export, indented": fmt.Sprintf("{\n \"log\": %s\n}", indented),
		"in a list of texts in fields": fmt.Sprintf(`{"records":[{"properties":{"log":%q}}]}`, event),
		"a byte-order mark":            "\ufeff" + event, "empty lines": "\n\n" + event + "\n\n",
	} {
		l, err := read(t, strings.NewReader(log))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a := l.Of(manager)
		want := used.Asked{Atom: rbac.Atom{Resource: "pods", Verb: "list"}}
		if !a.Asked[want].Allowed || a.Events != 1 {
			t.Errorf("%s: %d events, %v", name, a.Events, a.Asked)
		}
	}
}

// Documents of different forms stand in one file.
func TestMixedForms(t *testing.T) {
	list := fmt.Sprintf(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[%s]}`+"\n", event)
	for _, log := range []string{list + event, list + list, event + "\n" + list, "[" + event + "]\n" + event, list + "[" + event + "]", list + "{}\n" + event} {
		if l, err := read(t, strings.NewReader(log)); err != nil || l.Of(manager).Events != 2 || l.Events != 2 {
			t.Errorf("%v, %d events of %s", err, l.Of(manager).Events, log)
		}
	}
}

// A request that somebody makes as the account needs the right of the account, and is no request of its own.
func TestActsAs(t *testing.T) {
	as := strings.NewReplacer(`"system:serviceaccount:ns:manager"}`, `"admin"},"impersonatedUser":{"username":"system:serviceaccount:ns:manager"}`)
	l, err := read(t, strings.NewReader(as.Replace(event)))
	a, want := l.Of(manager), used.Asked{Atom: rbac.Atom{Resource: "pods", Verb: "list"}}
	if use := a.Asked[want]; err != nil || use.Needed == "" || use.Allowed || a.Events != 0 {
		t.Errorf("%v, %+v, %d events", err, use, a.Events)
	}
	l, err = read(t, strings.NewReader(strings.Replace(as.Replace(event), `"allow"`, `"forbid"`, 1)))
	if err != nil || len(l.Of(manager).Asked) != 0 {
		t.Errorf("%v, %v", err, l.Of(manager).Asked)
	}
}

// Without annotations, the code of the answer tells whether the authorizer allowed the request.
func TestWithoutAnnotations(t *testing.T) {
	for code, allowed := range map[string]bool{"200": true, "101": true, "404": true, "409": true, "422": true,
		"401": false, "403": false, "429": false, "500": false, "503": false} {
		l, err := read(t, strings.NewReader(strings.NewReplacer(`,"annotations":{"authorization.k8s.io/decision":"allow"}`, "", "200", code).Replace(event)))
		if err != nil || (l.Of(manager).Events == 1) != allowed {
			t.Errorf("%s: %v, %d events", code, err, l.Of(manager).Events)
		}
	}
}

// The path of a request may begin with two slashes.
func TestPath(t *testing.T) {
	l, err := read(t, strings.NewReader(strings.NewReplacer(`"objectRef":{"resource":"pods","apiVersion":"v1"},`, "", "/api/v1/pods", "//metrics").Replace(event)))
	if want := (used.Asked{Atom: rbac.Atom{Verb: "list", IsURL: true, URL: "//metrics"}}); err != nil || !l.Of(manager).Asked[want].Allowed {
		t.Errorf("%v, %v", err, l.Of(manager).Asked)
	}
}

// What is no event is counted, and a log without events is an error.
func TestHostile(t *testing.T) {
	for name, log := range map[string]string{
		"nothing": "", "text": "hello\n", "a wrong type": strings.Replace(event, `"verb":"list"`, `"verb":{}`, 1),
		"cut off": event[:len(event)/2], "deep": strings.Repeat("[", 100_000), "an open list": `{"kind":"EventList","items":[`,
		"no gzip": "\x1f\x8bhello", "a huge line": event[:len(event)-1] + `,"x":"` + strings.Repeat("a", 17<<20) + `"}`,
	} {
		if _, err := read(t, strings.NewReader(log)); err == nil || !strings.HasPrefix(err.Error(), "log: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := event[:len(event)-1] + `,"x":"` + strings.Repeat("a", 17<<20) + "\"}\n"
	l, err := read(t, strings.NewReader(event+"\n"+long+event+"\n"+long+event))
	if err != nil || l.Skipped != 2 || l.Events != 3 {
		t.Errorf("%v, skipped %d of %d", err, l.Skipped, l.Events)
	}
	l, err = read(t, strings.NewReader("{}\n"+event+"\n"+strings.Replace(event, `"code":200`, `"code":"x"`, 1)))
	if err != nil || l.Skipped != 2 || l.Events != 1 {
		t.Errorf("%v, skipped %d of %d", err, l.Skipped, l.Events)
	}
}

// many yields events with other names, namespaces or users.
type many struct {
	left, n int
	line    string
	buf     []byte
}

func (m *many) Read(p []byte) (int, error) {
	for len(m.buf) == 0 {
		if m.n == m.left {
			return 0, io.EOF
		}
		m.n++
		m.buf = fmt.Appendf(m.buf, m.line, m.n)
	}
	n := copy(p, m.buf)
	m.buf = m.buf[:copy(m.buf, m.buf[n:])]
	return n, nil
}

// What a log holds does not grow with users, names, namespaces, resources and URLs.
func TestBounded(t *testing.T) {
	for name, line := range map[string]string{
		"users":      strings.Replace(event, "ns:manager", "ns:u%d", 1),
		"names":      strings.Replace(event, `"resource":"pods"`, `"resource":"pods","name":"x%d"`, 1),
		"namespaces": strings.Replace(event, `"resource":"pods"`, `"resource":"pods","namespace":"x%d"`, 1),
		"resources":  strings.Replace(event, `"resource":"pods"`, `"resource":"x%d"`, 1),
		"URLs":       strings.NewReplacer(`"objectRef":{"resource":"pods","apiVersion":"v1"},`, "", "/api/v1/pods", "/x/%d").Replace(event),
		"verbs":      strings.Replace(event, `"verb":"list"`, `"verb":"x%d"`, 1),
		"levels":     strings.Replace(event, `"level":"Metadata"`, `"level":"x%d"`, 1),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l, err := read(t, &many{left: 50_000, line: line + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 12<<20 {
			t.Errorf("%s: %d bytes are held", name, grown)
		}
		a := l.Of(manager)
		if full := name == "resources" || name == "URLs" || name == "verbs"; a.Full != full || l.Events != 50_000 {
			t.Errorf("%s: full is %v, %d events", name, a.Full, l.Events)
		}
	}
}

// A name that a right depends on is held, however many others there are.
func TestKnown(t *testing.T) {
	l := newLog()
	l.Know([]string{"x4000"})
	if err := l.Read("log", &many{left: 5000, line: strings.Replace(event, `"resource":"pods"`, `"resource":"pods","name":"x%d"`, 1) + "\n"}); err != nil {
		t.Fatal(err)
	}
	want := used.Asked{Atom: rbac.Atom{Resource: "pods", Verb: "list", Named: true, Name: "x4000"}}
	if !l.Of(manager).Asked[want].Allowed || len(l.Of(manager).Asked) > 20 {
		t.Errorf("%v", l.Of(manager).Asked)
	}
}

// An impersonation that is denied has neither a decision nor the impersonated user in its event.
func TestDeniedImpersonation(t *testing.T) {
	l, err := read(t, strings.NewReader(strings.NewReplacer(`,"annotations":{"authorization.k8s.io/decision":"allow"}`, "", `{"code":200}`,
		`{"message":"serviceaccounts \"bob\" is forbidden: User \"x\" cannot impersonate resource \"serviceaccounts\" in API group \"\" in the namespace \"b\"",`+
			`"reason":"Forbidden","details":{"name":"bob","kind":"serviceaccounts"},"code":403}`).Replace(event)))
	want := used.Asked{Atom: rbac.Atom{Resource: "serviceaccounts", Verb: "impersonate", Named: true, Name: "bob"}, Place: "b"}
	if err != nil || !l.Of(manager).Asked[want].Denied || len(l.Of(manager).Asked) != 1 {
		t.Errorf("%v, %v", err, l.Of(manager).Asked)
	}
}

// Hours without an event are gaps, in whichever order files are read. Days are those with events.
func TestGaps(t *testing.T) {
	l := newLog()
	for _, hour := range []string{"05T10:59", "02T10:00", "02T11:30", "02T09:59"} {
		if err := l.Read(hour, strings.NewReader(strings.Replace(event, "02T10:00", hour, 1))); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"2026-11-02T12:00:00Z/2026-11-05T10:00:00Z"}; !slices.Equal(l.Gaps, want) || l.Days() != 2 {
		t.Errorf("%v, %d days", l.Gaps, l.Days())
	}
}

func FuzzRead(f *testing.F) {
	f.Add(event)
	f.Add(`{"kind":"EventList","items":[` + event + `]}`)
	f.Add("[" + event + "]")
	f.Add(fmt.Sprintf(`{"message":%q}`, event))
	f.Add(strings.Replace(event, `"stage"`, `"requestObject":{"rules":[{"verbs":["*"]}]},"stage"`, 1))
	f.Fuzz(func(t *testing.T, log string) {
		l, err := read(t, strings.NewReader(log))
		if err == nil && (l.Events == 0 || len(l.Files) != 1) {
			t.Errorf("no error, and %d events", l.Events)
		}
	})
}
