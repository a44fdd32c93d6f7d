// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/diskusage"
	"sentinel/internal/ops"
)

// filled is a disk with the longest lists and names.
func filled() *diskUsageDocument {
	d := &diskUsageDocument{Header: answer.NewHeader("disk_usage", true), Usage: diskusage.Usage{
		Path: wide(160), Bytes: 1 << 62, Entries: 1 << 40, GrownSince: "2026-11-20T03:00:00Z", DeletedOpenTotal: new(100), DeletedOpenBytes: new(uint64(1 << 62)), OtherBytes: new(int64(1 << 50)),
		FileSystem: diskusage.FileSystem{Mountpoint: wide(160), Device: wide(128), Type: wide(32), SizeBytes: new(uint64(1 << 62)), UsedBytes: new(uint64(1 << 62)), AvailableBytes: new(uint64(1 << 61)), InodesUsedPercent: new(99.9)},
	}}
	for range 12 {
		folder := diskusage.Folder{Path: wide(160), Bytes: 1 << 62, Entries: 1 << 40, AtLeast: true}
		d.Directories, d.ByEntries = append(d.Directories, folder), append(d.ByEntries, folder)
		d.Files = append(d.Files, diskusage.File{Path: wide(160), Bytes: 1 << 62, Modified: "2026-11-20T03:00:00Z"})
		d.DeletedOpen = append(d.DeletedOpen, diskusage.Open{PID: 4194304, Process: wide(64), Unit: wide(96), Path: wide(160), Bytes: 1 << 62, Holders: 99})
		d.Caches = append(d.Caches, diskusage.Cached{Name: "systemd journal", Path: wide(160), Bytes: 1 << 62, Free: strings.Repeat("it can be freed ", 8)})
		d.Grown = append(d.Grown, diskusage.Growth{Path: wide(160), Grown: 1 << 62, Bytes: 1 << 62, AtLeast: true})
		d.NotEntered = append(d.NotEntered, diskusage.Skipped{Path: wide(160), Type: wide(32)})
		d.Snapshots = append(d.Snapshots, wide(96))
	}
	d.Unavailable.Note("bytes", wide(200))
	return d
}

// However long the names are, a model gets no more than it can take, and is told that rows are missing.
func TestDiskUsageFitsAModel(t *testing.T) {
	d := filled()
	d.fit()
	d.advise(func(string) string { return strings.Repeat("x", maxNext) })
	raw, err := encode(d, false)
	if err != nil || len(raw) > usualAnswer || !d.Truncated || len(d.Directories) < 1 || len(d.DeletedOpen) < 1 {
		t.Errorf("%d bytes, %d directories, %v", len(raw), len(d.Directories), err)
	}
}

func TestDiskUsageNamesTheNextCall(t *testing.T) {
	held := diskusage.Open{PID: 812, Unit: "rsyslog.service", Bytes: 1 << 30}
	folders := []diskusage.Folder{{Path: "/var/lib/mysql", Bytes: 30 << 30}}
	for name, c := range map[string]struct {
		usage diskusage.Usage
		want  string
	}{
		"a service holds it": {diskusage.Usage{Path: "/", Bytes: 9 << 30, DeletedOpen: []diskusage.Open{held}, Directories: folders}, `get_service_status {"service":"rsyslog.service"}`},
		"a process holds it": {diskusage.Usage{Path: "/", Bytes: 9 << 30, DeletedOpen: []diskusage.Open{{PID: 812, Unit: "session-3.scope", Bytes: 1 << 30}}}, `get_process_details {"pid":812}`},
		"little is held":     {diskusage.Usage{Path: "/", Bytes: 40 << 30, DeletedOpen: []diskusage.Open{held}, Directories: folders}, `get_disk_usage {"path":"/var/lib/mysql"}`},
		"it has grown":       {diskusage.Usage{Path: "/", Bytes: 40 << 30, Grown: []diskusage.Growth{{Path: "/srv/my files"}}, Directories: folders}, `get_disk_usage {"path":"/srv/my files"}`},
		"it is this one":     {diskusage.Usage{Path: "/var/lib/mysql", Bytes: 40 << 30, Directories: folders}, ""},
		"it cannot be named": {diskusage.Usage{Path: "/", Bytes: 40 << 30, Directories: []diskusage.Folder{{Path: "/srv/a'b"}}}, ""},
		"there is nothing":   {diskusage.Usage{Path: "/"}, ""},
	} {
		d := &diskUsageDocument{Usage: c.usage}
		d.advise(func(text string) string { return ops.AsCalls(text, func(string) bool { return true }) })
		if d.Next != c.want {
			t.Errorf("%s: %s", name, d.Next)
		}
		d.Next = ""
		if d.advise(func(text string) string { return ops.AsCalls(text, func(string) bool { return false }) }); d.Next != "" {
			t.Errorf("%s, where no tool is on: %s", name, d.Next)
		}
	}
}

func TestThePageOfDiskUsage(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		p := newPage(width, false)
		filled().view(p)
		for line := range strings.Lines(string(p.bytes())) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width && !strings.HasPrefix(line, "sentinel") {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
	d := &diskUsageDocument{Header: answer.NewHeader("disk_usage", true), Usage: diskusage.Usage{
		Path: "/", Bytes: 41 << 30, Entries: 480, Complete: true, DeletedOpenBytes: new(uint64(17 << 30)), DeletedOpenTotal: new(1),
		FileSystem:  diskusage.FileSystem{Mountpoint: "/", Device: "/dev/sda1", Type: "ext4", SizeBytes: new(uint64(100 << 30)), UsedBytes: new(uint64(60 << 30)), AvailableBytes: new(uint64(1 << 30))},
		Directories: []diskusage.Folder{{Path: "/var/lib/mysql", Bytes: 30 << 30, Entries: 50}},
		DeletedOpen: []diskusage.Open{{PID: 812, Process: "rsyslogd", Unit: "rsyslog.service", Path: "/var/log/syslog", Bytes: 17 << 30}},
		NotEntered:  []diskusage.Skipped{{Path: "/home", Type: "xfs"}},
	}}
	p := newPage(80, false)
	d.view(p)
	got := string(p.bytes())
	for _, want := range []string{
		"USAGE: / holds 41.0 GiB in 480 files and directories; 1.0 GiB of 100 GiB of the\nfile system at \"/\" are free.\n",
		"30.0 GiB     50  /var/lib/mysql\n", "Deleted and still open: 17.0 GiB in all, free when these processes end\n",
		"17.0 GiB  812  rsyslogd  rsyslog.service  /var/log/syslog\n", "not entered  /home (xfs); sentinel --disk-usage /home\n",
		"Look closer with:\nsentinel --service rsyslog.service\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Grew") || strings.Contains(got, "most files") || strings.Count(got, "\n") > 23 {
		t.Errorf("%s", got)
	}
	d.Complete = false
	p = newPage(80, false)
	d.view(p)
	if got := string(p.bytes()); !strings.HasPrefix(got, "USAGE: / holds at least 41.0 GiB") {
		t.Error(fmt.Sprint(got))
	}
}
