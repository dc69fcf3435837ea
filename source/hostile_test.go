package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// small limits, so that what breaks them is small too.
var small = Limits{MaxFileBytes: 1000, MaxTotalBytes: 2000, MaxFiles: 20}

func many(n int, make func(i int) entry) []entry {
	var list []entry
	for i := range n {
		list = append(list, make(i))
	}
	return list
}

// hostile archives that can be written as tar and as zip.
var hostile = []struct {
	name    string
	entries []entry
	want    string
}{
	{"a path that climbs out", []entry{file("../evil", "x")}, `entry "../evil": has a path that leaves the archive`},
	{"a path that climbs out and comes back", []entry{file("manifests/../../manifests/x", "x")}, `entry "manifests/../../manifests/x": has a path that leaves the archive`},
	{"a path that climbs inside", []entry{file("manifests/../x", "x")}, `entry "manifests/../x": has a path that leaves the archive`},
	{"an absolute path", []entry{file("/etc/passwd", "x")}, `entry "/etc/passwd": has an absolute path`},
	{"a backslash", []entry{file(`manifests\..\x`, "x")}, `entry "manifests\\..\\x": has a backslash in its name`},
	{"a name that is not UTF-8", []entry{file("manifests/\xff", "x")}, `entry "manifests/\xff": has a name that is not UTF-8`},
	{"a very long name", []entry{file(strings.Repeat("a/", 3000)+"x", "x")}, `entry "` + strings.Repeat("a/", 100) + `"...: has a name longer than 4096 bytes`},
	{"a deep path", []entry{file(strings.Repeat("a/", 30)+"x", "x")}, `entry "` + strings.Repeat("a/", 30) + `x": is over the limit of 20 files and directories`},
	{"a file twice", []entry{file("manifests/x", "1"), file("manifests/x", "2")}, `entry "manifests/x": occurs twice`},
	{"a file twice, spelled differently", []entry{file("manifests/x", "1"), file("./manifests//x", "2")}, `entry "manifests/x": occurs twice`},
	{"a file that is also a directory", []entry{file("manifests", "1"), file("manifests/x", "2")}, `entry "manifests/x": is below "manifests", which is not a directory`},
	{"a directory that is also a file", []entry{file("manifests/x", "2"), file("manifests", "1")}, `entry "manifests": is both a directory and something else`},
	{"the root as a file", []entry{file(".", "x")}, `entry ".": is a file, and the root must be a directory`},
	{"a link out of the tree", []entry{symlink("manifests/x", "../../etc/passwd")}, `entry "manifests/x": links to "../../etc/passwd", which leaves the archive`},
	{"a link out of the tree and back", []entry{symlink("manifests/x", "../../manifests/y")}, `entry "manifests/x": links to "../../manifests/y", which leaves the archive`},
	{"an absolute link", []entry{symlink("manifests/x", "/etc/passwd")}, `entry "manifests/x": links to "/etc/passwd", which is not inside the archive`},
	{"a link to nothing", []entry{symlink("manifests/x", "y")}, `entry "manifests/x": links to "manifests/y", which does not exist`},
	{"a link to a directory", []entry{symlink("link", "manifests"), file("manifests/x", "x")}, `entry "link": links to "manifests", which is a directory; only links to files are supported`},
	{"a file below a link", []entry{symlink("link", "manifests"), file("link/x", "x")}, `entry "link/x": is below "link", which is not a directory`},
	{"links in a circle", []entry{symlink("a", "b"), symlink("b", "a")}, `entry "a": links to "b" through too many links`},
	{"a link to itself", []entry{symlink("a", "a")}, `entry "a": links to "a" through too many links`},
	{"links that multiply a file", append([]entry{file("x", strings.Repeat("x", 900))}, many(3, func(i int) entry { return symlink(fmt.Sprint(i), "x") })...),
		`entry "1": is over the limit of 2000 bytes for all files together`},
	{"a large file", []entry{file("manifests/x", strings.Repeat("x", 1001))}, `entry "manifests/x": is larger than 1000 bytes`},
	{"many bytes", many(3, func(i int) entry { return file(fmt.Sprint(i), strings.Repeat("x", 999)) }), `entry "2": is over the limit of 2000 bytes for all files together`},
	{"nothing", nil, `the archive has no bundle`},
}

func TestHostileArchives(t *testing.T) {
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			inDir(t, nil)
			must(t, os.WriteFile("evil.tar", tarOf(t, test.entries...), 0o644))
			must(t, os.WriteFile("evil.zip", zipOf(t, test.entries...), 0o644))
			for _, name := range []string{"evil.tar", "evil.zip"} {
				same(t, name, openError(t, name, Options{Limits: small}), name+": "+test.want)
			}
		})
	}
}

