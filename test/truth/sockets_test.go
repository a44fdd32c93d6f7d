// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A healthDocument is what these tests read of sentinel --json.
type healthDocument struct {
	Flows []struct {
		PID         int    `json:"pid"`
		Source      string `json:"source"`
		Destination string `json:"destination"`
		Status      string `json:"status"`
		Protocol    string `json:"protocol"`
	} `json:"flows"`
	FlowsTotal int `json:"flows_total"`
	Listening  []struct {
		PID      int    `json:"pid"`
		Address  string `json:"address"`
		Protocol string `json:"protocol"`
		Exposed  bool   `json:"exposed"`
	} `json:"listening"`
	ListeningTotal int      `json:"listening_total"`
	CPULoad        string   `json:"cpu_load"`
	UptimeSeconds  int64    `json:"uptime_seconds"`
	Memory         capacity `json:"memory"`
	Swap           capacity `json:"swap"`
	Unavailable    []struct {
		Field  string `json:"field"`
		Reason string `json:"reason"`
	} `json:"unavailable"`
}

type capacity struct {
	Total     uint64 `json:"total_bytes"`
	Used      uint64 `json:"used_bytes"`
	Available uint64 `json:"available_bytes"`
}

func (d healthDocument) sockets() map[row][]int {
	rows := map[row][]int{}
	for _, f := range d.Flows {
		r := row{f.Protocol, f.Status, f.Source, f.Destination}
		rows[r] = withPID(rows[r], f.PID)
	}
	for _, l := range d.Listening {
		r := row{Protocol: l.Protocol, State: "LISTEN", Local: l.Address}
		rows[r] = withPID(rows[r], l.PID)
	}
	return rows
}

// withPID adds a process; a row without one is still a row.
func withPID(pids []int, pid int) []int {
	if pid == 0 {
		return pids
	}
	return append(pids, pid)
}

// openSockets makes a virtual cable for the sockets and has a child open them
// all.
func openSockets(t *testing.T) {
	t.Helper()
	for _, args := range []string{
		"link add " + cable + " type veth peer name truth1",
		"link set " + cable + " up",
		"link set truth1 up",
		"address add " + own + "/24 dev " + cable,
		"address add fe80::1/64 dev " + cable + " nodad",
		"neigh add " + silent + " lladdr 02:00:5e:10:00:99 dev " + cable,
	} {
		output(t, "ip", strings.Fields(args)...)
	}
	hire(t, "sockets", 0).order("open")
}

func needSocketTools(t *testing.T) {
	t.Helper()
	needTool(t, "ss", "iproute2")
	needTool(t, "ip", "iproute2")
}

func TestSocketsAreThoseOfSS(t *testing.T) {
	needSocketTools(t)
	if !inside(t) {
		return
	}
	openSockets(t)
	want, got := settled(t, func() healthDocument {
		var d healthDocument
		askSentinel(t, &d, "--json", "--limit", "all")
		return d
	})
	compareRows(t, want, got)
	checkVariety(t, want)
	if n := got.FlowsTotal + got.ListeningTotal; n != len(got.Flows)+len(got.Listening) {
		t.Errorf("totals say %d sockets, %d are listed", n, len(got.Flows)+len(got.Listening))
	}
	for _, l := range got.Listening {
		loopback := strings.HasPrefix(l.Address, "127.") || strings.HasPrefix(l.Address, "[::1]")
		if l.Exposed == loopback {
			t.Errorf("%s: exposed is %v", l.Address, l.Exposed)
		}
	}
}

// settled asks ss, sentinel and ss again until nothing changed in between.
func settled(t *testing.T, ask func() healthDocument) (want map[row][]int, got healthDocument) {
	t.Helper()
	eventually(t, func() string {
		before := askSS(t)
		got = ask()
		want = askSS(t)
		return cmp.Diff(before, want)
	})
	return want, got
}

// compareRows wants the same rows on both sides. ss names every process that
// holds a socket, sentinel the first.
func compareRows(t *testing.T, want map[row][]int, document healthDocument) {
	t.Helper()
	got := document.sockets()
	for r, pids := range want {
		shown, ok := got[r]
		switch {
		case !ok:
			t.Errorf("missing: %v of %v", r, pids)
		case len(pids) == 0 && len(shown) > 0, len(pids) > 0 && len(shown) == 0, !subset(shown, pids):
			t.Errorf("%v belongs to %v, not %v", r, pids, shown)
		}
	}
	for r, pids := range got {
		if _, ok := want[r]; !ok {
			t.Errorf("ss does not know %v of %v", r, pids)
		}
	}
}

func subset(some, all []int) bool {
	return !slices.ContainsFunc(some, func(pid int) bool { return !slices.Contains(all, pid) })
}

