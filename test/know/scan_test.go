// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

func TestAScanTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	s := connect(t)
	long := assistant.Ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "1-12000"}, Progress: true}
	r := s.Ask(long)
	if r.IsError || r.Document.Text("host") != "no answer" || r.Document.Number("filtered_count") != 0 {
		t.Errorf("the answer: %v", r.Document)
	}
	if len(r.Progress) < 2 || len(r.Progress) > 1+int(r.Took/(250*time.Millisecond)) {
		t.Errorf("%d notifications in %v", len(r.Progress), r.Took)
	}
	before := -1.0
	for _, p := range r.Progress {
		if p.Progress <= before || p.Progress > 100 || p.Total != 100 || p.Message == "" || !p.Known {
			t.Errorf("after %v: %+v", before, p)
		}
		before = p.Progress
	}
	long.Arguments["port_range"], long.Progress = "1-2000", false
	if r := s.Ask(long); len(r.Progress) != 0 || r.IsError {
		t.Errorf("nobody asked for %v", r.Progress)
	}
	if r := s.Ask(assistant.Ask{Tool: "get_asset_info", Progress: true}); len(r.Progress) != 0 || r.IsError {
		t.Errorf("a tool without progress: %+v", r)
	}
}

func TestACancelledScanEnds(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	const after = 700 * time.Millisecond
	s := connect(t)
	for _, progress := range []bool{true, false} {
		r := s.Ask(assistant.Ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "all"}, Progress: progress, CancelMS: int(after.Milliseconds())})
		if !r.Cancelled {
			t.Errorf("not cancelled: %v", r.Document)
		}
		// By itself the scan would end at its limit of forty seconds.
		testenv.WaitAtMost(t, 20*time.Second, "the end of sentinel", func() bool { return running(t) == 0 })
	}
	s.Call("", "scan_ports", map[string]any{"target": own, "port_range": "22"}) // and progress that came late would be an error
}

// TestAScanThatServersGiveUp has a server with less time than sentinel takes.
func TestAScanThatServersGiveUp(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	r := connect(t, "--timeout", "1s").Ask(assistant.Ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "all"}})
	if code := r.Document.Text("error_code"); !r.IsError || code != "CANCELLED" && code != "TIMEOUT" {
		t.Errorf("%v", r.Document)
	}
}

// TestAScanOverItsDeadlineTellsWhatItHas takes the whole time limit of a scan,
// which may open too few files to be done by then.
func TestAScanOverItsDeadlineTellsWhatItHas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the time limit of forty seconds")
	}
	if !onMachine(t) {
		return
	}
	s := assistant.Start(t, "prlimit", "--nofile=256:256", program("client"), program("sentinel-mcp"))
	r := s.Ask(assistant.Ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "all"}, Progress: true})
	d := r.Document
	if r.IsError || d["complete"] != false || d.Text("host") != "no answer" || d.Number("scanned") != 0 || d.Number("ports_total") != 65535 {
		t.Errorf("the answer: %v", d)
	}
	if gaps := d.Rows("unavailable"); len(gaps) == 0 || gaps[0].Text("field") != "ports" || !strings.Contains(gaps[0].Text("reason"), "time limit") {
		t.Errorf("the answer does not say why: %v", d["unavailable"])
	}
	if len(r.Progress) < 2 {
		t.Errorf("%d notifications", len(r.Progress))
	}
}
