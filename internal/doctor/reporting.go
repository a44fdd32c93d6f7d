// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sentinel/internal/services"
)

// Reporting is what is known about the reports to the endpoints of the configuration.
type Reporting struct {
	Endpoints int
	// Known is false where only root can tell the rest.
	Known   bool
	Waiting int   // documents that are kept for a receiver
	Bytes   int64 // of them
	// Last is the last report; nil if the journal has none.
	Last *Sent
	// Arrived is when the last report reached every endpoint; zero if the journal has none.
	Arrived time.Time
}

// Sent is how a report ended.
type Sent struct {
	At     time.Time
	State  string // of the journal: "done", "pending", "failed"
	Detail string
}

// reportTimer runs the reports on Linux; see reportLabel.
const reportTimer = "sentinel-report.timer"

// staleReport is how old the last report may be: the timer sends one every five to
// seven minutes.
const staleReport = time.Hour

// reporting checks what becomes of the reports, by what was seen last: nothing is sent.
func reporting(ctx context.Context, t Target) []Finding {
	if t.Reports == nil {
		return one(Unknown, "Not looked at on this system.", "")
	}
	r, err := t.Reports(ctx)
	switch {
	case errors.Is(err, fs.ErrPermission) || err == nil && r.Endpoints > 0 && !r.Known:
		return one(Unknown, r.configured()+"; only root can tell what arrives there.", asAdministrator)
	case err != nil:
		return one(Unknown, err.Error(), "")
	case r.Endpoints == 0:
		return one(OK, "No receiver is configured, so nothing is reported", "")
	}
	return t.judgeReports(ctx, r)
}

func (t Target) judgeReports(ctx context.Context, r Reporting) []Finding {
	const again = "See what the receiver says with: sudo sentinel --report"
	unit, start := reportTimer, "sudo systemctl enable --now "+reportTimer
	if t.mac() {
		unit, start = reportLabel, "sudo launchctl bootstrap system "+daemonPlist(reportLabel)
	}
	switch state := t.unitState(ctx, unit); {
	case r.Last != nil && r.Last.State == "failed":
		return one(Problem, "The last report failed, "+r.text(), again)
	case r.Last != nil && r.Last.State != "done":
		return one(Warning, "The last report was not delivered, "+r.text(), again)
	case state == "inactive" && !t.mac() || state == services.NotLoaded:
		return one(Warning, r.configured()+", and "+unit+" does not run", start)
	case r.Last == nil:
		return one(Warning, r.configured()+", and no report was sent yet", "Send one with: sudo sentinel --report")
	case r.Waiting > 0:
		return one(Warning, "Something waits for a receiver, "+r.text(), again)
	case time.Since(r.Last.At) > staleReport:
		return one(Warning, "The last report is an old one, "+r.text()+"; one every five minutes is usual", again)
	default:
		return one(OK, "The last report arrived, "+r.text(), "")
	}
}

// configured begins a sentence with the number of endpoints.
func (r Reporting) configured() string {
	if r.Endpoints == 1 {
		return "1 endpoint is configured"
	}
	return fmt.Sprintf("%d endpoints are configured", r.Endpoints)
}

// text says when the last report was made, and what waits.
func (r Reporting) text() string {
	text := r.Last.At.UTC().Format(time.RFC3339)
	if r.Last.State != "done" {
		text += ": " + r.Last.Detail
	}
	if r.Waiting > 0 {
		text += fmt.Sprintf("; waiting: %d (%d KiB)", r.Waiting, (r.Bytes+1023)>>10)
	}
	switch {
	case r.Last.State == "done":
	case r.Arrived.IsZero():
		text += "; none has arrived yet"
	default:
		text += "; the last one arrived " + r.Arrived.UTC().Format(time.RFC3339)
	}
	return text
}