// checkVariety makes sure that the comparison was about something: each kind
// of socket that the child opened is there.
func checkVariety(t *testing.T, rows map[row][]int) {
	t.Helper()
	seen := map[string]int{}
	for r, pids := range rows {
		kind := r.Protocol + " " + r.State
		seen[kind]++
		for _, mark := range []string{"[::1]", "[fe80::1%" + cable + "]", "[::]", own} {
			if strings.HasPrefix(r.Local, mark) {
				seen[kind+" "+mark]++
			}
		}
		if len(pids) > 1 {
			seen["shared"]++
		}
	}
	want := []string{
		"shared", "tcp CLOSE_WAIT", "tcp ESTABLISHED", "tcp ESTABLISHED [::1]", "tcp ESTABLISHED [fe80::1%" + cable + "]", "tcp ESTABLISHED 192.0.2.1",
		"tcp FIN_WAIT_2", "tcp FIN_WAIT_2 [::1]", "tcp LISTEN", "tcp LISTEN [::1]", "tcp LISTEN [::]", "tcp LISTEN [fe80::1%" + cable + "]",
		"tcp SYN_RECEIVED", "tcp SYN_SENT", "tcp TIME_WAIT", "tcp TIME_WAIT [::1]",
		"udp ESTABLISHED", "udp ESTABLISHED [::1]", "udp LISTEN", "udp LISTEN [::1]", "udp LISTEN [::]", "udp LISTEN [fe80::1%" + cable + "]",
	}
	for _, kind := range want {
		if seen[kind] == 0 {
			t.Errorf("no socket of kind %q was made; there are %v", kind, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestSocketsOfOthersHaveNoProcessWithoutRoot runs both programs as a user
// that owns none of the sockets.
func TestSocketsOfOthersHaveNoProcessWithoutRoot(t *testing.T) {
	needSocketTools(t)
	if !inside(t) {
		return
	}
	openSockets(t)
	binary := sentinelBinary(t)
	want, got := settled(t, func() healthDocument {
		cmd := exec.CommandContext(t.Context(), binary, "--json", "--limit", "all")
		cmd.Dir = os.TempDir()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		var d healthDocument
		decode(t, finish(t, cmd), &d)
		return d
	})
	for r := range want {
		want[r] = nil
	}
	compareRows(t, want, got)
	noted := slices.ContainsFunc(got.Unavailable, func(g struct {
		Field  string `json:"field"`
		Reason string `json:"reason"`
	}) bool {
		return g.Field == "flows.pid"
	})
	if !noted {
		t.Errorf("unavailable does not say that processes are missing: %v", got.Unavailable)
	}
}

// TestSocketsAreThoseOfSSWithoutSockDiag has sentinel read /proc/net, which does
// not know the interface of a link-local address.
func TestSocketsAreThoseOfSSWithoutSockDiag(t *testing.T) {
	needSocketTools(t)
	if !inside(t) {
		return
	}
	openSockets(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, got := settled(t, func() healthDocument {
		cmd := exec.CommandContext(t.Context(), self, sentinelBinary(t), "--json", "--limit", "all")
		cmd.Env = append(os.Environ(), roleVar+"=barred")
		var d healthDocument
		decode(t, finish(t, cmd), &d)
		return d
	})
	unzoned := map[row][]int{}
	for r, pids := range want {
		r.Local, r.Peer = strings.Replace(r.Local, "%"+cable, "", 1), strings.Replace(r.Peer, "%"+cable, "", 1)
		unzoned[r] = pids
	}
	compareRows(t, unzoned, got)
}

// connectionCounts are stats.connections of sentinel --network-stats.
type connectionCounts struct {
	Total       int `json:"total"`
	TCP         int `json:"tcp"`
	UDP         int `json:"udp"`
	Established int `json:"established"`
	Listen      int `json:"listen"`
	TimeWait    int `json:"time_wait"`
	CloseWait   int `json:"close_wait"`
	Other       int `json:"other"`
}

func TestConnectionCountsAreThoseOfSS(t *testing.T) {
	needSocketTools(t)
	if !inside(t) {
		return
	}
	openSockets(t)
	var got, want connectionCounts
	eventually(t, func() string {
		before := countSS(t)
		var d networkDocument
		askSentinel(t, &d, "--network-stats", "--json")
		got, want = d.Stats.Connections, countSS(t)
		return cmp.Diff(before, want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts differ from ss (-ss +sentinel):\n%s", diff)
	}
	if want.Total == 0 || want.TimeWait == 0 || want.CloseWait == 0 || want.Other == 0 {
		t.Errorf("nothing to compare: %+v", want)
	}
}

func countSS(t *testing.T) connectionCounts {
	t.Helper()
	var c connectionCounts
	for line := range strings.Lines(string(output(t, "ss", "-H", "-tuna"))) {
		r, _, err := parseSS(line)
		if err != nil {
			t.Fatal(err)
		}
		c.Total++
		if r.Protocol == "udp" {
			c.UDP++
			continue
		}
		c.TCP++
		*c.of(r.State)++
	}
	return c
}

func (c *connectionCounts) of(state string) *int {
	switch state {
	case "ESTABLISHED":
		return &c.Established
	case "LISTEN":
		return &c.Listen
	case "TIME_WAIT":
		return &c.TimeWait
	case "CLOSE_WAIT":
		return &c.CloseWait
	default:
		return &c.Other
	}
}
