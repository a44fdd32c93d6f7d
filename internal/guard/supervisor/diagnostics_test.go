// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// written waits until nothing waits to be written.
func written(t *testing.T, d *Diagnostics) {
	t.Helper()
	testenv.WaitFor(t, "all is written", func() bool {
		d.Flush()
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.written == nil
	})
}

// A client that reads late gets what there was room for, and how much else there was.
func TestDiagnosticsWaitForNobody(t *testing.T) {
	testenv.HangGuard(t)
	r, w := io.Pipe()
	d := NewDiagnostics(w)
	fmt.Fprintln(d, "first")
	one := make([]byte, 1)
	if _, err := r.Read(one); err != nil { // the rest of this line is being written
		t.Fatal(err)
	}
	line := strings.Repeat("x", 1023) + "\n"
	for range 100 {
		fmt.Fprint(d, line)
	}
	read := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		read <- string(one) + string(all)
	}()
	written(t, d)
	fmt.Fprintln(d, "last")
	written(t, d)
	w.Close()
	want := "first\n" + strings.Repeat(line, 64) + "sentinel-guard: nobody read what it had to say, and 36 more of that was dropped\nlast\n"
	if got := <-read; got != want {
		t.Errorf("%d bytes, want %d: ...%.200s", len(got), len(want), got[max(0, len(got)-200):])
	}
}

// One text is never too long, such as all that is wrong with a file of rules.
func TestALongDiagnosticIsWhole(t *testing.T) {
	var out strings.Builder
	d := NewDiagnostics(&out)
	long := strings.Repeat("x", 2*maxDiagnostics)
	fmt.Fprintln(d, long)
	written(t, d)
	if out.String() != long+"\n" {
		t.Errorf("%d bytes", out.Len())
	}
}
