// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/diskusage"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// diskUsageName is the file with the sizes of the last runs, in the state directory.
const diskUsageName = "disk_usage.json"

// maxNext bounds the next call, in bytes, for which an answer to an MCP client has room.
const maxNext = 300

// A diskUsageDocument answers get_disk_usage.
type diskUsageDocument struct {
	answer.Header
	diskusage.Usage
	// Next is the call that tells more; only for programs whose client offers the tool.
	Next string `json:"next,omitempty"`
}

// formOfPath checks the path before anything else.
func formOfPath(_ session, call invocation) error {
	_, err := diskusage.Parse(call.args.Text("path"))
	return err
}

func runDiskUsage(ctx context.Context, s session, call invocation) (document, error) {
	dir, err := diskusage.Parse(call.args.Text("path"))
	if err != nil {
		return nil, err
	}
	options := diskusage.Options{Rows: call.rows, Now: s.host.Now(), State: s.kept(diskUsageName)}
	usage, err := diskusage.Measure(ctx, s.host.DiskUsage, dir, options)
	if err != nil {
		return nil, err
	}
	d := &diskUsageDocument{Header: answer.NewHeader(call.op.Action, true), Usage: usage}
	if call.request {
		d.fit()
	}
	return d, nil
}

// fit cuts the lists until the document is small enough for a model: long names take their room.
func (d *diskUsageDocument) fit() {
	rows := len(d.Directories)
	fit(d, usualAnswer-maxNext, func() bool {
		if rows == 0 {
			return false
		}
		d.Cut(rows)
		rows--
		return true
	})
}

// heldShare is how much of what is used files that are deleted hold before it is their process that is looked
// at next, in percent.
const heldShare = 10

// nextStep is the command that tells more of what takes the space: who holds a deleted file, what has
// grown, or what is in the directory with most of it. "" where there is none, or its name cannot be typed.
func (d *diskUsageDocument) nextStep() string {
	about := ""
	switch {
	case len(d.DeletedOpen) > 0 && 100/heldShare*d.DeletedOpen[0].Bytes >= d.Bytes:
		if unit := d.DeletedOpen[0].Unit; strings.HasSuffix(unit, ".service") && pasteable(unit) {
			return "sentinel --service " + unit
		}
		return "sudo sentinel --process " + strconv.Itoa(d.DeletedOpen[0].PID)
	case len(d.Grown) > 0 && d.Grown[0].Path != d.Path:
		about = d.Grown[0].Path
	case len(d.Directories) > 0 && d.Directories[0].Path != d.Path:
		about = d.Directories[0].Path
	}
	if about = shellWord(about); about == "NAME" || about == "''" {
		return ""
	}
	return "sudo sentinel --disk-usage " + about
}

// advise names the call that tells more.
func (d *diskUsageDocument) advise(f func(string) string) document {
	if call := f(d.nextStep()); isCall(call) && len(call) <= maxNext {
		d.Next = call
	}
	return d
}

func (d *diskUsageDocument) view(p *page) {
	d.verdict(p)
	p.table("Directories, where most of it is", usageColumns("directory"), folderRows(d.Directories))
	p.table("Files", []column{{title: "size", right: true}, {title: "changed", whole: true}, {title: "file"}}, d.fileRows())
	d.viewDeleted(p)
	p.table("Grew since "+whenText(d.GrownSince), []column{{title: "by", right: true}, {title: "to", right: true}, {title: "directory"}}, d.grownRows())
	p.table("Journals and caches", []column{{title: "size", right: true}, {title: "of", whole: true}, {title: "what frees it"}}, d.cacheRows())
	if p.verbose || d.FileSystem.InodesUsedPercent != nil && *d.FileSystem.InodesUsedPercent >= manyInodes {
		p.table("Directories with the most files", usageColumns("directory"), folderRows(d.ByEntries))
	}
	d.viewRest(p)
	if step := d.nextStep(); step != "" {
		p.fix("Look closer with: " + step)
	}
	p.gaps(d.Unavailable)
}

