// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"strings"
	"testing"
	"time"
)

func TestAScanTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	s := connect(t)
	long := ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "1-12000"}, Progress: true}
	r := s.ask(long)
	if r.IsError || r.Document["complete"] != true || r.Document.number("filtered_count") != 12000 {
		t.Errorf("the answer: %v", r.Document)
	}
	if len(r.Progress) < 2 || len(r.Progress) > 1+int(r.took/(250*time.Millisecond)) {
		t.Errorf("%d notifications in %v", len(r.Progress), r.took)
	}
	before := -1.0
	for _, p := range r.Progress {
		if p.Progress <= before || p.Progress > 100 || p.Total != 100 || p.Message == "" || !p.Known {
			t.Errorf("after %v: %+v", before, p)
		}
		before = p.Progress
	}
	long.Arguments["port_range"], long.Progress = "1-2000", false
	if r := s.ask(long); len(r.Progress) != 0 || r.IsError {
		t.Errorf("nobody asked for %v", r.Progress)
	}
	if r := s.ask(ask{Tool: "get_asset_info", Progress: true}); len(r.Progress) != 0 || r.IsError {
		t.Errorf("a tool without progress: %+v", r)
	}
}

func TestACancelledScanEndsWithinASecond(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	const after = 700 * time.Millisecond
	s := connect(t)
	for _, progress := range []bool{true, false} {
		r := s.ask(ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "all"}, Progress: progress, CancelMS: int(after.Milliseconds())})
		if !r.Cancelled || r.took > after+time.Second {
			t.Errorf("cancelled %v after %v: %v", r.Cancelled, r.took, r.Document)
		}
		end := time.Now().Add(time.Second)
		for running(t) > 0 {
			if time.Now().After(end) {
				t.Fatal("sentinel still runs a second after the cancellation")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	s.call("", "scan_ports", map[string]any{"target": own, "port_range": "22"}) // and progress that came late would be an error
}

// TestAScanThatServersGiveUp has a server with less time than sentinel takes.
func TestAScanThatServersGiveUp(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	r := connect(t, "--timeout", "1s").ask(ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "all"}})
	if code := r.Document.text("error_code"); !r.IsError || code != "CANCELLED" && code != "TIMEOUT" || r.took > 2*time.Second {
		t.Errorf("after %v: %v", r.took, r.Document)
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
	s := start(t, "prlimit", "--nofile=256:256", program("client"), program("sentinel-mcp"))
	r := s.ask(ask{Tool: "scan_ports", Arguments: map[string]any{"target": silent, "port_range": "all"}, Progress: true})
	d := r.Document
	if r.IsError || d["complete"] != false || d.number("scanned") == 0 || d.number("scanned") >= d.number("ports_total") || d.number("ports_total") != 65535 {
		t.Errorf("the answer: %v", d)
	}
	if gaps := d.rows("unavailable"); len(gaps) == 0 || gaps[0].text("field") != "ports" || !strings.Contains(gaps[0].text("reason"), "time limit") {
		t.Errorf("the answer does not say why: %v", d["unavailable"])
	}
	if r.took > 45*time.Second || len(r.Progress) < 2 {
		t.Errorf("took %v, with %d notifications", r.took, len(r.Progress))
	}
}
