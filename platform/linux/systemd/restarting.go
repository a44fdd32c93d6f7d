// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
)

const (
	journalctl = "/usr/bin/journalctl"
	// scheduledRestart is the message of systemd about each time that it starts a service again
	// (SD_MESSAGE_UNIT_RESTART_SCHEDULED of sd-messages.h).
	scheduledRestart = "5eb03494b6584870a536b337290809b3"
	// often is from how many restarts on a service that runs again is listed.
	often = 3
	// recently is how long ago the last of them may be.
	recently = time.Hour
	// maxAsked bounds how many services that run are asked, maxDated of how many the journal is, and firstLimit how
	// long that may take: less than a fact of the health report.
	maxAsked   = 256
	maxDated   = 5
	firstLimit = 1500 * time.Millisecond
)

// terminals restart with every logout.
var terminals = []string{"getty@*.service", "serial-getty@*.service", "console-getty.service", "container-getty@*.service", "autovt@*.service"}

// RestartingUnits lists the services that systemd starts again and again: those that have died and wait
// for it, and those that run and were restarted three times or more, the last time within an hour.
// See [Connect] for root.
func RestartingUnits(ctx context.Context, root string) ([]health.RestartingUnit, error) {
	conn, err := Connect(ctx, root)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	found, _, err := Restarting(ctx, conn)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, firstLimit)
	defer cancel()
	for i := range found[:min(len(found), maxDated)] {
		// The journal is not for everybody; the count is known without it.
		found[i].Since, _ = FirstRestart(ctx, sysexec.Host{}, found[i].Name) //nolint:errcheck // said above
	}
	return found, nil
}

// Restarting is [RestartingUnits] without when it began. Those that wait are all asked; unasked is how many more were
// started lately than are.
func Restarting(ctx context.Context, conn *dbus.Conn) (found []health.RestartingUnit, unasked int, err error) {
	list, err := conn.ListUnitsByPatternsContext(ctx, []string{"active", "activating"}, []string{"*.service"})
	if err != nil {
		return nil, 0, fmt.Errorf("systemd does not answer: %w", err)
	}
	asked := 0
	for _, u := range list {
		waits := strings.HasPrefix(u.SubState, "auto-restart")
		if isTerminal(u.Name) || !waits && !startedLately(u.Name) {
			continue
		}
		if !waits {
			if asked++; asked > maxAsked {
				unasked++
				continue
			}
		}
		unit, ok := restarting(ctx, conn, u.Name, waits)
		if ok {
			found = append(found, unit)
		}
	}
	return found, unasked, nil
}

// restarting asks about one service. One that ended with success, and is started again because its unit
// says so, is none.
func restarting(ctx context.Context, conn *dbus.Conn, name string, waits bool) (health.RestartingUnit, bool) {
	restarts, err := serviceProperty[uint32](ctx, conn, name, "NRestarts")
	if err != nil {
		return health.RestartingUnit{}, false
	}
	if waits {
		result, err := serviceProperty[string](ctx, conn, name, "Result")
		return health.RestartingUnit{Name: name, Restarts: int(restarts), Waits: true}, err == nil && result != "success"
	}
	return health.RestartingUnit{Name: name, Restarts: int(restarts)}, restarts >= often
}

func isTerminal(name string) bool {
	for _, pattern := range terminals {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// startedLately reads when a unit was last started from the link that systemd makes for each start
// (unit_export_invocation_id of src/core/unit.c). It saves a question to systemd for each service that has long
// been running.
func startedLately(name string) bool {
	info, err := os.Lstat("/run/systemd/units/invocation:" + name)
	return err != nil || time.Since(info.ModTime()) < recently
}

// FirstRestart finds in the journal when systemd first started a service again, of the restarts that it
// counts now; zero where the journal does not tell. The name must be that of a unit. Any user can send such an
// entry, but not as process 1.
func FirstRestart(ctx context.Context, runner sysexec.Runner, unit string) (time.Time, error) {
	r, err := runner.Run(ctx, sysexec.Command{
		Path: journalctl,
		Args: []string{
			"--quiet", "--no-pager", "--output=json", "--output-fields=N_RESTARTS", "--lines=1", "_PID=1", "MESSAGE_ID=" + scheduledRestart, "UNIT=" + unit, "N_RESTARTS=1",
		},
		Timeout: firstLimit,
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the journal: %w", err)
	}
	if r.Exit != 0 {
		return time.Time{}, fmt.Errorf("read the journal: journalctl ended with status %d", r.Exit)
	}
	return parseMoment(r.Stdout), nil
}

// parseMoment returns when the last entry of "journalctl --output=json" was written.
func parseMoment(b []byte) time.Time {
	var last time.Time
	for line := range bytes.Lines(b) {
		var entry struct {
			At string `json:"__REALTIME_TIMESTAMP"`
		}
		if json.Unmarshal(line, &entry) == nil {
			if moment := Moment(entry.At); !moment.IsZero() {
				last = moment
			}
		}
	}
	return last
}

// Moment reads a time of the journal: microseconds since the epoch
// (systemd.journal-fields(7)); zero for anything else.
func Moment(text string) time.Time {
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil || micros <= 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}
