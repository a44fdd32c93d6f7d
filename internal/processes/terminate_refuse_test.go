// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func facts(change func(*Facts)) *victim {
	v := killable()
	change(&v.facts[0])
	return v
}

func TestForceLiftsAllRefusalsButThatOfTheKernel(t *testing.T) {
	for _, c := range []struct {
		what    string
		change  func(*Facts)
		message string
		fix     string
	}{
		{"sshd", func(f *Facts) { f.Name, f.UserID = "sshd", 0 }, "people reach this machine through it", "add --force"},
		{"sshd in its unit", func(f *Facts) {
			f.Name, f.UserID, f.Unit = "sshd", 0, Unit{Name: "ssh.service", Service: true, RestartName: "ssh.service"}
		}, "ffmpeg", "--restart-service ssh.service"},
		{"the configuration's", func(f *Facts) { f.Name, f.User, f.Unit = "postgres", "postgres", Unit{Name: "postgres.service"} }, "the configuration protects", "protect.processes"},
		{"an ancestor", func(f *Facts) { f.Name = "claude" }, "an ancestor of this sentinel run, 2 levels up", "another session"},
	} {
		v := facts(c.change)
		if c.what == "an ancestor" {
			v.lineage = []Relative{{99, "sentinel-mcp"}, {4242, "claude"}}
		}
		if c.message == "ffmpeg" {
			c.message = "\"sshd\" (PID 4242) must not be ended"
		}
		fails(t, v, Target{}, fault.ProtectedProcess, c.message, c.fix)
		v.closed, v.reads = 0, 0
		if _, _, err := do(t, v, Target{Force: true}); err != nil {
			t.Errorf("%s with force: %v", c.what, err)
		}
	}
	v := facts(func(f *Facts) { f.Kernel, f.Name = true, "kworker/0:1" })
	fails(t, v, Target{Force: true}, fault.ProtectedProcess, "\"kworker/0:1\" (PID 4242) must not be ended: it is a thread of the kernel", "")
}

