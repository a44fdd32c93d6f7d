// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func linesBackward(t *testing.T, text string, size int64) ([]string, error) {
	t.Helper()
	var got []string
	err := backward(t.Context(), strings.NewReader(text), size, func(line []byte) bool {
		got = append(got, string(line))
		return true
	})
	return got, err
}

func TestLinesComeFromTheEnd(t *testing.T) {
	long := strings.Repeat("x", 3*blockSize)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"none":         {"", nil},
		"one":          {"a\n", []string{"a"}},
		"without end":  {"a\nb", []string{"b", "a"}},
		"empty lines":  {"a\n\n\nb\n", []string{"b", "", "", "a"}},
		"long":         {"a\n" + long + "\nb\n", []string{"b", long[:maxLine], "a"}},
		"long at last": {long, []string{long[:maxLine]}},
		"at a block":   {strings.Repeat("y", blockSize-1) + "\n" + strings.Repeat("z", blockSize-1) + "\n", []string{strings.Repeat("z", blockSize-1), strings.Repeat("y", blockSize-1)}},
		"only newline": {"\n", nil},
	} {
		got, err := linesBackward(t, c.text, int64(len(c.text)))
		if diff := cmp.Diff(c.want, got); diff != "" && (name != "only newline" || len(got) != 0) || err != nil {
			t.Errorf("%s: %v %.300s", name, err, diff)
		}
	}
}

func TestAFileThatGrowsOrShrinksMeanwhile(t *testing.T) {
	if got, err := linesBackward(t, "a\nb\nnew\n", 4); err != nil || !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := linesBackward(t, "a\n", 100); !errors.Is(err, errShrunk) {
		t.Error(err)
	}
}

func TestForwardIsBounded(t *testing.T) {
	read := func(text string, limit int64) (got []string, more bool) {
		more, err := forward(t.Context(), strings.NewReader(text), limit, func(line []byte) bool {
			got = append(got, string(line))
			return true
		})
		if err != nil {
			t.Error(err)
		}
		return got, more
	}
	if got, more := read("a\nb\nc", 100); more || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q, %v", got, more)
	}
	if got, more := read("a\nb\nc", 4); !more || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q, %v", got, more)
	}
	long := strings.Repeat("x", 2*maxLine+5)
	if got, _ := read(long+"\nend\n", 1<<30); len(got) != 2 || got[0] != long[:maxLine] || got[1] != "end" {
		t.Errorf("%d lines", len(got))
	}
}

func FuzzBackward(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"))
	f.Add(bytes.Repeat([]byte("xyz\n"), blockSize/3))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got [][]byte
		if err := backward(context.Background(), bytes.NewReader(b), int64(len(b)), func(line []byte) bool { got = append(got, bytes.Clone(line)); return true }); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(got)
		want := bytes.TrimSuffix(b, []byte("\n"))
		if back := bytes.Join(got, []byte("\n")); len(b) <= maxLine && len(bytes.TrimLeft(want, "\n")) > 0 && !bytes.Equal(back, bytes.TrimLeft(want, "\n")) && !bytes.Equal(back, want) {
			t.Errorf("%q is %q", b, back)
		}
	})
}
