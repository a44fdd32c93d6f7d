// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"sentinel/internal/services"
)

// Recording is what is known about the recorder.
type Recording struct {
	Off bool // by the configuration
	// Last is when the last sample was taken; zero if there is none.
	Last time.Time
}

// The units of the recorder on Linux; see recordLabel.
const (
	recordTimer   = "sentinel-record.timer"
	recordService = "sentinel-record.service"
)

// staleSample is how old the last sample may be: the timer takes one each minute.
const staleSample = 5 * time.Minute

// recording checks whether there is something to answer get_health_history from.
func recording(ctx context.Context, t Target) []Finding {
	if t.Recorder == nil {
		return one(Unknown, "Not looked at on this system.", "")
	}
	if t.withoutRoot(ctx) {
		return one(OK, "sentinel is not installed for root, so nothing is recorded", "")
	}
	r, err := t.Recorder(ctx)
	if err == nil && r.Off {
		return one(OK, "The recorder is switched off in the configuration", "")
	}
	if finding := t.recordJob(ctx); finding != nil {
		return finding
	}
	if errors.Is(err, fs.ErrPermission) && t.unitState(ctx, recordTimer) == "active" {
		return one(OK, recordTimer+" runs; when it took its last sample only root can tell", "")
	}
	return judgeRecording(r, err)
}

// recordJob returns what is wrong with what runs the recorder each minute; nil if nothing is known to be.
func (t Target) recordJob(ctx context.Context) []Finding {
	const silent = ", so get_health_history has nothing to tell."
	job, dirs, start := recordTimer, unitDirs(), "sudo systemctl enable --now "+recordTimer
	if t.mac() {
		job, dirs, start = recordLabel+".plist", []string{"/Library/LaunchDaemons"}, "sudo launchctl bootstrap system "+daemonPlist(recordLabel)
	} else if info, err := os.Lstat(t.at("/run/systemd/system")); err != nil || !info.IsDir() { // sd_booted(3)
		return nil
	}
	if !t.anyFile(dirs, job) {
		return one(Warning, job+" is not installed"+silent, t.installFix())
	}
	switch state := t.unitState(ctx, strings.TrimSuffix(job, ".plist")); {
	case state == "inactive" && !t.mac(), state == services.NotLoaded, state == services.SwitchedOff:
		return one(Warning, job+" does not run"+silent, start)
	case !t.mac() && t.unitState(ctx, recordService) == "failed":
		return one(Problem, recordService+" has failed, and so no sample was kept.", "See why with: sudo journalctl --unit "+recordService)
	}
	return nil
}

func judgeRecording(r Recording, err error) []Finding {
	const byHand = "See what happens with: sudo sentinel --record"
	switch {
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can tell how old the last sample is.", asAdministrator)
	case err != nil:
		return one(Problem, "The last sample cannot be read: "+err.Error(), byHand)
	case r.Last.IsZero():
		return one(Warning, "No sample was taken yet.", byHand)
	case time.Since(r.Last) > staleSample:
		return one(Warning, "The last sample is of "+r.Last.UTC().Format(time.RFC3339)+"; one a minute is usual.", byHand)
	default:
		return one(OK, "The last sample is of "+r.Last.UTC().Format(time.RFC3339), "")
	}
}
