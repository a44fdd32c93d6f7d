// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// bound is the longest line of the readers here.
const bound = 100_000

// split returns what a reader makes of a stream; of a line that was skipped, "!"
// and its beginning.
func split(t *testing.T, r io.Reader) []string {
	t.Helper()
	in := NewLines(r, bound)
	var got []string
	for {
		line, err := in.Next()
		switch {
		case errors.Is(err, ErrTooLong):
			got = append(got, "!"+string(line))
		case err != nil:
			if !errors.Is(err, io.EOF) {
				t.Fatalf("error %v, want EOF", err)
			}
			return got
		default:
			got = append(got, string(line))
		}
	}
}

func TestEveryLineIsReadWhole(t *testing.T) {
	long := strings.Repeat("x", bound)
	head := "!" + long[:maxPart]
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"two lines", "a\nb\n", []string{"a\n", "b\n"}},
		{"last line without an end", "a\nb", []string{"a\n", "b"}},
		{"blank lines", "\n\r\n", []string{"\n", "\r\n"}},
		{"what is no end of a line", "a\u2028b\u0085c\rd\n", []string{"a\u2028b\u0085c\rd\n"}},
		{"longer than the buffer", long[:80_000] + "\nb\n", []string{long[:80_000] + "\n", "b\n"}},
		{"as long as allowed", long + "\nb\n", []string{long + "\n", "b\n"}},
		{"as long as allowed, with CRLF", long + "\r\nb\r\n", []string{long + "\r\n", "b\r\n"}},
		{"a byte too long", long + "x\nb\n", []string{head, "b\n"}},
		{"much too long", long + long + long + "\nb\n", []string{head, "b\n"}},
		{"too long and without an end", long + long, []string{head}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, split(t, strings.NewReader(test.in))); diff != "" {
				t.Errorf("lines (-want +got):\n%.2000s", diff)
			}
		})
	}
}

func TestMoreSaysWhetherALineIsThere(t *testing.T) {
	in := NewLines(strings.NewReader("a\nb\nc"), bound)
	for _, want := range []bool{true, false} {
		if _, err := in.Next(); err != nil || in.More() != want {
			t.Errorf("%v, want %v (%v)", in.More(), want, err)
		}
	}
}

func TestTheEndOfASkippedLineIsKept(t *testing.T) {
	end := strings.Repeat("y", maxTail-1) + "z"
	for name, text := range map[string]string{
		"in many pieces": strings.Repeat("x", 3*bound) + end + "\r\n",
		"in one":         strings.Repeat("x", bound+1-maxTail) + end + "\n",
		"without an end": strings.Repeat("x", 2*bound) + end,
	} {
		in := NewLines(strings.NewReader(text), bound)
		if _, err := in.Next(); !errors.Is(err, ErrTooLong) {
			t.Fatalf("%s: error %v", name, err)
		}
		if got := string(in.Tail()); !strings.HasSuffix(end, got) || len(got) < maxTail-2 {
			t.Errorf("%s: %d bytes: %.30s", name, len(got), got)
		}
	}
}

func TestLinesArriveInAnyPieces(t *testing.T) {
	const in = "first\nsecond\nthird"
	want := []string{"first\n", "second\n", "third"}
	for name, r := range map[string]io.Reader{
		"byte by byte":       iotest.OneByteReader(strings.NewReader(in)),
		"end with last data": iotest.DataErrReader(strings.NewReader(in)),
	} {
		if diff := cmp.Diff(want, split(t, r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadErrorIsReported(t *testing.T) {
	broken := errors.New("broken")
	in := NewLines(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), bound)
	if line, err := in.Next(); string(line) != "a\n" || err != nil {
		t.Errorf("first: %q, %v", line, err)
	}
	if _, err := in.Next(); !errors.Is(err, broken) {
		t.Errorf("second: error %v, want %v", err, broken)
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "a", "a\nb", "\n\n", "a\r\nb\r\n", "\x00\n\xff", "\r\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := strings.Join(split(t, iotest.HalfReader(bytes.NewReader(in))), "")
		if len(in) < bound && got != string(in) {
			t.Errorf("%q became %q", in, got)
		}
	})
}