func TestHostileTars(t *testing.T) {
	special := func(kind byte) []byte { return tarOf(t, entry{name: "manifests/x", kind: kind}) }
	good := tarOf(t, goodBundle...)
	afterLastFile := bytes.LastIndex(good, []byte("annotations: {}")) + 512
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"a character device", special(tar.TypeChar), `entry "manifests/x": is a device`},
		{"a block device", special(tar.TypeBlock), `entry "manifests/x": is a device`},
		{"a named pipe", special(tar.TypeFifo), `entry "manifests/x": is a named pipe`},
		{"an unknown type", special('Q'), `entry "manifests/x": is neither file, directory nor link (type 'Q')`},
		{"a hard link out of the tree", tarOf(t, hardlink("manifests/x", "../x")), `entry "manifests/x": links to "../x", which has a path that leaves the archive`},
		{"an absolute hard link", tarOf(t, hardlink("manifests/x", "/etc/passwd")), `entry "manifests/x": links to "/etc/passwd", which has an absolute path`},
		{"a hard link forward", tarOf(t, hardlink("a", "b"), file("b", "b")), `entry "a": links to "b", which is not a file before it in the archive`},
		{"hard links that multiply a file", tarOf(t, append([]entry{file("x", strings.Repeat("x", 900))}, many(3, func(i int) entry { return hardlink(fmt.Sprint(i), "x") })...)...),
			`entry "1": is over the limit of 2000 bytes for all files together`},
		{"many entries", tarOf(t, many(21, func(i int) entry { return file(fmt.Sprint(i), "") })...), `entry "20": is over the limit of 20 entries`},
		{"one directory many times", tarOf(t, many(21, func(int) entry { return dir("a/") })...), `entry "a/": is over the limit of 20 entries`},
		{"cut in a file", good[:afterLastFile-500], `entry "metadata/annotations.yaml": cut short: unexpected EOF`},
		{"cut in a header", good[:700], `cut short: unexpected EOF`},
		{"cut between two entries", good[:afterLastFile], `cut short: unexpected EOF: no end of archive`},
		{"cut gzip", gzipOf(t, good)[:100], `cut short: unexpected EOF`},
		{"gzip cut in its last byte", gzipOf(t, good)[:len(gzipOf(t, good))-1], `cut short: unexpected EOF`},
		{"gzip with a wrong checksum", flip(gzipOf(t, good), -6), `gzip: invalid checksum`},
		{"an empty file", nil, `cut short: unexpected EOF: no end of archive`},
		{"text", bytes.Repeat([]byte("hello world\n"), 100), `not a tar archive`},
		{"xz", []byte("\xfd7zXZ\x00rest"), `compressed with xz; only gzip and zstd are supported`},
		{"bzip2", []byte("BZh91AY"), `compressed with bzip2; only gzip and zstd are supported`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := openError(t, "-", Options{Stdin: bytes.NewReader(test.data), Limits: small})
			if want := "standard input: " + test.want; !strings.HasPrefix(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[len(data)+at] ^= 0xff
	return data
}

func TestHostileZips(t *testing.T) {
	good := zipOf(t, goodBundle...)
	encrypted := bytes.Clone(good)
	for _, signature := range []struct {
		text   string
		offset int
	}{{"PK\x03\x04", 6}, {"PK\x01\x02", 8}} {
		at := bytes.LastIndex(encrypted, []byte(signature.text))
		encrypted[at+signature.offset] |= 1
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"a device", zipOf(t, entry{name: "manifests/x", mode: fs.ModeDevice | 0o644}), `entry "manifests/x": is neither file, directory nor link (D---------)`},
		{"a named pipe", zipOf(t, entry{name: "manifests/x", mode: fs.ModeNamedPipe | 0o644}), `entry "manifests/x": is neither file, directory nor link (p---------)`},
		{"a NUL in a name", zipOf(t, file("manifests/x\x00.yaml", "x")), `entry "manifests/x\x00.yaml": has a NUL character in its name`},
		{"many entries", zipOf(t, many(21, func(i int) entry { return file(fmt.Sprint(i), "") })...), `21 entries, and the limit is 20`},
		{"an encrypted entry", encrypted, `entry "metadata/annotations.yaml": is encrypted`},
		{"a damaged entry", flip(good, -len(good)+bytes.Index(good, []byte("csv.yaml"))+len("csv.yaml")+3), `entry "manifests/csv.yaml": `},
		{"cut short", good[:len(good)-30], `not a zip archive, or cut short`},
		{"empty", nil, `not a zip archive, or cut short`},
		{"a file that is larger than it says", lyingZip(t, 100_000), `entry "manifests/x": zip: `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inDir(t, nil)
			must(t, os.WriteFile("evil.zip", test.data, 0o644))
			got := openError(t, "evil.zip", Options{Limits: small})
			if want := "evil.zip: " + test.want; !strings.HasPrefix(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// lyingZip has a file of n zeros that the directory says is of 10 bytes.
func lyingZip(t testing.TB, n int) []byte {
	packed := new(bytes.Buffer)
	f, err := flate.NewWriter(packed, flate.BestCompression)
	must(t, err)
	_, err = f.Write(make([]byte, n))
	must(t, err)
	must(t, f.Close())
	buf := new(bytes.Buffer)
	w := zip.NewWriter(buf)
	raw, err := w.CreateRaw(&zip.FileHeader{Name: "manifests/x", Method: zip.Deflate, UncompressedSize64: 10,
		CompressedSize64: uint64(packed.Len()), CRC32: crc32.ChecksumIEEE(make([]byte, n))})
	must(t, err)
	_, err = raw.Write(packed.Bytes())
	must(t, err)
	must(t, w.Close())
	return buf.Bytes()
}

// A million entries must be refused before they are in memory, even where the zip's count of them lies.
func TestZipOfAMillionEntries(t *testing.T) {
	fuzztest.Seconds(t)
	inDir(t, nil)
	data := manyEntries(1_000_000)
	must(t, os.WriteFile("evil.zip", data, 0o644))
	before := allocated()
	got := openError(t, "evil.zip", Options{})
	same(t, "error", got, "evil.zip: the list of entries is too long for 20000 entries, which is the limit")
	if used := allocated() - before; used > 64<<20 {
		t.Errorf("%d MiB allocated", used>>20)
	}
}

// manyEntries is a zip directory of n empty files without the files: what a reader loads before it looks at any of
// them.
func manyEntries(n int) []byte {
	buf := new(bytes.Buffer)
	for i := range n {
		name := fmt.Sprintf("%07d", i)
		h := make([]byte, 46, 60)
		copy(h, "PK\x01\x02")
		binary.LittleEndian.PutUint16(h[28:], uint16(len(name)))
		buf.Write(append(h, name...))
	}
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(n%65536))
	binary.LittleEndian.PutUint16(end[10:], uint16(n%65536))
	binary.LittleEndian.PutUint32(end[12:], uint32(buf.Len()))
	buf.Write(end)
	return buf.Bytes()
}

// bomb is a gzip of 10 GiB of zeros in 10 MiB, behind the given beginning.
func bomb(t testing.TB, head []byte) io.Reader {
	zeros := gzipOf(t, make([]byte, 8<<20))
	readers := []io.Reader{bytes.NewReader(gzipOf(t, head))}
	for range 10 << 30 / (8 << 20) {
		readers = append(readers, bytes.NewReader(zeros))
	}
	return io.MultiReader(readers...)
}

// headerOf is the header of a file of the given size, without the file.
func headerOf(t testing.TB, name string, size int64) []byte {
	buf := new(bytes.Buffer)
	must(t, tar.NewWriter(buf).WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size}))
	return buf.Bytes()
}

var bombs = []struct {
	name string
	make func(testing.TB) io.Reader
	want string // under bombLimits
}{
	{"one file", func(t testing.TB) io.Reader { return bomb(t, headerOf(t, "manifests/zeros.yaml", 10<<30)) }, `entry "manifests/zeros.yaml": is larger than 1 MiB`},
	{"nothing but zeros", func(t testing.TB) io.Reader { return bomb(t, nil) }, `too large: more than 16 MiB unpacked`},
	{"many files", func(t testing.TB) io.Reader {
		content := gzipOf(t, make([]byte, 1<<20))
		var readers []io.Reader
		for i := range 10 << 10 { // names repeat behind what the limits let through: making them takes longer than reading
			if i < 400 {
				readers = append(readers, bytes.NewReader(gzipOf(t, headerOf(t, fmt.Sprintf("manifests/%d.yaml", i), 1<<20))))
			}
			readers = append(readers, bytes.NewReader(content))
		}
		return io.MultiReader(readers...)
	}, `entry "manifests/12.yaml": is over the limit of 12 MiB for all files together`},
}

// bombLimits are small enough for the race detector.
var bombLimits = Limits{MaxFileBytes: 1 << 20, MaxTotalBytes: 12 << 20, MaxFiles: 1000}

func TestBombs(t *testing.T) {
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			same(t, "error", openError(t, "-", Options{Stdin: b.make(t), Limits: bombLimits}), "standard input: "+b.want)
		})
	}
}

