// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/sysexec"
)

// leftBehind is a runner whose programs outlive their calls: each says that it
// runs, and is gone when the test says so.
type leftBehind struct {
	started chan struct{}
	gone    chan struct{}
}

func (l *leftBehind) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	l.started <- struct{}{}
	go func() {
		<-l.gone
		c.OnEnd()
	}()
	<-ctx.Done()
	return sysexec.Result{}, ctx.Err()
}

func TestSlotIsHeldUntilTheProgramIsGone(t *testing.T) {
	for name, most := range map[string]time.Duration{"gone": time.Second, "stuck": maxSlotHold} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &leftBehind{started: make(chan struct{}, 10), gone: make(chan struct{})}
				running := &programs{runner: l}
				s := server.NewMCPServer("test", "1")
				s.AddTool(mcp.NewToolWithRawSchema("work", "", json.RawMessage(`{"type":"object"}`)),
					func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						_, err := running.Run(ctx, sysexec.Command{})
						return mcp.NewToolResultText(err.Error()), nil
					})
				p := connectTo(t, s)
				for i := range maxCalls {
					p.send(call(fmt.Sprint(i), "work", ""))
				}
				synctest.Wait()
				for i := range maxCalls {
					p.send(cancelOf(fmt.Sprint(i)))
				}
				p.send(call(`"next"`, "work", ""))
				synctest.Wait()
				if len(l.started) != maxCalls {
					t.Fatalf("%d programs began while %d of them still end", len(l.started), maxCalls)
				}
				if name == "gone" {
					l.gone <- struct{}{}
				}
				<-time.After(most)
				synctest.Wait()
				if len(l.started) != maxCalls+1 {
					t.Errorf("%d programs began, want the waiting one too", len(l.started))
				}
				p.cancel()
				<-p.served
				close(l.gone)
			})
		})
	}
}

func TestServerWaitsForWhatItHasToKill(t *testing.T) {
	for _, test := range []struct {
		name   string
		noKill bool
		gone   time.Duration // after which the program is
		want   time.Duration
		warns  bool
	}{
		{"ends", false, time.Second, time.Second, false},
		{"stuck", false, time.Hour, 6 * time.Second, true},
		{"must not be killed", true, time.Hour, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &leftBehind{started: make(chan struct{}, 1), gone: make(chan struct{})}
				running := &programs{runner: l}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				running.Run(ctx, sysexec.Command{NoKill: test.noKill})
				time.AfterFunc(test.gone, func() { close(l.gone) })
				var log bytes.Buffer
				began := time.Now()
				running.finish(6*time.Second, slog.New(slog.NewTextHandler(&log, nil)))
				if took := time.Since(began); took != test.want {
					t.Errorf("waited %v, want %v", took, test.want)
				}
				if warns := strings.Contains(log.String(), "level=WARN"); warns != test.warns {
					t.Errorf("log %q, want a warning: %v", log.String(), test.warns)
				}
				<-l.gone
			})
		})
	}
}

func TestServerWithoutProgramsEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		new(programs).finish(time.Hour, quiet())
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %v for nothing", took)
		}
	})
}
