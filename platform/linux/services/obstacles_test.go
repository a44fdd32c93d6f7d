// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/testenv"
)

// hindered are services that run, and what is done to each below.
var hindered = map[string]string{
	"program.service":  "[Service]\nExecStart=/srv/program infinity\n",
	"mode.service":     "[Service]\nExecStart=/srv/mode infinity\n",
	"second.service":   "[Service]\nExecStartPre=/bin/true\nExecStart=/srv/second infinity\n",
	"ignored.service":  sleeps + "ExecStartPre=-/srv/never\n",
	"bound.service":    "[Service]\nBindReadOnlyPaths=/usr/bin:/srv/bin\nExecStart=/srv/bin/sleep infinity\n",
	"folder.service":   sleeps + "WorkingDirectory=/srv/folder\n",
	"maybe.service":    sleeps + "WorkingDirectory=-/srv/maybe\n",
	"runtime.service":  sleeps + "RuntimeDirectory=hindered\nWorkingDirectory=/run/hindered\n",
	"variable.service": sleeps + "EnvironmentFile=/srv/variables\n",
	"optional.service": sleeps + "EnvironmentFile=-/srv/optional\nEnvironmentFile=/srv/none*\n",
	"user.service":     sleeps + "User=worker\n",
	"group.service":    sleeps + "Group=workers\n",
	"number.service":   sleeps + "User=4712\n",
	"flag.service":     "[Unit]\nConditionPathExists=/srv/flag\n" + sleeps,
	"lock.service":     "[Unit]\nConditionPathExists=!/srv/lock\n" + sleeps,
	"assert.service":   "[Unit]\nAssertFileNotEmpty=/srv/full\n" + sleeps,
	"either.service":   "[Unit]\nConditionPathIsDirectory=|/srv/flag\nConditionPathExists=|/usr\n" + sleeps,
	"neither.service":  "[Unit]\nConditionPathExists=|/srv/flag\nConditionPathExists=|/srv/other\n" + sleeps,
	"absent.service":   "[Unit]\nConditionPathExists=|!/srv/lock\n" + sleeps,
	"nobody.service":   sleeps + "User=nobody\n",
	"nogroup.service":  sleeps + "Group=nogroup\n",
	"leaves.service":   "[Unit]\nConditionPathExists=/srv/left\n" + sleeps + "ExecStopPost=/bin/touch /srv/left\n",
	"copies.service":   "[Service]\nExecStart=/srv/copy infinity\nExecStop=/bin/cp /bin/sleep /srv/copy\n",
	"late.service":     sleeps + "EnvironmentFile=/srv/late\nExecStopPost=/bin/touch /srv/late\n",
	"nowhere.service":  sleeps + "WorkingDirectory=/srv/nowhere\nExecStop=/bin/mkdir /srv/nowhere\n",
}

const hinder = `
rm /srv/program /srv/second /srv/variables /srv/flag /srv/optional /srv/left /srv/copy /srv/late
chmod 600 /srv/mode
touch /srv/lock
: >/srv/full
rm -r /srv/folder /srv/maybe /srv/nowhere /run/hindered
sed -i -e /^worker/d -e /^no/d /etc/passwd /etc/group`

func TestWhatKeepsAServiceFromItsStartIsSeenBeforeItsStop(t *testing.T) {
	if !testenv.Booted(t, hindered) {
		return
	}
	sh := func(script string) {
		t.Helper()
		if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sh(`for f in program mode second copy; do cp /bin/sleep /srv/$f; done
mkdir /srv/folder /srv/maybe /srv/nowhere
touch /srv/variables /srv/flag /srv/optional /srv/none1 /srv/left /srv/late
echo x >/srv/full
echo worker:x:4712:4712::/:/bin/sh >>/etc/passwd
echo workers:x:4713: >>/etc/group`)
	for name := range hindered {
		testenv.Systemctl(t, true, "start "+name)
	}
	sh(hinder)
	for name, c := range map[string]struct {
		why  string // "" for nothing
		sure bool
		back bool // it comes back all the same
	}{
		"program":  {"its program /srv/program is missing", true, false},
		"mode":     {"its program /srv/mode cannot be executed", true, false},
		"second":   {"its program /srv/second is missing", false, false},
		"ignored":  {},
		"bound":    {},
		"folder":   {"its working directory /srv/folder is missing", true, false},
		"maybe":    {},
		"runtime":  {},
		"variable": {"the file /srv/variables of its environment is missing", true, false},
		"optional": {},
		"user":     {"its user worker does not exist", true, false},
		"group":    {"its group workers does not exist", true, false},
		"number":   {"its user 4712 does not exist", false, false},
		"flag":     {"ConditionPathExists=/srv/flag is not met", true, false},
		"lock":     {"ConditionPathExists=!/srv/lock is not met", false, false},
		"assert":   {"AssertFileNotEmpty=/srv/full is not met", true, false},
		"either":   {},
		"neither":  {"none of ConditionPathExists=/srv/", false, false},
		"absent":   {"none of ConditionPathExists=!/srv/lock is met", false, false},
		"nobody":   {"its user nobody does not exist", false, true},
		"nogroup":  {"its group nogroup does not exist", false, true},
		"leaves":   {"ConditionPathExists=/srv/left is not met", false, true},
		"copies":   {"its program /srv/copy is missing", false, true},
		"late":     {"the file /srv/late of its environment is missing", true, false},
		"nowhere":  {"its working directory /srv/nowhere is missing", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := mainPID(t, name)
			summary, err := plan(t, services.Options{Name: name})
			if want := name + ".service would not come back: " + c.why + ". It runs on; nothing was changed."; c.sure && (code(err) != fault.BrokenConfiguration || err.Error() != want) {
				t.Errorf("%v, want %s", err, want)
			}
			if !c.sure && (err != nil || strings.Contains(summary, "may not come back: "+c.why) != (c.why != "") || strings.Contains(summary, "not come back") != (c.why != "")) {
				t.Errorf("%q, %v", summary, err)
			}
			if now := mainPID(t, name); now != before {
				t.Errorf("the main process was %s and is %s", before, now)
			}
			// What is told is what happens.
			_, err = restart(t.Context(), t, services.Options{Name: name, Force: true})
			if (err != nil) != (c.why != "" && !c.back) {
				t.Errorf("forced: %v", err)
			}
		})
	}
}

// A process with other mounts than systemd does not see what systemd would find.
func TestNothingIsSureInASandbox(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"home.service": "[Service]\nExecStart=/srv/hidden infinity\n"}) {
		return
	}
	if os.Getenv("SENTINEL_TEST_HIDDEN") != "" {
		if summary, err := plan(t, services.Options{Name: "home"}); err != nil || !strings.Contains(summary, "may not come back: its program /srv/hidden is missing") {
			t.Errorf("%q, %v", summary, err)
		}
		return
	}
	if out, err := exec.Command("sh", "-ec", "cp /bin/sleep /srv/hidden; systemctl start home").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if summary, err := plan(t, services.Options{Name: "home"}); err != nil || strings.Contains(summary, "come back") {
		t.Errorf("%q, %v", summary, err)
	}
	inside := exec.Command("unshare", "--mount", "sh", "-ec", `mount -t tmpfs tmpfs /srv; exec "$@"`, "sh", os.Args[0], "-test.run=^"+t.Name()+"$")
	inside.Env = append(os.Environ(), "SENTINEL_TEST_HIDDEN=yes")
	if out, err := inside.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
