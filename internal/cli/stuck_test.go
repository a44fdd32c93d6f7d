// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
)

// nowhere is a program on a system that it does not support.
func nowhere() Program {
	return Program{Open: func() (*host.Host, error) { return nil, errors.ErrUnsupported }}
}

// A program started as root that neither ends nor can be interrupted would be a
// way to pile up processes of root.
func TestARequestThatNeverComesEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stdin, writer := io.Pipe()
		defer writer.Close()
		var out bytes.Buffer
		began := time.Now()
		status := nowhere().Run(t.Context(), []string{"--request", "get_top_processes"}, stdin, &out, io.Discard)
		if took := time.Since(began); status != fault.Timeout.Exit() || took != 15*time.Second {
			t.Errorf("status %d after %v", status, took)
		}
		if !strings.Contains(out.String(), `"error_code":"TIMEOUT"`) {
			t.Errorf("printed %s", out.String())
		}
	})
}

func TestASignalEndsARunThatWaitsForItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stdin, writer := io.Pipe()
		defer writer.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stop, interrupt := context.WithCancel(context.WithoutCancel(ctx))
		context.AfterFunc(ctx, interrupt)
		var out bytes.Buffer
		status := nowhere().Run(stop, []string{"--request", "get_top_processes"}, stdin, &out, io.Discard)
		if status != fault.ExitInterrupted || !strings.Contains(out.String(), `"error_code":"CANCELLED"`) {
			t.Errorf("status %d, printed %s", status, out.String())
		}
	})
}

func TestASignalEndsARunWhoseAnswerNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, stdout := io.Pipe()
		defer reader.Close()
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, interrupt)
		began := time.Now()
		status := nowhere().Run(ctx, []string{"--version"}, strings.NewReader(""), stdout, io.Discard)
		if took := time.Since(began); status != fault.ExitInterrupted || took != time.Minute+lastWord {
			t.Errorf("status %d after %v", status, took)
		}
	})
}

func TestARequestWhoseAnswerNobodyReadsEnds(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		broken bool // the answer cannot be written, and what says so is not read
		full   bool
		want   time.Duration
	}{
		"request":             {[]string{"--request", "get_top_processes"}, false, false, requesterPatience},
		"one argument":        {[]string{"--request get_top_processes"}, false, false, requesterPatience}, // sudo takes both for the same
		"no such tool":        {[]string{"--request", "get_nothing"}, false, false, requesterPatience},
		"nothing can be said": {[]string{"--request", "get_top_processes"}, true, false, requesterPatience},
		"no place":            {[]string{"--request", "get_top_processes"}, false, true, lastWord},
		"one, no place":       {[]string{"--request get_top_processes"}, false, true, lastWord},
	} {
		synctest.Test(t, func(t *testing.T) {
			reader, stdout := io.Pipe()
			defer reader.Close()
			stderr := io.Discard
			if c.broken {
				reader.Close()
				unread, full := io.Pipe()
				defer unread.Close()
				stderr = full
			}
			p := nowhere()
			if c.full {
				p.Root = true
				p.Getenv = func(name string) string { return map[string]string{"SUDO_UID": "1000", "SUDO_USER": "mira"}[name] }
				p.Admit = func(int) (int, func() error, error) { return 0, func() error { return nil }, local.ErrFull }
			}
			began := time.Now()
			status := p.Run(t.Context(), c.args, strings.NewReader("{}"), stdout, stderr)
			if took := time.Since(began); status != fault.ExitFailed || took != c.want {
				t.Errorf("%s: status %d after %v", name, status, took)
			}
		})
	}
}

func TestAPipeInPlaceOfTheConfigurationIsAnError(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "config.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := Program{Open: func() (*host.Host, error) { return local.Open("/") }}
	status := p.Run(t.Context(), []string{"--json", "--config", pipe}, strings.NewReader(""), &out, io.Discard)
	if status != fault.ExitFailed || !strings.Contains(out.String(), "not a regular file") {
		t.Errorf("status %d, printed %s", status, out.String())
	}
}
