// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	"sentinel/internal/answer"
)

func TestAReasonMayStandWhereItsFieldCouldNotBeRead(t *testing.T) {
	busy := 3.0
	known := Report{FirewallStatus: firewallActive, CPU: &CPU{Load5: &busy, Cores: 4}, Disks: []Disk{{Mountpoint: "/home"}}, inMemory: []Disk{{Mountpoint: "/tmp"}}}
	unknown := Report{FirewallStatus: firewallUnknown, CPU: &CPU{Cores: 4}}
	for _, c := range []struct {
		code, object, field string
		want                bool
	}{
		{"CPU_HIGH", "", "cpu.percent", true}, {"CPU_STOLEN", "", "cpu", true}, {"CPU_HIGH", "", "memory", false},
		{"MEMORY_LOW", "", "memory, swap", true}, {"SWAP_HIGH", "", "memory, swap", true}, {"MEMORY_LOW", "", "memory.limit", false},
		{"DISK_FULL", "/srv", "disks", true}, {"INODES_FULL", "/srv", "disks./srv", true}, {"DISK_FULL", "/a,b", "disks./a;b", true}, {"DISK_FULL", "/srv", "disks./mnt", false},
		{"DISK_FULL", "/srv", "disks.others", true}, {"DISK_FULL", "/home", "disks.others", false}, {"INODES_FULL", "/tmp", "disks.others", false},
		{"RESTARTING_UNITS", "a.service", "disks.others", false},
		{"CPU_PRESSURE", "", "pressure", true}, {"MEMORY_PRESSURE", "", "memory.pressure_level", true}, {"IO_PRESSURE", "", "pressure", true},
		{"TEMPERATURE_HIGH", "", "temperature", true}, {"OOM_KILLS", "", "oom_kills_24h", true}, {"FAILED_UNITS", "a.service", "failed_units", true},
		{"RESTARTING_UNITS", "", "restarting_units", true}, {"RESOLVER_SILENT", "", "resolver", true}, {"RESOLVER_SILENT", "", "figures.resolver_silent", true},
		{"LOGIN_GUESSING", "", "figures." + FailedLogins, true}, {"LOGIN_GUESSING", "", "figures." + ZombieProcesses, false},
	} {
		if got := known.Unread(c.code, c.object, answer.Gaps{{Field: "uptime_seconds"}, {Field: c.field}}); got != c.want {
			t.Errorf("%s %s without %s: %v", c.code, c.object, c.field, got)
		}
	}
	for _, code := range []string{"FIREWALL_DISABLED", "LOAD_HIGH"} {
		if known.Unread(code, "", nil) || !unknown.Unread(code, "", nil) {
			t.Errorf("%s: %v where it is known, %v where not", code, known.Unread(code, "", nil), unknown.Unread(code, "", nil))
		}
	}
}

// A code without a field would be told to be over whenever it cannot be read.
func TestEveryReasonHasAField(t *testing.T) {
	codes := []string{"DISK_FULL", "INODES_FULL"}
	for _, c := range conditions {
		codes = append(codes, c.code)
	}
	for _, f := range All() {
		if f.Code != "" {
			codes = append(codes, f.Code)
		}
	}
	for _, code := range codes {
		if len(sources[code]) == 0 && len(memberFields(code)) == 0 && code != "LOAD_HIGH" && code != firewall.Code {
			t.Errorf("%s has none", code)
		}
	}
}
