// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// sources are the fields of a report that a reason rests on, by its code. A figure with a Member has a field of
// its own beside them.
var sources = map[string][]string{
	"CPU_HIGH":         {"cpu", "cpu.percent"},
	"CPU_STOLEN":       {"cpu", "cpu.percent"},
	"MEMORY_LOW":       {"memory"},
	"SWAP_HIGH":        {"swap"},
	"DISK_FULL":        {"disks"},
	"INODES_FULL":      {"disks"},
	"CPU_PRESSURE":     {"pressure"},
	"MEMORY_PRESSURE":  {"pressure", "memory", "memory.pressure_level"},
	"IO_PRESSURE":      {"pressure"},
	"TEMPERATURE_HIGH": {"temperature"},
	"OOM_KILLS":        {"oom_kills", "oom_kills_24h"},
	"FAILED_UNITS":     {"failed_units"},
	"RESTARTING_UNITS": {"restarting_units"},
	"RESOLVER_SILENT":  {"resolver"},
}

// Unread reports whether a reason that a report does not have may stand all the same: what it rests on could not
// be read. gaps are those of the report.
func (r *Report) Unread(code, object string, gaps answer.Gaps) bool {
	switch code {
	case firewall.Code:
		return r.FirewallStatus == firewallUnknown
	case "LOAD_HIGH": // of two fields that are absent for many reasons
		return load.Value(r) == nil
	}
	fields := append(memberFields(code), sources[code]...)
	if object != "" {
		fields = append(fields, "disks."+strings.ReplaceAll(sanitize.Text(object, maxPlace), ",", ";"))
	}
	if strings.HasPrefix(object, "/") && !r.hasDisk(object) {
		fields = append(fields, otherDisks)
	}
	return slices.ContainsFunc(gaps, func(g answer.Gap) bool {
		return slices.ContainsFunc(g.Fields(), func(field string) bool { return slices.Contains(fields, field) })
	})
}

// hasDisk reports whether a file system was read. One that is not listed may have been.
func (r *Report) hasDisk(mountpoint string) bool {
	return slices.ContainsFunc(slices.Concat(r.Disks, r.inMemory), func(d Disk) bool { return d.Mountpoint == mountpoint })
}

func memberFields(code string) (fields []string) {
	for _, f := range All() {
		if f.Member != NoMember && f.Code == code {
			fields = append(fields, "figures."+f.Key)
		}
	}
	return fields
}