// A run as root is known by its file, wherever a copy of it is. What only has the name, or belongs to a user or a
// container, is as good as any process.
func TestOtherRunsOfRootAreProtected(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := "/opt/other/" + filepath.Base(own)
	for what, c := range map[string]struct {
		change    func(*Facts)
		file      ProgramFile
		protected bool
	}{
		"this one":                {func(f *Facts) { f.UserID, f.Executable = 0, own }, ProgramFile{}, true},
		"a copy of root's":        {func(f *Facts) { f.UserID, f.Executable = 0, other }, ProgramFile{System: true}, true},
		"one that others change":  {func(f *Facts) { f.UserID, f.Executable = 0, other }, ProgramFile{}, false},
		"one that lends rights":   {func(f *Facts) { f.UserID, f.Executable = 0, other }, ProgramFile{System: true, Lent: true}, false},
		"a copy that a user runs": {func(f *Facts) { f.UserID, f.Executable = 1000, other }, ProgramFile{System: true}, false},
		"a user's":                {func(f *Facts) { f.UserID, f.Executable = 1000, own }, ProgramFile{System: true}, false},
		"a namesake":              {func(f *Facts) { f.UserID, f.Name, f.Executable = 0, filepath.Base(own), "/usr/bin/sleep" }, ProgramFile{System: true}, false},
		"a container":             {func(f *Facts) { f.UserID, f.Nested, f.Executable = 0, true, own }, ProgramFile{System: true}, false},
	} {
		v := facts(c.change)
		v.systemFile, v.lent = c.file.System, c.file.Lent
		if c.protected {
			fails(t, v, Target{}, fault.ProtectedProcess, "another run of sentinel as root", "ends by itself within two minutes")
		} else if _, _, err := do(t, v, Target{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestParentIsCalledByItsName(t *testing.T) {
	v := killable()
	v.lineage = []Relative{{4242, "sudo"}, {99, "bash"}}
	fails(t, v, Target{}, fault.ProtectedProcess, "it is the parent of this sentinel run", "another session")
}

// What cannot be seen might be the way in.
func TestLineageThatCannotBeReadRefuses(t *testing.T) {
	v := killable()
	v.lineageErr = errTable
	fails(t, v, Target{}, fault.Unavailable, "The ancestors of this sentinel run cannot be read", "")
}

// A process becomes what must not be ended between the plan and the signal.
func TestRefusalsAreAskedAgainBeforeTheSignal(t *testing.T) {
	v := killable()
	daemon := ffmpeg()
	daemon.Name, daemon.UserID = "auditd", 0
	v.facts = append(v.facts, daemon)
	fails(t, v, Target{}, fault.ProtectedProcess, "it guards this machine", "")
}

// A name of the configuration counts where the process did not choose it itself.
func TestProtectedNamesAreNotTakenOnTrust(t *testing.T) {
	for _, c := range []struct {
		what  string
		facts Facts
		file  ProgramFile
		want  bool
	}{
		{"by its program", Facts{Name: "x", UserID: 104, Executable: "/usr/lib/postgresql/15/bin/postgres"}, ProgramFile{System: true}, true},
		{"by its unit", Facts{Name: "python3", UserID: 104, Executable: "/usr/bin/python3", Unit: Unit{Name: "postgres.service", Service: true}}, ProgramFile{System: true}, true},
		{"by root", Facts{Name: "postgres", UserID: 0, Executable: "/usr/bin/python3"}, ProgramFile{System: true}, true},
		{"a script of a user", Facts{Name: "postgres", UserID: 1000, Executable: "/usr/bin/dash"}, ProgramFile{System: true}, false},
		{"by its arguments", Facts{Name: "miner", Arguments: []string{"postgres"}, UserID: 1000, Executable: "/usr/bin/miner"}, ProgramFile{System: true}, false},
		{"a user's own program", Facts{Name: "postgres", UserID: 1000, Executable: "/home/bob/postgres"}, ProgramFile{}, false},
		{"a user's own unit", Facts{Name: "miner", UserID: 1000, Executable: "/home/bob/miner", Unit: Unit{Name: "postgres.service", User: true}}, ProgramFile{}, false},
		{"a program with rights of root that a user called so", Facts{Name: "postgres", UserID: 0, Executable: "/usr/bin/sudo"}, ProgramFile{System: true, Lent: true}, false},
	} {
		v := killable()
		v.facts[0], v.systemFile, v.lent = c.facts, c.file.System, c.file.Lent
		_, _, err := do(t, v, Target{})
		if refused := err != nil && fault.From(err).Code == fault.ProtectedProcess; refused != c.want || err != nil && !refused {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// Who has got into a service, or has programs run by one, starts what they like of the system's programs there: the
// service does not become impossible to end by that, nor do they, but for what the configuration names.
func TestNamesInAServiceOfAnother(t *testing.T) {
	web := Unit{Name: "apache2.service", Service: true}
	for what, c := range map[string]struct {
		program string
		uid     int
		unit    Unit
		main    Facts
		want    bool // of itself
		along   bool // with another
	}{
		"a desktop in its session":          {"sway", 1500, Unit{Name: "session-3.scope"}, Facts{}, true, true},
		"a desktop of a user's manager":     {"sway", 1500, Unit{Name: "sway.service", User: true, Service: true}, Facts{}, true, true},
		"beside that manager":               {"sway", 1500, Unit{Name: "user@1500.service", Service: true, Manager: true}, Facts{}, true, true},
		"a desktop without units":           {"sway", 1500, Unit{}, Facts{}, true, true},
		"a desktop in a service":            {"sway", 33, web, Facts{Name: "apache2"}, false, false},
		"a kiosk, which is that service":    {"sway", 1500, Unit{Name: "kiosk.service", Service: true}, Facts{Name: "sway"}, true, true},
		"one of a person there":             {"sway", 1500, Unit{Name: "cron.service", Service: true}, Facts{Name: "cron"}, false, false},
		"a database in its service":         {"postgres", 104, Unit{Name: "db.service", Service: true}, Facts{Name: "postgres"}, true, true},
		"a database in another's":           {"postgres", 33, web, Facts{Name: "apache2"}, true, false},
		"one of a person in another's":      {"postgres", 1500, web, Facts{Name: "apache2"}, true, false},
		"a database in a person's session":  {"postgres", 1500, Unit{Name: "session-3.scope"}, Facts{}, true, true},
		"a database of root's in another's": {"postgres", 0, web, Facts{Name: "apache2"}, true, true},
	} {
		v := killable()
		v.systemFile, v.policy = true, RestartPolicy{MainPID: worker}
		v.facts[0] = Facts{Name: c.program, Executable: "/usr/bin/" + c.program, UserID: c.uid, Unit: c.unit}
		v.parents = map[int]Pinned{worker: &victim{facts: []Facts{c.main}}}
		_, _, err := do(t, v, Target{})
		if refused := err != nil && fault.From(err).Code == fault.ProtectedProcess; refused != c.want || err != nil && !refused {
			t.Errorf("%s: %v", what, err)
		}
		v.reads = 0
		if _, _, why, err := Essential(t.Context(), v, []Ending{{PID: 4242}}, nil, protected); (why != "") != c.along || err != nil {
			t.Errorf("%s, with another: %q, %v", what, why, err)
		}
	}
}

func TestProcessesOfSSHSessions(t *testing.T) {
	for _, c := range []struct {
		what   string
		facts  Facts
		system bool // its file
		want   bool
	}{
		{"an sshd that a user started", Facts{Name: "sshd", UserID: 1000, Executable: "/usr/sbin/sshd", Parent: Relative{2, "bash"}}, true, false},
		{"an sshd below a user's own", Facts{Name: "sshd", UserID: 1000, Executable: "/usr/sbin/sshd", Parent: Relative{3, "sshd"}}, true, false},
		{"sshd of a user's session", Facts{Name: "sshd", UserID: 1000, Executable: "/usr/sbin/sshd", Parent: Relative{4, "sshd"}}, true, true},
		{"a newer one of a user's session", Facts{Name: "sshd-session", UserID: 1000, Executable: "/usr/lib/openssh/sshd-session", Parent: Relative{5, "sshd-session"}}, true, true},
		{"an sshd whose parent cannot be seen", Facts{Name: "sshd", UserID: 1000, Parent: Relative{6, "sshd"}}, true, true},
		{"an sshd whose parent has ended", Facts{Name: "sshd", UserID: 1000, Parent: Relative{7, "sshd"}}, true, false},
		{"the shell of a session", Facts{Name: "bash", UserID: 1000, Executable: "/bin/bash", Parent: Relative{4, "sshd"}}, true, false},
	} {
		v := killable()
		v.systemFile = c.system
		v.facts[0] = c.facts
		v.parents = map[int]Pinned{
			2: facts(func(f *Facts) { f.Name, f.UserID = "bash", 1000 }), 3: facts(func(f *Facts) { f.Name, f.UserID = "sshd", 1000 }),
			4: facts(func(f *Facts) { f.Name, f.UserID = "sshd", 0 }), 5: facts(func(f *Facts) { f.Name, f.UserID = "sshd-session", 0 }),
			6: &victim{facts: []Facts{{}}, factsErr: errTable}, 7: &victim{facts: []Facts{{}}, factsErr: ErrNoProcess},
		}
		_, _, err := do(t, v, Target{})
		var known *fault.Error
		if refused := errors.As(err, &known) && known.Code == fault.ProtectedProcess; refused != c.want || err != nil && !refused {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// The file of a program may lie on a disk that does not answer. What is not
// known is not ended, and soon.
func TestDeadDiskDoesNotHoldUpARefusal(t *testing.T) {
	v := killable()
	v.diskHangs = true
	v.facts[0] = Facts{Name: "auditd", UserID: 0, Executable: "/opt/audit/auditd"}
	if _, took, err := do(t, v, Target{}); fault.From(err).Code != fault.ProtectedProcess || took != managerPeriod {
		t.Errorf("%v after %v", err, took)
	}
}

func TestRestartIsForetold(t *testing.T) {
	yes, no := "yes", "no"
	const may = "may"
	for _, c := range []struct {
		onKill, onTerm Prediction
		kill, term     string
	}{
		{StaysAway, StaysAway, no, no},
		{ComesBack, ComesBack, yes, yes},
		{StaysAway, Uncertain, no, may},
		{ComesBack, StaysAway, yes, no},
		{Uncertain, Uncertain, may, may},
	} {
		for s, want := range map[Signal]string{SignalKill: c.kill, SignalTerm: c.term} {
			v := killable()
			v.endsBy, v.policy = s, RestartPolicy{MainPID: 4242, OnKill: c.onKill, OnTerm: c.onTerm}
			v.facts[0].Unit = Unit{Name: "x.service", Service: true}
			got, _, err := do(t, v, Target{Graceful: true})
			if said := told(got); err != nil || said != want || (want == no) != (got.RestartNote == "") {
				t.Errorf("%+v after %s: %s %q, %v", c, s, said, got.RestartNote, err)
			}
		}
	}
}

func told(d Terminated) string {
	switch {
	case d.WillRestart == nil:
		return "may"
	case *d.WillRestart:
		return "yes"
	default:
		return "no"
	}
}

func TestRestartThatIsNotSureIsLeftOpen(t *testing.T) {
	always := RestartPolicy{MainPID: 4242, OnTerm: ComesBack, OnKill: ComesBack}
	for _, c := range []struct {
		unit   Unit
		policy RestartPolicy
		err    error
		want   string
	}{
		{Unit{}, always, nil, ""},
		{Unit{Name: "session-3.scope"}, always, nil, ""},
		{Unit{Name: "x.service", User: true, Service: true}, always, nil, `"x.service" is run by the service manager of the user, which may start it again.`},
		{Unit{Name: "x.service", Service: true}, always, errTable, "x.service may start it again: the service manager did not say."},
		{Unit{Name: "x.service", Service: true}, RestartPolicy{OnKill: ComesBack}, nil, "x.service has no main process, and may start this one again."},
		{Unit{Name: "x.service", Service: true, RestartName: "x.service"}, RestartPolicy{MainPID: 17, OnKill: ComesBack}, nil, "It belongs to x.service, whose main process may start another; to restart the whole service: sudo sentinel --restart-service x.service."},
	} {
		v := killable()
		v.facts[0].Unit, v.policy, v.policyErr = c.unit, c.policy, c.err
		got, _, err := do(t, v, Target{})
		if err != nil || got.WillRestart != nil || got.RestartNote != c.want || got.Unit != c.unit.Name {
			t.Errorf("%+v: %+v, %v", c.unit, got, err)
		}
	}
}

func TestServiceManagerThatHangsIsNotWaitedFor(t *testing.T) {
	v := killable()
	v.managerHangs = true
	v.facts[0].Unit = Unit{Name: "x.service", Service: true}
	if got, took, err := do(t, v, Target{}); err != nil || took != managerPeriod || got.WillRestart != nil || took > time.Second {
		t.Errorf("%+v, %v after %v", got, err, took)
	}
}
