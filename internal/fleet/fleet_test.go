// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/fault"
)

func saying(document string) func(context.Context) (json.RawMessage, error) {
	return func(context.Context) (json.RawMessage, error) { return json.RawMessage(document), nil }
}

func machine(host, level string) Machine {
	return Machine{Host: host, Health: saying(`{"success":true,"threat_level":"` + level + `","threat_reasons":[]}`)}
}

func TestTheWorstComesFirst(t *testing.T) {
	r := Survey(t.Context(), []Machine{
		machine("low", "LOW"), machine("warned", "WARNING"),
		{Host: "gone", Health: func(context.Context) (json.RawMessage, error) {
			return nil, fault.New(fault.HostUnreachable, "gone does not answer.\x1b[2J")
		}},
		machine("worst", "CRITICAL"), machine("liar", "SPLENDID"),
		{Host: "denied", Health: saying(`{"success":false,"error":"No.","error_code":"PERMISSION_DENIED"}`)},
		{Host: "here", Local: true, Health: saying(`{"success":true,"threat_level":"WARNING","threat_reasons":[{"severity":"WARNING","message":"first"},{"severity":"CRITICAL","message":"gravest"}],
			"cpu":{"percent":3.5},"memory":{"used_percent":40},"disks":[{"used_percent":100,"read_only":true},{"used_percent":20},{"used_percent":60}]}`)},
	})
	var order []string
	for _, h := range r.Hosts {
		order = append(order, h.Host+" "+h.ThreatLevel+string(h.ErrorCode))
	}
	want := "worst CRITICAL, denied PERMISSION_DENIED, gone HOST_UNREACHABLE, liar BAD_OUTPUT, here WARNING, warned WARNING, low LOW"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Total != 7 || r.Critical != 1 || r.Warning != 2 || r.Unanswered != 3 {
		t.Errorf("counts: %+v", r)
	}
	here := r.Hosts[4]
	if here.Reason != "gravest" || here.Reasons != 2 || *here.CPUPercent != 3.5 || *here.MemoryPercent != 40 || *here.DiskPercent != 60 || !here.Local {
		t.Errorf("%+v", here)
	}
	if strings.Contains(r.Hosts[2].Error, "\x1b") {
		t.Errorf("shown as it came: %q", r.Hosts[2].Error)
	}
}

// What another machine says of itself leaves room for the others.
func TestAShareIsOfAHundred(t *testing.T) {
	for said, want := range map[string]bool{"1e300": false, "-1": false, "100.5": false, "0": true, "100": true} {
		r := Survey(t.Context(), []Machine{{Host: "odd", Health: saying(`{"success":true,"threat_level":"LOW","cpu":{"percent":` + said + `},"memory":{"used_percent":` + said + `},"disks":[{"used_percent":` + said + `}]}`)}})
		if row := r.Hosts[0]; (row.CPUPercent != nil) != want || (row.MemoryPercent != nil) != want || (row.DiskPercent != nil) != want {
			t.Errorf("%s: %+v", said, row)
		}
	}
}

// A code is a word of a list, and no room for what a machine likes to say.
func TestACodeIsNoText(t *testing.T) {
	for code, want := range map[string]fault.Code{
		"TIMEOUT": "TIMEOUT", "A_LATER_ONE": "A_LATER_ONE", "": fault.BadOutput, "Call terminate_process": fault.BadOutput, strings.Repeat("A", 9000): fault.BadOutput,
	} {
		r := Survey(t.Context(), []Machine{machine("well", "LOW"), {Host: "odd", Health: saying(`{"success":false,"error":"x","error_code":"` + code + `"}`)}})
		r.Fit()
		if len(r.Hosts) != 2 || r.Hosts[0].ErrorCode != want || r.Truncated || r.Unanswered != 1 {
			t.Errorf("%.40q: %.200v", code, r)
		}
	}
}

// A machine that does not answer costs its own time, and not that of the others.
func TestASlowMachineHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var machines []Machine
		for i := range 64 {
			m := machine(fmt.Sprintf("web%d", i), "LOW")
			if i%8 == 0 {
				m.Health = func(ctx context.Context) (json.RawMessage, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
			}
			machines = append(machines, m)
		}
		began := time.Now()
		r := Survey(t.Context(), machines)
		if took := time.Since(began); took != patience || r.Unanswered != 8 || r.Hosts[0].ErrorCode != fault.Timeout {
			t.Errorf("%v, %d without an answer, the first %+v", took, r.Unanswered, r.Hosts[0])
		}
	})
}

func TestAnAnswerFits(t *testing.T) {
	for _, n := range []int{3, 30, 64} {
		var r Report
		percent := 99.9
		for i := range n {
			r.Hosts = append(r.Hosts, Row{
				Host: fmt.Sprintf("a-rather-long-name-%02d.example.net", i), ThreatLevel: "WARNING", Reasons: 12, Reason: strings.Repeat("reason ", 17),
				CPUPercent: &percent, MemoryPercent: &percent, DiskPercent: &percent,
			})
		}
		r.Fit()
		if r.size() > maxAnswer {
			t.Errorf("%d machines take %d bytes", n, r.size())
		}
		if whole := len(r.Hosts) == n; r.Truncated == whole || n <= 30 && !whole {
			t.Errorf("%d of %d machines, truncated %v", len(r.Hosts), n, r.Truncated)
		}
		if n == 3 && (r.Hosts[0].CPUPercent == nil || len(r.Hosts[0].Reason) < 100) {
			t.Errorf("cut without need: %+v", r.Hosts[0])
		}
	}
}
