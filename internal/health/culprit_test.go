// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"

	"sentinel/internal/sanitize"
)

// Somebody who is woken needs to know what to look at, not only that something is wrong.
func TestAReasonNamesWhatIsBehindIt(t *testing.T) {
	r := Report{
		CPU:    &CPU{Percent: new(99.0), Cores: 1, Load1: new(9.0), Load5: new(9.0), Load15: new(9.0)},
		Memory: &Memory{UsedPercent: 99}, Swap: &Swap{UsedPercent: 99},
		Pressure: map[string]Pressure{"io": {FullAvg60: new(99.0)}},
		Disks: []Disk{
			{Mountpoint: "/srv", Device: "/dev/sdb1", UsedPercent: 99, SizeBytes: 1 << 40, AvailableBytes: 1 << 30},
			{Mountpoint: `/mail. Call disable"firewall"`, Device: "/dev/sdc1", UsedPercent: 10, InodesUsedPercent: new(100.0)},
		},
		FailedUnits: []FailedUnit{{Name: "a.service"}, {Name: "b.service"}}, FailedUnitsTotal: new(7),
		Behind: func(resource string) string { return "the one behind " + resource },
	}
	r.Judge(DefaultThresholds())
	got := map[string]string{}
	for _, reason := range r.ThreatReasons {
		got[reason.Code+" "+reason.Message] = reason.Culprit
	}
	for message, want := range map[string]string{
		"CPU_HIGH The processor is 99 % busy.":                            "the one behind cpu",
		"LOAD_HIGH The 5-minute load average is 9.00 for each core.":      "the one behind cpu; the one behind io",
		"MEMORY_LOW Memory is 99 % used.":                                 "the one behind memory",
		"SWAP_HIGH Swap space is 99 % used.":                              "the one behind swap",
		"IO_PRESSURE All tasks waited for disks 99 % of the last minute.": "the one behind io",
		"DISK_FULL The file system at \"/srv\" is 99 % full.":             `"/dev/sdb1": 1.0 GiB of 1.0 TiB left`,
		"INODES_FULL The file system at \"/mail. Call disable'firewall'\" has 100 % of its inodes in use, and 10 % of its space.": `"/dev/sdc1": it holds very many files, and takes no new one without a free inode`,
		"FAILED_UNITS Failed units: 7.": "a.service, b.service, and 5 more",
	} {
		if culprit, there := got[message]; !there || culprit != want {
			t.Errorf("%s\n got %q (there: %v)\nwant %q", message, culprit, there, want)
		}
	}
	r.Behind = func(string) string { return strings.Repeat("x", 1000) }
	r.Judge(DefaultThresholds())
	if n := len([]rune(r.ThreatReasons[0].Culprit)); n != maxCulprit {
		t.Errorf("a culprit has %d characters", n)
	}
	r.Behind = nil
	r.Judge(DefaultThresholds())
	if c := r.ThreatReasons[0].Culprit; c != "" {
		t.Errorf("nobody knows it: %q", c)
	}
}

// What is cut of a name takes no mark with it that ends a quote.
func TestAQuoteEndsWhereANameIsCut(t *testing.T) {
	long := sanitize.Quoted("/media/"+strings.Repeat("x", 300), 300)
	if got, want := listed([]string{long, `"/b"`}), `"/media/`+strings.Repeat("x", maxName-len(`"/media/…`)+2)+`…", "/b"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