// BenchmarkBombs shows how much memory a bomb of 10 GiB takes at most under the default limits: peak-MiB.
func BenchmarkBombs(b *testing.B) {
	for _, bomb := range bombs {
		b.Run(bomb.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r := bomb.make(b)
				runtime.GC()
				peak := watchHeap()
				b.StartTimer()
				if _, err := Open(context.Background(), "-", Options{Stdin: r}); err == nil {
					b.Fatal("no error")
				}
				b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
			}
		})
	}
	b.Run("zip", func(b *testing.B) {
		inDir(b, nil)
		must(b, os.WriteFile("bomb.zip", zipOf(b, many(40, func(i int) entry { return file(fmt.Sprint(i), strings.Repeat("\x00", 16<<20)) })...), 0o644))
		for b.Loop() {
			runtime.GC()
			peak := watchHeap()
			if _, err := Open(context.Background(), "bomb.zip", Options{}); err == nil {
				b.Fatal("no error")
			}
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
		}
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestCancelledReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	data := tarOf(t, goodBundle...)
	r := io.MultiReader(bytes.NewReader(data[:600]), readerFunc(func(p []byte) (int, error) { cancel(); return 0, io.EOF }), bytes.NewReader(data[600:]))
	if _, err := Open(ctx, "-", Options{Stdin: r}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
