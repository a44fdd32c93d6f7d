// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// Levels of syslog, as systemd reads them in front of a line (sd-daemon(3)).
const (
	levelError  = "<3>"
	levelNotice = "<5>"
)

// serviceLog writes one line for the journal of systemd where stderr leads there: what was
// changed, or what went wrong. A run that changed nothing leaves none. The shipped units drop the
// document, which nobody reads there.
func serviceLog(stderr io.Writer, getenv func(string) string, doc document, err error) {
	if !toJournald(stderr, getenv) {
		return
	}
	if err != nil {
		d := fault.NewDocument("", err)
		fmt.Fprintf(stderr, "%s%s: %s %s\n", levelError, d.ErrorCode, d.Error, d.Fix) //nolint:errcheck // the exit status tells, too
		return
	}
	if d, ok := doc.(logged); ok && d.logLine() != "" {
		fmt.Fprintf(stderr, "%s%s\n", levelNotice, sanitize.Text(d.logLine(), 500)) //nolint:errcheck // as above
	}
}

// A logged document has a line for the log of the service manager; "" if the run changed nothing.
type logged interface{ logLine() string }

// toJournald reports whether w leads to the journal of systemd, by the check that systemd.exec(5)
// gives for JOURNAL_STREAM.
func toJournald(w io.Writer, getenv func(string) string) bool {
	f, ok := w.(*os.File)
	if !ok || getenv == nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && getenv("JOURNAL_STREAM") == strconv.FormatUint(uint64(stat.Dev), 10)+":"+strconv.FormatUint(uint64(stat.Ino), 10) //nolint:unconvert // macOS has other types
}
