// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

const worker = 4300

// master is a process of root's with one below it.
func master(below Facts) *victim {
	v := facts(func(f *Facts) { f.Name, f.UserID, f.Unit = "sh", 0, Unit{Name: "proxy.service"} })
	v.below, v.parents = []Relative{{worker, below.Name}}, map[int]Pinned{worker: &victim{facts: []Facts{below}}}
	return v
}

// some is replaced by the sessions of a claim.
var some = make([]*sessions.Session, 1)

func claimed(v *victim, pid int, c sessions.Claim, whose sessions.Ownership) {
	c.Sessions = []*sessions.Session{{User: "ann", Whose: whose}}
	if c.Shown != nil {
		c.Shown = c.Sessions
	}
	v.model = &sessions.Model{Processes: map[int]sessions.Claim{pid: c}}
}

// The caller's session ends with the master of the proxy that carries it; what a service manager has started, or
// serves somebody else, is no reason to keep its parent.
func TestAMasterCarriesTheCallersSession(t *testing.T) {
	same, other := Unit{Name: "proxy.service"}, Unit{Name: "ssh.service"}
	for name, c := range map[string]struct {
		unit    Unit
		claim   sessions.Claim
		whose   sessions.Ownership
		refused bool
	}{
		"its worker":                {same, sessions.Claim{}, sessions.Own, true},
		"which may carry it":        {same, sessions.Claim{}, sessions.PossiblyOwn, true},
		"one with another's":        {same, sessions.Claim{}, sessions.Others, false},
		"one of another unit":       {other, sessions.Claim{}, sessions.Own, false},
		"one that only takes some":  {same, sessions.Claim{Listens: true}, sessions.Own, false},
		"one that shows a terminal": {same, sessions.Claim{Shown: some}, sessions.Own, false},
	} {
		v := master(Facts{Name: "haproxy", Unit: c.unit})
		claimed(v, worker, c.claim, c.whose)
		_, _, err := do(t, v, Target{EndSession: true})
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (fault.From(err).Code != fault.ProtectedProcess || fault.From(err).Protects == nil || !strings.HasSuffix(fault.From(err).Message, `by "haproxy" (PID 4300), which ends with it.`)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, gone := range []error{ErrNoProcess, ErrHeldUp} {
		v := master(Facts{Name: "haproxy", Unit: same})
		v.parents[worker] = &victim{facts: []Facts{{}}, factsErr: gone}
		claimed(v, worker, sessions.Claim{}, sessions.Own)
		if _, _, err := do(t, v, Target{}); err != nil {
			t.Error(err)
		}
	}
}

// The kernel ends a PID namespace with its first process: what is refused of any there is refused of that.
func TestTheFirstOfANamespaceTakesAllAlong(t *testing.T) {
	for why, change := range map[string]func(*Facts){
		"it answers this machine's own questions for names": func(f *Facts) { f.Duty.NameServer = true },
		WhyWayOut:     func(f *Facts) { f.Duty.WayOut = true },
		whyConfigured: func(f *Facts) { f.Name = "postgres" },
		`it serves the file system mounted at "/srv"`: func(f *Facts) { f.Served = []Served{{Point: "/srv", System: true}} },
		`it holds "/dev/watchdog0", a watchdog`:       func(f *Facts) { f.Watchdog = "/dev/watchdog0" },
		"":                                            func(f *Facts) { f.Name = "auditd" }, // which belongs to the container
	} {
		for _, first := range []bool{true, false} {
			below := Facts{Name: "python3", Nested: true}
			change(&below)
			v := master(below)
			v.facts[0].First, v.facts[0].Nested = first, true
			if first && why != "" {
				fails(t, v, Target{}, fault.ProtectedProcess, fmt.Sprintf(`"sh" (PID 4242) must not be ended: "%s" (PID 4300) ends with it, and %s`, below.Name, why), "--force")
				v.closed, v.reads = 0, 0
			}
			if _, _, err := do(t, v, Target{Force: first && why != ""}); err != nil {
				t.Errorf("%s, first %v: %v", why, first, err)
			}
		}
	}
}

func TestSessionsOfANamespaceEndWithItsFirst(t *testing.T) {
	first := func(whose sessions.Ownership) *victim {
		v := master(Facts{Name: "ttyd", Nested: true})
		v.facts[0].First, v.facts[0].Nested = true, true
		claimed(v, worker, sessions.Claim{How: "through relay (PID 12)"}, whose)
		return v
	}
	const by = `, through relay (PID 12), by "ttyd" (PID 4300), which ends with it.`
	fails(t, first(sessions.Others), Target{}, fault.ProtectedProcess, "it carries the session of ann"+by, "--kill 4242 --end-session")
	fails(t, first(sessions.Own), Target{EndSession: true}, fault.ProtectedProcess, "it carries this call's own session of ann"+by, "another session")
	v := first(sessions.Others)
	both := append([]*sessions.Session{{User: "bob"}}, v.model.Processes[worker].Sessions...)
	v.model.Processes[4242] = sessions.Claim{Sessions: both} // a session that two processes carry ends once
	p, err := PlanTermination(t.Context(), v, Target{PID: 4242, EndSession: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if ends := p.Ends(); ends == nil || len(ends.Sessions) != 2 || ends.Sessions[0].User != "bob" || ends.Sessions[1].User != "ann" {
		t.Errorf("%+v", ends)
	}
}

func TestWhatEndsAlongIsLookedAtWithinBounds(t *testing.T) {
	v := master(Facts{Name: "sleep", Nested: true})
	v.facts[0].First, v.facts[0].Nested = true, true
	v.below = nil
	for i := range 4 * maxBelow {
		v.below = append(v.below, Relative{worker, fmt.Sprint(i)})
	}
	p, err := PlanTermination(t.Context(), v, Target{PID: 4242}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if got := v.parents[worker].(*victim).reads; got != maxBelow {
		t.Errorf("looked at %d", got)
	}
}

func TestUnknownIsNoPermissionToEndWhatIsBelow(t *testing.T) {
	bad := errors.New("no process table")
	v := killable()
	v.belowErr = bad
	fails(t, v, Target{}, fault.Unavailable, `What ends with "ffmpeg" (PID 4242) cannot be read: no process table`, "")
	v = master(Facts{Name: "python3"})
	v.facts[0].First = true
	v.parents[worker] = &victim{facts: []Facts{{}}, factsErr: bad}
	fails(t, v, Target{}, fault.Unavailable, `What depends on process 4300, which ends with "sh" (PID 4242), cannot be read`, "")
	v = master(Facts{Name: "python3"})
	v.parents[worker] = &victim{facts: []Facts{{}}, factsErr: bad}
	claimed(v, worker, sessions.Claim{}, sessions.Own)
	fails(t, v, Target{}, fault.Unavailable, `Which service "python3" (PID 4300) belongs to cannot be read`, "")
}

// What comes back after a restart is lost for a moment; a process that stays away takes with it all that it is.
func TestEssentialIsLessWhereItComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		facts       Facts
		e           Ending
		back, stays string
	}{
		"a VPN":                      {Facts{Duty: Duty{WayOut: true}}, Ending{}, WhyWayOut, WhyWayOut},
		"in a container":             {Facts{Nested: true, Duty: Duty{WayOut: true}}, Ending{}, WhyWayOut, WhyWayOut},
		"names":                      {Facts{Duty: Duty{NameServer: true}}, Ending{}, "", "it answers this machine's own questions for names"},
		"names and routes":           {Facts{Duty: Duty{NameServer: true, Routing: true}}, Ending{}, WhyRouting, "it answers this machine's own questions for names"},
		"an audit":                   {Facts{Name: "auditd"}, Ending{}, "", "it guards this machine"},
		"an audit of a container":    {Facts{Name: "auditd", Nested: true}, Ending{}, "", ""},
		"logins":                     {Facts{Name: "sshd"}, Ending{}, "", "people reach this machine through it"},
		"logins that carry sessions": {Facts{Name: "sshd"}, Ending{Carries: true}, "", ""},
		"storage":                    {Facts{Name: "multipathd"}, Ending{}, "the storage depends on it", "the storage depends on it"},
		"a name that is protected":   {Facts{Name: "postgres"}, Ending{}, "", whyConfigured},
		"a watchdog":                 {Facts{Watchdog: "/dev/watchdog"}, Ending{}, "", "it holds \"/dev/watchdog\""},
		"nothing":                    {Facts{Name: "nginx"}, Ending{}, "", ""},
		"one that is gone":           {Facts{Ended: true}, Ending{}, "", ""},
	} {
		v := &victim{facts: []Facts{c.facts}}
		if c.facts.Ended {
			v.factsErr = ErrNoProcess
		}
		for back, want := range map[bool]string{true: c.back, false: c.stays} {
			c.e.PID, c.e.ComesBack = 77, back
			_, who, why, err := Essential(t.Context(), v, []Ending{c.e}, nil, protected)
			if err != nil || (why == "") != (want == "") || !strings.HasPrefix(why, want) || why != "" && !strings.HasSuffix(who, "(PID 77)") {
				t.Errorf("%s, comes back %v: %q %q, %v", name, back, who, why, err)
			}
		}
	}
	unread := &victim{facts: []Facts{{Duty: Duty{Unread: errors.New("no sockets")}}}}
	if pid, _, _, err := Essential(t.Context(), unread, []Ending{{PID: 77, ComesBack: true}}, nil, nil); err == nil || pid != 77 {
		t.Error("what is not known is no permission")
	}
}
