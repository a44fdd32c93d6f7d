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
}

const hinder = `
rm /srv/program /srv/second /srv/variables /srv/flag /srv/optional
chmod 600 /srv/mode
touch /srv/lock
: >/srv/full
rm -r /srv/folder /srv/maybe /run/hindered
sed -i /^worker/d /etc/passwd /etc/group`

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
	sh(`for f in program mode second; do cp /bin/sleep /srv/$f; done
mkdir /srv/folder /srv/maybe
touch /srv/variables /srv/flag /srv/optional /srv/none1
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
	}{
		"program":  {"its program /srv/program is missing", true},
		"mode":     {"its program /srv/mode cannot be executed", true},
		"second":   {"its program /srv/second is missing", false},
		"ignored":  {},
		"bound":    {},
		"folder":   {"its working directory /srv/folder is missing", true},
		"maybe":    {},
		"runtime":  {},
		"variable": {"the file /srv/variables of its environment is missing", true},
		"optional": {},
		"user":     {"its user worker does not exist", true},
		"group":    {"its group workers does not exist", true},
		"number":   {"its user 4712 does not exist", false},
		"flag":     {"ConditionPathExists=/srv/flag is not met", true},
		"lock":     {"ConditionPathExists=!/srv/lock is not met", false},
		"assert":   {"AssertFileNotEmpty=/srv/full is not met", true},
		"either":   {},
		"neither":  {"none of ConditionPathExists=/srv/", false},
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
			if (err != nil) != (c.why != "") {
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
