// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// keeping is a server whose journal, list and configuration are its own. It shares the processes,
// because it is to end one that the test has started.
const keeping = `#!/bin/sh
exec unshare --net --mount --propagation private /bin/sh -c '
	mount -t tmpfs tmpfs /mnt &&
	mkdir /mnt/upper /mnt/work &&
	mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work overlay /etc &&
	for dir in /var/lib /var/log /run; do mount -t tmpfs -o mode=755 tmpfs $dir || exit; done &&
	mkdir -p /etc/sentinel &&
	echo "policy: {ask: $POLICY}" >/etc/sentinel/config.yaml &&
	exec "$0" "$@"' %s --toolsets all
`

// A user answers questions. reading is how long that takes: a person reads for longer than a
// program, which the server tells from one by that.
type user struct {
	reading time.Duration
	answer  *mcp.ElicitResult
	asked   chan string // what each question says
	gone    chan struct{}
}

const slowly = 800 * time.Millisecond

func newUser(reading time.Duration, action string, content map[string]any) *user {
	return &user{reading, &mcp.ElicitResult{Action: action, Content: content}, make(chan string, 10), make(chan struct{}, 10)}
}

func (u *user) read(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	u.asked <- r.Params.Message
	select {
	case <-time.After(u.reading):
		return u.answer, nil
	case <-ctx.Done():
		u.gone <- struct{}{}
		return nil, ctx.Err()
	}
}

// A victim is a process that may be ended.
type victim struct {
	*exec.Cmd
	ended chan struct{}
}

func newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{exec.Command("sleep", "1000"), make(chan struct{})}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		v.Wait()
		close(v.ended)
	}()
	t.Cleanup(func() {
		v.Process.Kill()
		<-v.ended
	})
	return v
}

func (v victim) lives() bool { return v.Process.Signal(syscall.Signal(0)) == nil }

// TestTheOfficialGoClientAsksItsUser needs root for folders of the server's own.
func TestTheOfficialGoClientAsksItsUser(t *testing.T) {
	namespaces(t)
	dir := binaries(t)
	server := filepath.Join(dir, "keeping")
	if err := os.WriteFile(server, []byte(fmt.Sprintf(keeping, filepath.Join(dir, "real", "sentinel-mcp"))), 0o755); err != nil {
		t.Fatal(err)
	}
	yes, no := map[string]any{"go_ahead": true}, map[string]any{"go_ahead": false}
	const typed = "a yes of another type"
	for _, revision := range revisions[2:] {
		for name, c := range map[string]struct {
			policy string
			user   *user
			code   any // nil is a success
			agreed bool
		}{
			"yes":                       {"required", newUser(slowly, "accept", yes), nil, true},
			"the box not ticked":        {"offered", newUser(slowly, "accept", no), "DECLINED", false},
			typed:                       {"offered", newUser(slowly, "accept", map[string]any{"go_ahead": "yes"}), "DECLINED", false},
			"decline":                   {"offered", newUser(slowly, "decline", nil), "DECLINED", false},
			"cancel":                    {"offered", newUser(slowly, "cancel", nil), "DECLINED", false},
			"instant decline, required": {"required", newUser(0, "decline", nil), "DECLINED", false},
			"instant decline, offered":  {"offered", newUser(0, "decline", nil), "DECLINED", false},
			"nobody to ask, required":   {"required", nil, "DISABLED_BY_POLICY", false},
			"nobody to ask, offered":    {"offered", nil, nil, false},
			"nobody is to be asked":     {"off", newUser(slowly, "decline", nil), nil, false},
		} {
			if name == typed && revision == "2026-07-28" {
				continue // there the client itself refuses it
			}
			t.Run(revision+", "+name, func(t *testing.T) {
				t.Parallel()
				options := &mcp.ClientOptions{}
				if c.user != nil {
					options.ElicitationHandler = c.user.read
				}
				v, s := newVictim(t), connectWith(t, options, revision, "/usr/bin/env", "POLICY="+c.policy, server)
				defer s.Close()
				d := ends(t, s, v)
				if d["error_code"] != c.code || c.code != nil && !v.lives() {
					t.Errorf("%v, want %v; lives: %v", d, c.code, v.lives())
				}
				if c.code == nil {
					<-v.ended
				}
				if c.user != nil && c.policy != "off" {
					if q := <-c.user.asked; !strings.Contains(q, `"sleep" (PID `+strconv.Itoa(v.Process.Pid)) || !strings.Contains(q, "would be sent SIGKILL") {
						t.Errorf("asked %q", q)
					}
				}
				if got := agreedIn(t, s); got != c.agreed {
					t.Errorf("the journal has an agreement: %v, want %v", got, c.agreed)
				}
			})
		}
		t.Run(revision+", cancelled", func(t *testing.T) {
			t.Parallel()
			u := newUser(time.Hour, "accept", yes)
			v, s := newVictim(t), connectWith(t, &mcp.ClientOptions{ElicitationHandler: u.read}, revision, "/usr/bin/env", "POLICY=offered", server)
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-u.asked
				cancel()
			}()
			if _, err := s.CallTool(ctx, call(v)); !errors.Is(err, context.Canceled) {
				t.Errorf("call: %v, want Canceled", err)
			}
			<-u.gone // the question is withdrawn
			if agreedIn(t, s) || !v.lives() {
				t.Error("the process of a cancelled call was ended")
			}
		})
	}
}

func call(v victim) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "terminate_process", Arguments: map[string]any{"pid": v.Process.Pid, "reason": "[click](http://a.example)"}}
}

func ends(t *testing.T, s *mcp.ClientSession, v victim) map[string]any {
	t.Helper()
	r, err := s.CallTool(t.Context(), call(v))
	if err != nil {
		t.Fatal(err)
	}
	d, _ := r.StructuredContent.(map[string]any)
	return d
}

// agreedIn reports whether the journal says that a person agreed to the last change, if there was one.
func agreedIn(t *testing.T, s *mcp.ClientSession) bool {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_action_history", Arguments: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := r.StructuredContent.(map[string]any)
	actions, _ := d["actions"].([]any)
	if len(actions) == 0 {
		return false
	}
	action, _ := actions[0].(map[string]any)
	who, _ := action["who"].(map[string]any)
	return who["asked"] == `accepted by user through "interop/1"`
}