// manyInodes is the share in use from which directories with many files are shown, in percent.
const manyInodes = 80

func (d *diskUsageDocument) verdict(p *page) {
	sum := fmt.Sprintf("%s holds %s in %s", d.Path, d.atLeast(d.Bytes), counted(int(d.Entries), "file"))
	if d.Entries > 1 {
		sum += " and directories"
	}
	if f := d.FileSystem; f.UsedBytes != nil {
		sum += fmt.Sprintf("; %s of %s of the file system at %s are free", humanize.Bytes(*f.AvailableBytes), humanize.Bytes(*f.SizeBytes), sanitize.Quoted(f.Mountpoint, maxListed))
	}
	p.verdict(calm, "USAGE", sum+".")
}

// atLeast says of a sum that it is not whole where that is so.
func (d *diskUsageDocument) atLeast(n uint64) string {
	if d.Complete {
		return humanize.Bytes(n)
	}
	return "at least " + humanize.Bytes(n)
}

func usageColumns(last string) []column {
	return []column{{title: "size", right: true}, {title: "files", right: true}, {title: last}}
}

func folderRows(list []diskusage.Folder) [][]string {
	var rows [][]string
	for _, f := range list {
		rows = append(rows, []string{boundText(f.Bytes, f.AtLeast), strconv.FormatInt(f.Entries, 10), f.Path})
	}
	return rows
}

// boundText shows a size, or what it is at least.
func boundText(n uint64, atLeast bool) string {
	if atLeast {
		return "≥ " + humanize.Bytes(n)
	}
	return humanize.Bytes(n)
}

func (d *diskUsageDocument) fileRows() (rows [][]string) {
	for _, f := range d.Files {
		rows = append(rows, []string{humanize.Bytes(f.Bytes), whenText(f.Modified), f.Path})
	}
	return rows
}

func (d *diskUsageDocument) viewDeleted(p *page) {
	if d.DeletedOpenBytes == nil || len(d.DeletedOpen) == 0 {
		return
	}
	var rows [][]string
	for _, f := range d.DeletedOpen {
		rows = append(rows, []string{humanize.Bytes(f.Bytes), pidText(f.PID), f.Process, known(f.Unit), f.Path})
	}
	p.table(fmt.Sprintf("Deleted and still open: %s in all, free when these processes end", humanize.Bytes(*d.DeletedOpenBytes)),
		[]column{{title: "size", right: true}, {title: "pid", right: true}, {title: "process"}, {title: "unit"}, {title: "file"}}, rows)
}

func (d *diskUsageDocument) grownRows() (rows [][]string) {
	for _, g := range d.Grown {
		rows = append(rows, []string{boundText(g.Grown, g.AtLeast), humanize.Bytes(g.Bytes), g.Path})
	}
	return rows
}

func (d *diskUsageDocument) cacheRows() (rows [][]string) {
	for _, c := range d.Caches {
		rows = append(rows, []string{boundText(c.Bytes, c.AtLeast), c.Name, c.Free})
	}
	return rows
}

// viewRest writes what is somewhere else.
func (d *diskUsageDocument) viewRest(p *page) {
	var rows [][]string
	for _, s := range d.NotEntered {
		rows = append(rows, []string{"not entered", s.Path + " (" + known(s.Type) + "); " + p.own("sentinel --disk-usage ") + shellWord(s.Path)})
	}
	for _, s := range d.Snapshots {
		rows = append(rows, []string{"snapshot", s})
	}
	if d.OtherBytes != nil && *d.OtherBytes > 0 {
		rows = append(rows, []string{"beside files", humanize.Bytes(uint64(*d.OtherBytes)) + ": below mount points, of the file system itself, of snapshots, or of deleted files that no process is seen to hold, such as one on its way in a socket"})
	}
	p.facts(rows)
}
