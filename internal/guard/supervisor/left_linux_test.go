// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/guard/stages"
	"sentinel/internal/testenv"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"

// A stay is what a client does while a server runs.
type stay struct {
	command []string
	status  int
	wants   string // in what the client gets
	// leave is what the client does once the server has said something, besides reading all that comes.
	leave func(in *os.File, signals chan<- os.Signal)
}

const ready = `echo '{"jsonrpc":"2.0","method":"ready"}'; `

func shell(script string) []string { return []string{"sh", "-c", script} }

// endInput is a client that sends no more; those that do nothing stay until the server has ended.
func endInput(in *os.File, _ chan<- os.Signal) { in.Close() }

func stays(in *os.File, _ chan<- os.Signal) {}

func terminate(_ *os.File, signals chan<- os.Signal) { signals <- syscall.SIGTERM }

// One session of many in a process leaves as little behind as one whose process ends with it.
func TestNothingIsLeftOfABadServer(t *testing.T) {
	testenv.HangGuard(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]stay{
		"no such command":            {[]string{"no-such-command"}, 127, "SERVER_GONE", stays},
		"no program":                 {[]string{plain}, 126, "SERVER_GONE", stays},
		"exits at once":              {shell("exit 3"), 3, "SERVER_GONE", stays},
		"dies":                       {shell("read -r line; kill -9 $$"), 137, "SERVER_GONE", stays},
		"never answers, signal":      {shell(ready + "cat >/dev/null"), 143, "SERVER_GONE", terminate},
		"never answers, end":         {shell(ready + "cat >/dev/null; exit 4"), 4, "SERVER_GONE", endInput},
		"ignores SIGTERM":            {shell("trap '' TERM; " + ready + "sleep 600; sleep 600"), 137, "SERVER_GONE", terminate},
		"forks and leaves":           {shell("sleep 600 & sleep 600 </dev/null >/dev/null & read -r line; exit 5"), 5, "SERVER_GONE", stays},
		"banners, no end":            {shell(`echo Listening; echo '{}'; read -r line; printf '{"jsonrpc":"2.0","id":1,"result":{"a":1}}'; exit 6`), 6, `"result":{"a":1}`, stays},
		"much on stderr":             {shell("head -c 10000000 /dev/zero >&2; exit 7"), 7, "SERVER_GONE", stays},
		"closes its output":          {shell(ready + "exec >&-; cat >/dev/null; exit 8"), 8, "SERVER_GONE", endInput},
		"closes its input":           {shell(`exec <&-; echo '{"jsonrpc":"2.0","method":"x"}'; exit 9`), 9, `"method":"x"`, stays},
		"answers what nobody asked":  {shell(`echo '{"jsonrpc":"2.0","id":7,"result":{}}'; read -r line; exit 10`), 10, "SERVER_GONE", stays},
		"an answer without meaning":  {shell(`read -r line; echo '{"jsonrpc":"2.0","id":1,"result":1,"result":2}'; exit 11`), 11, "MESSAGE_MALFORMED", stays},
		"an answer that is too long": {shell(`read -r line; printf '{"jsonrpc":"2.0","id":1,"result":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '"}'; exit 12`), 12, "MESSAGE_TOO_LARGE", stays},
	}
	all["exits at once"].tried(t) // what the runtime makes once is there from now on
	for name, s := range all {
		clean := t.Run(name, func(t *testing.T) {
			before, open := runtime.NumGoroutine(), descriptors(t)
			s.tried(t)
			defer func() {
				if t.Failed() {
					pprof.Lookup("goroutine").WriteTo(t.Output(), 1)
				}
			}()
			testenv.WaitAtMost(t, 20*time.Second, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
			testenv.WaitAtMost(t, 20*time.Second, "the descriptors are those before: "+fmt.Sprint(open), func() bool { return slices.Equal(descriptors(t), open) })
		})
		if !clean { // what is left would be found again
			break
		}
	}
}

// tried runs the server for one client, and then closes what is the client's.
func (s stay) tried(t *testing.T) {
	t.Helper()
	in, toServer := pipe(t)
	fromServer, out := pipe(t)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var got bytes.Buffer
	if _, err := io.WriteString(toServer, ping); err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.CopyN(&got, fromServer, 1)
		s.leave(toServer, signals)
		io.Copy(&got, fromServer)
	}()
	server := Server{Command: s.command, Variables: os.Environ(), Stages: stages.All(stages.Settings{}), MaxLine: 1 << 20}
	if status := server.Run(t.Context(), signals, Streams{In: in, Out: out, Err: null, Diagnostics: io.Discard}); status != s.status {
		t.Errorf("status %d, want %d", status, s.status)
	}
	for _, f := range []*os.File{toServer, out} {
		f.Close()
	}
	<-read
	for _, f := range []*os.File{in, fromServer} {
		f.Close()
	}
	if !strings.Contains(got.String(), s.wants) {
		t.Errorf("the client got %.500s, want %s", got.String(), s.wants)
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// descriptors returns the open files of this process, with what they are.
func descriptors(t *testing.T) (all []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // not that of the list itself
			all = append(all, e.Name()+" "+to)
		}
	}
	return all
}
