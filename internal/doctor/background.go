// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
)

// The jobs of launchd beside that of restores.
const (
	reportLabel = "com.sentinel.report"
	recordLabel = "com.sentinel.record"
)

// daemonPlist is the file of a job of launchd.
func daemonPlist(label string) string { return "/Library/LaunchDaemons/" + label + ".plist" }

// backgroundItems looks whether somebody has switched a job of ours off. Which of
// them ought to run is for other checks to say.
func backgroundItems(ctx context.Context, t Target) []Finding {
	var off, fixes []string
	for _, label := range []string{restoreLabel, reportLabel, recordLabel} {
		if !t.anyFile([]string{"/Library/LaunchDaemons"}, label+".plist") {
			continue
		}
		if why, fix := t.switchedOff(ctx, label); why != "" {
			off, fixes = append(off, why), append(fixes, fix)
		}
	}
	if len(off) == 0 {
		return one(OK, "No job of sentinel is known to be switched off", "")
	}
	return one(Warning, strings.Join(off, " "), strings.Join(slices.Compact(fixes), " And: "))
}

// switchedOff returns why launchd does not load a job, empty where it does or
// nobody tells, and how to change that. What a user has switched off in System Settings, or device
// management anywhere, only root can read without being asked for a password on the screen.
func (t Target) switchedOff(ctx context.Context, label string) (why, fix string) {
	load := "sudo launchctl bootstrap system " + daemonPlist(label)
	switch state := t.unitState(ctx, label); {
	case state == services.SwitchedOff:
		return label + " is switched off in launchd.", "sudo launchctl enable system/" + label + " && " + load
	case state == services.NotLoaded && t.AsRoot && t.disallowed(ctx, label):
		return label + " is switched off as a background item, by a user or by device management.",
			"In System Settings, General, Login Items & Extensions, switch sentinel on below App Background Activity (Allow in the Background before macOS 26), or have device management allow it; then: " + load
	default:
		return "", ""
	}
}

// The dump has a record of half a kilobyte for each background item of each user.
const (
	maxItems   = 4 << 20 // bytes
	itemsLimit = 4 * time.Second
)

// disallowed asks Background Task Management (macOS 13 and later) about a job.
func (t Target) disallowed(ctx context.Context, label string) bool {
	r, err := t.Programs.Run(ctx, sysexec.Command{
		Path: "/usr/bin/sfltool", Args: []string{"dumpbtm"}, Timeout: itemsLimit, WaitDelay: 200 * time.Millisecond, MaxOutput: maxItems,
	})
	return err == nil && r.Exit == 0 && itemDisallowed(string(r.Stdout), label)
}

var (
	itemStart   = lazyregexp.New(`(?m)^\s*#\d+:\s*$`)
	disposition = lazyregexp.New(`(?m)^\s*Disposition: \[([^]\n]*)\]`)
	identifier  = lazyregexp.New(`(?m)^\s*Identifier: (?:\d+\.)?(\S+)\s*$`)
)

// itemDisallowed reads "sfltool dumpbtm": records of lines such as
//
//	Disposition: [enabled, disallowed, visible, notified] (0x9)
//	 Identifier: 16.com.sentinel.restore
//
// of which a job has one for each user that knows it. One that allows it is enough to run.
func itemDisallowed(dump, label string) bool {
	found := false
	for _, record := range itemStart.Get().Split(dump, -1) {
		name, is := identifier.Get().FindStringSubmatch(record), disposition.Get().FindStringSubmatch(record)
		if name == nil || is == nil || name[1] != label {
			continue
		}
		if words := strings.Split(is[1], ", "); !slices.Contains(words, "disallowed") {
			return false
		}
		found = true
	}
	return found
}
