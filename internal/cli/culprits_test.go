// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/processes"
)

func TestCulpritsAreNamedWithTheirShare(t *testing.T) {
	list := []processes.Process{{PID: 7, Name: "stress", User: "ann", CPUPercent: 187.4, MemoryMB: 2048}, {PID: 8, Name: "idle", CPUPercent: 3, MemoryMB: 1}}
	if got := cpuUsers(processes.Ranking{Processes: list}); got != `"stress" (PID 7, ann) 187 % of a core` {
		t.Errorf("%q", got)
	}
	if got := cpuUsers(processes.Ranking{Processes: list, UnattributedPercent: new(96.5), Unattributed: "processes that have ended"}); got != `"stress" (PID 7, ann) 187 %, processes that have ended 96 % of a core` {
		t.Errorf("%q", got)
	}
	if got := cpuUsers(processes.Ranking{Processes: list[1:]}); got != "" {
		t.Errorf("an idle process is behind nothing: %q", got)
	}
	if got := memoryUsers(list, processes.Table{MemoryTotal: 1 << 30, SharedBytes: 99 << 20}); got != `"stress" (PID 7, ann) 2.0 GiB, "idle" (PID 8, user unknown) 1.0 MiB` {
		t.Errorf("%q", got)
	}
	if got := memoryUsers(nil, processes.Table{MemoryTotal: 1 << 30, SharedBytes: 103 << 20}); got != "103 MiB shared or in a tmpfs" {
		t.Error(got)
	}
	if got := memoryUsers(list[1:], processes.Table{MemoryTotal: 1 << 30, SharedBytes: 103 << 20}); got != `103 MiB shared or in a tmpfs, in part perhaps of: "idle" (PID 8, user unknown) 1.0 MiB` {
		t.Errorf("%q", got)
	}
	if got := memoryUsers(list[1:], processes.Table{MemoryTotal: 1 << 30, SharedBytes: 103 << 20, KernelBytes: 300 << 20, Unsized: 2}); got != `103 MiB shared or in a tmpfs, in part perhaps of: "idle" (PID 8, user unknown) 1.0 MiB; 300 MiB held by the kernel and its drivers; not looked at in time are the page tables and the swap space of 2 processes` {
		t.Errorf("%q", got)
	}
	if got := memoryUsers(nil, processes.Table{MemoryTotal: 1 << 30, KernelBytes: 255 << 20}); got != "" {
		t.Errorf("what every kernel holds: %q", got)
	}
	if got := memoryUsers(append(list[1:2:2], processes.Process{PID: 7, Name: "x", Status: "unknown"}), processes.Table{Samples: []processes.Sample{{PID: 7, Name: "x", Unseen: true}}}); got != `"idle" (PID 8, user unknown) 1.0 MiB; not known is that of "x" (PID 7)` {
		t.Errorf("%q", got)
	}
	if got := memoryUsers([]processes.Process{{PID: 9, Name: `nginx" (PID 77`, MemoryMB: 1}}, processes.Table{}); got != `"nginx' (PID 77" (PID 9, user unknown) 1.0 MiB` {
		t.Errorf("a name ends before its quote: %q", got)
	}
	swapped := processes.Table{SwapUsed: 1 << 30, Samples: []processes.Sample{{PID: 1, Name: "a", SwapBytes: 256 << 20}, {PID: 2, Name: "b", MemoryBytes: 1 << 40}, {PID: 3, Name: "c", SwapBytes: 512 << 20}}}
	if got := swapUsers(swapped, 3); got != `"c" (PID 3) 512 MiB, "a" (PID 1) 256 MiB` {
		t.Errorf("%q", got)
	}
	swapped.Samples = swapped.Samples[:2]
	if got := swapUsers(swapped, 3); got != `768 MiB shared, in a tmpfs or of processes that are not known, in part perhaps of: "a" (PID 1) 256 MiB` {
		t.Errorf("%q", got)
	}
	var table processes.Table
	for i, state := range "DSDDD" {
		table.Samples = append(table.Samples, processes.Sample{PID: i, Name: "job", State: byte(state)})
	}
	if got := diskWaiters(table); got != `waiting for a disk: "job" (PID 0), "job" (PID 2), "job" (PID 3), 1 more` {
		t.Errorf("%q", got)
	}
	if got := diskWaiters(processes.Table{}); got != "" {
		t.Errorf("%q", got)
	}
}
