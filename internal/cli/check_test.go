// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
	"sentinel/internal/doctor"
	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/updates"
)

// checked prints a document as --check does.
func checked(t *testing.T, doc document, args ...string) (status int, printed string) {
	t.Helper()
	call, err := parse(append(args, "--check"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	o := output{stdout: &b, form: call.form, giveUp: func() <-chan struct{} { return nil }}
	o.check(call)
	status = o.document(doc)
	return status, b.String()
}

func healthOf(level, message string, unknown ...string) *healthDocument {
	d := &healthDocument{thresholds: health.DefaultThresholds()}
	d.ThreatLevel = level
	if message != "" {
		d.ThreatReasons = []health.Reason{{Message: message}}
	}
	for _, field := range unknown {
		d.Unavailable.Note(field, "it is not there")
	}
	d.CPU = &health.CPU{Percent: new(12.5)}
	d.Disks = []health.Disk{{Mountpoint: "/srv/my files", UsedPercent: 91}}
	return d
}

func updatesOf(all, security *int, age *int64, reboot bool) updatesDocument {
	return updatesDocument{Report: updates.Report{Info: updates.Info{UpdatesAvailable: new(*all > 0)}, UpdatesTotal: all, SecurityTotal: security, ListAgeSeconds: age, RebootRequired: &reboot, RebootReason: "The kernel is newer."}}
}

func updatesWithheld(security int) updatesDocument {
	d := updatesOf(new(0), new(0), nil, false)
	d.Info.UpdatesAvailable, d.WithheldSecurity = new(true), &security
	return d
}

// What is held back stays open, so a person reads no "CURRENT".
func TestWithheldSecurityUpdatesAreNoCurrentMachine(t *testing.T) {
	p := newPage(80, false)
	updatesWithheld(1).view(p)
	got := string(p.bytes())
	if want := "0 updates wait. 1 security update is withheld."; !strings.Contains(got, want) || !strings.Contains(got, "SECURITY") {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestACheckEndsAsAPluginOfNagiosDoes(t *testing.T) {
	const perf = " | cpu=12.5%;90;98;0;100 'disk /srv/my files'=91%;85;95;0;100"
	failing := []audit.Result{{ID: "a.one", Status: audit.Fail}, {ID: "b.two", Status: audit.Warn}, {ID: "c.three", Status: audit.Pass}}
	old := updates.Report{UpdatesTotal: new(0), Unavailable: answer.Gaps{{Field: "reboot_required", Reason: "it is not told"}, {Field: "info.updates_available", Reason: "the package lists are 60 d 0 h old"}}}
	for name, test := range map[string]struct {
		doc    document
		flags  string
		status int
		want   string
	}{
		"health is well":         {healthOf(health.Low, ""), "", 0, "SENTINEL HEALTH OK - Nothing is at a threshold." + perf},
		"something is not known": {healthOf(health.Low, "", "temperature"), "", 0, "SENTINEL HEALTH OK - Nothing is at a threshold. Not known: temperature." + perf},
		"memory is not known":    {healthOf(health.Low, "", "memory"), "", 3, "SENTINEL HEALTH UNKNOWN - Nothing that is known is at a threshold. Not known: memory." + perf},
		"a warning":              {healthOf(health.Warning, "The file system at / is 91 % full.", "memory"), "", 1, "SENTINEL HEALTH WARNING - The file system at / is 91 % full. Not known: memory." + perf},
		"critical":               {healthOf(health.Critical, "It burns."), "", 2, "SENTINEL HEALTH CRITICAL - It burns." + perf},
		"no level":               {healthOf("", ""), "", 3, "SENTINEL HEALTH UNKNOWN - Nothing is at a threshold." + perf},

		"audit passes":    {auditDocument{Report: audit.Report{Overall: audit.OverallPass, Score: 100, Evaluated: 4, Applicable: 5, Coverage: 0.8}}, "audit", 0, "SENTINEL AUDIT OK - Score 100 of 100, 4 of 5 checks came to a verdict. | score=100;;;0; failures=0;;;0; warnings=0;;;0; coverage=80%;;;0;100"},
		"audit warns":     {auditDocument{Report: audit.Report{Overall: audit.OverallWarning, Score: 70, Evaluated: 3, Applicable: 3, Coverage: 1, Checks: failing}}, "audit", 1, "SENTINEL AUDIT WARNING - Score 70 of 100, 3 of 3 checks came to a verdict. FAIL: a.one. WARN: b.two. | score=70;;;0; failures=1;;;0; warnings=1;;;0; coverage=100%;;;0;100"},
		"audit fails":     {auditDocument{Report: audit.Report{Overall: audit.OverallFail, Evaluated: 1, Applicable: 1}}, "audit", 2, "SENTINEL AUDIT CRITICAL - Score 0 of 100, 1 of 1 checks came to a verdict. | score=0;;;0; failures=0;;;0; warnings=0;;;0; coverage=0%;;;0;100"},
		"nothing audited": {auditDocument{Report: audit.Report{Overall: audit.OverallPass}}, "audit", 3, "SENTINEL AUDIT UNKNOWN - No check came to a verdict."},

		"doctor finds nothing": {doctorDocument{Report: doctor.Report{Checks: []doctor.Finding{{Status: doctor.OK}}}}, "doctor", 0, "SENTINEL DOCTOR OK - 1 check, 0 problems, 0 warnings. | problems=0;;0;0; warnings=0;0;;0;"},
		"doctor warns":         {doctorDocument{Report: doctor.Report{Warnings: 1, Checks: []doctor.Finding{{Name: "sudo", Status: doctor.Warning, Value: "There is none."}}}}, "doctor", 1, "SENTINEL DOCTOR WARNING - 1 check, 0 problems, 1 warning. sudo: There is none. | problems=0;;0;0; warnings=1;0;;0;"},
		"doctor has a problem": {doctorDocument{Report: doctor.Report{Problems: 1, Checks: []doctor.Finding{{Name: "journal", Status: doctor.Problem, Value: "cut off|x"}}}}, "doctor", 2, "SENTINEL DOCTOR CRITICAL - 1 check, 1 problem, 0 warnings. journal: cut off/x. | problems=1;;0;0; warnings=0;0;;0;"},

		"no updates":            {updatesOf(new(0), new(0), new(int64(3600)), false), "updates", 0, "SENTINEL UPDATES OK - 0 updates, 0 for security. The package lists are 1 h 0 min old. | updates=0;0;;0; security_updates=0;;0;0; list_age=3600s;;;0;"},
		"updates wait":          {updatesOf(new(3), nil, nil, false), "updates", 1, "SENTINEL UPDATES WARNING - 3 updates; which of them are for security is not known. How old the package lists are is not known. | updates=3;0;;0;"},
		"security updates wait": {updatesOf(new(3), new(1), nil, false), "updates", 2, "SENTINEL UPDATES CRITICAL - 3 updates, 1 for security. How old the package lists are is not known. | updates=3;0;;0; security_updates=1;;0;0;"},
		"security updates held": {updatesWithheld(80), "updates", 2, "SENTINEL UPDATES CRITICAL - 0 updates, 0 for security. 80 security updates are withheld. How old the package lists are is not known. | updates=0;0;;0; security_updates=0;;0;0; withheld_security_updates=80;;0;0;"},
		"a reboot is due":       {updatesOf(new(0), new(0), nil, true), "updates", 1, "SENTINEL UPDATES WARNING - 0 updates, 0 for security. How old the package lists are is not known. A reboot is due: The kernel is newer. | updates=0;0;;0; security_updates=0;;0;0;"},
		"updates are not known": {updatesDocument{Report: old}, "updates", 3, "SENTINEL UPDATES UNKNOWN - Which updates wait cannot be told: the package lists are 60 d 0 h old."},
	} {
		t.Run(name, func(t *testing.T) {
			status, printed := checked(t, test.doc, strings.Fields(test.flags)...)
			if status != test.status || printed != test.want+"\n" {
				t.Errorf("status %d, want %d\ngot  %swant %s", status, test.status, printed, test.want)
			}
		})
	}
}

// A disk that cannot be read is no reason for UNKNOWN, and so are not more of them than are named: users can mount any
// number.
func TestManyDisksThatCannotBeReadAreNotAllDisks(t *testing.T) {
	var list []health.DiskFacts
	for n := range 13 {
		list = append(list, health.DiskFacts{Mountpoint: fmt.Sprint("/home/eve/mnt", n), Err: fs.ErrPermission})
	}
	d := healthOf(health.Low, "")
	health.Build(health.Facts{Disks: &list}, health.Options{Rows: -1}, &d.Unavailable)
	if status, printed := checked(t, d); status != 0 {
		t.Errorf("status %d: %s", status, printed)
	}
}

// An answer that nobody can judge is UNKNOWN, and never a status of sentinel's
// own, which would be WARNING or CRITICAL to Nagios.
func TestEveryFailureOfACheckIsUnknown(t *testing.T) {
	for _, info := range fault.All() {
		var b bytes.Buffer
		o := output{stdout: &b, giveUp: func() <-chan struct{} { return nil }, checking: true, service: "health"}
		if status := o.fail("system_health", fault.New(info.Code, "It is so.").WithFix("Do that.")); status != 3 || b.String() != "SENTINEL HEALTH UNKNOWN - It is so. Do that.\n" {
			t.Errorf("%s: status %d, %q", info.Code, status, b.String())
		}
	}
	o := output{stdout: failingWriter{}, stderr: &bytes.Buffer{}, giveUp: func() <-chan struct{} { return nil }, checking: true}
	if status := o.document(healthOf(health.Low, "")); status != 3 {
		t.Errorf("a line that could not be written: status %d", status)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

// With a form of one's own the document stays as it is, and the status is the check's.
func TestACheckHasTheFormThatWasChosen(t *testing.T) {
	status, printed := checked(t, healthOf(health.Critical, "It burns."), "--json")
	if status != 2 || !strings.HasPrefix(printed, "{") {
		t.Errorf("status %d: %s", status, printed)
	}
}
