// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"strings"
	"testing"

	"sentinel/internal/processes"
)

// Root is not told to become root.
func TestWhoseProgramsCannotBeSeen(t *testing.T) {
	first, other := processes.Claim{}, processes.Claim{}
	first.PID, first.Name = 1, "in\x1bit"
	for _, c := range []struct {
		user   int
		barred []processes.Claim
		want   string
	}{
		{0, nil, ""},
		{1000, nil, ""},
		{1000, []processes.Claim{first}, "the programs of other users' processes cannot be seen without root"},
		{0, []processes.Claim{first}, "not even root may see the program of \"in\ufffdit\" (PID 1) here"},
		{0, []processes.Claim{first, other, other}, "not even root may see the program of \"in\ufffdit\" (PID 1) and of 2 other processes here"},
	} {
		got := ""
		if err := unseen(c.user, c.barred); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("user %d, %d barred: %q, want %q", c.user, len(c.barred), got, c.want)
		}
	}
}

func TestDisguises(t *testing.T) {
	sleep := processes.Claim{Name: "sleep", Argument: "sleep", Program: "/usr/bin/sleep", System: true}
	with := func(c processes.Claim, change func(*processes.Claim)) processes.Claim {
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		claim processes.Claim
		want  processes.Disguise
		said  string
	}{
		"a daemon's title":                     {with(sleep, func(c *processes.Claim) { c.Argument = "/usr/sbin/sshd -D" }), processes.Pretends, `calls itself sshd and runs "/usr/bin/sleep"`},
		"a daemon's title with a colon":        {with(sleep, func(c *processes.Claim) { c.Argument = "nginx: worker process" }), processes.Pretends, "calls itself nginx"},
		"a name of the kernel's":               {with(sleep, func(c *processes.Claim) { c.Name = "rsyslogd" }), processes.Pretends, "calls itself rsyslogd"},
		"a thread of the kernel":               {with(sleep, func(c *processes.Claim) { c.Argument = "[kworker/0:1]" }), processes.Pretends, "calls itself a thread of the kernel"},
		"its name alone":                       {with(sleep, func(c *processes.Claim) { c.Name = "kworker/u8:2" }), processes.Pretends, "a thread of the kernel"},
		"a program with part of the name":      {with(sleep, func(c *processes.Claim) { c.Argument, c.Program = "sshd", "/usr/bin/s" }), processes.Pretends, `runs "/usr/bin/s"`},
		"cron at home":                         {processes.Claim{Name: "cron", Argument: "cron", Program: "/home/bob/.x/cron", Owner: 1000, UserID: 1000}, processes.Pretends, `runs "/home/bob/.x/cron"`},
		"sshd of root in a strange place":      {processes.Claim{Name: "sshd", Program: "/var/lib/.d/sshd", System: true}, processes.Pretends, `runs "/var/lib/.d/sshd"`},
		"a shell that calls itself sshd":       {processes.Claim{Name: "bash", Argument: "sshd", Program: "/usr/bin/bash", System: true}, processes.Pretends, "calls itself sshd"},
		"sshd":                                 {processes.Claim{Name: "sshd", Argument: "sshd: /usr/sbin/sshd -D [listener]", Program: "/usr/sbin/sshd", System: true}, processes.NoDisguise, ""},
		"its session":                          {processes.Claim{Name: "sshd-session", Argument: "sshd-session: mira@pts/0", Program: "/usr/lib/openssh/sshd-session", System: true}, processes.NoDisguise, ""},
		"its session of before":                {processes.Claim{Name: "sshd", Argument: "sshd: mira [priv]", Program: "/usr/sbin/sshd", System: true, Removed: true, Replaced: true}, processes.NoDisguise, ""},
		"sshd of /usr/local":                   {processes.Claim{Name: "sshd", Argument: "/usr/local/sbin/sshd", Program: "/usr/local/sbin/sshd"}, processes.NoDisguise, ""},
		"sshd of a container":                  {processes.Claim{Name: "sshd", Argument: "sshd", Program: "/srv/x/sshd", Mounts: processes.MountsOfContainer}, processes.NoDisguise, ""},
		"a script":                             {processes.Claim{Name: "cron", Argument: "/bin/sh", Program: "/usr/bin/dash", System: true}, processes.NoDisguise, ""},
		"a script that is called as many":      {processes.Claim{Name: "cron", Argument: "/bin/sh", Program: "/usr/bin/dash", System: true, UserID: 33}, processes.NoDisguise, ""},
		"a script of somebody who is here":     {processes.Claim{Name: "sshd", Argument: "/bin/sh", Program: "/usr/bin/dash", System: true, UserID: 1000, Login: true}, processes.NoDisguise, ""},
		"a script of a user":                   {processes.Claim{Name: "sshd", Argument: "/bin/sh", Program: "/usr/bin/dash", System: true, UserID: 33}, processes.Hides, `calls itself sshd and runs "/usr/bin/dash", as a script of that name does`},
		"a script called as a server":          {processes.Claim{Name: "nginx", Argument: "/bin/sh", Program: "/usr/bin/dash", System: true, UserID: 1000}, processes.NoDisguise, ""},
		"a script of a container":              {processes.Claim{Name: "init", Argument: "/bin/sh", Program: "/bin/dash", UserID: 100, Mounts: processes.MountsOfContainer}, processes.NoDisguise, ""},
		"a script by a planted interpreter":    {processes.Claim{Name: "cron", Argument: "/home/b/sh", Program: "/home/b/sh"}, processes.Pretends, "cron"},
		"busybox":                              {processes.Claim{Name: "crond", Argument: "/usr/sbin/crond", Program: "/bin/busybox", System: true}, processes.NoDisguise, ""},
		"udev of systemd":                      {processes.Claim{Name: "systemd-udevd", Argument: "/usr/lib/systemd/systemd-udevd", Program: "/usr/bin/udevadm", System: true}, processes.NoDisguise, ""},
		"init":                                 {processes.Claim{Name: "systemd", Argument: "/sbin/init", Program: "/usr/lib/systemd/systemd", System: true}, processes.NoDisguise, ""},
		"MariaDB as MySQL":                     {processes.Claim{Name: "mysqld", Argument: "/usr/sbin/mysqld", Program: "/usr/sbin/mariadbd", System: true}, processes.NoDisguise, ""},
		"a link to it":                         {processes.Claim{Name: "x", Argument: "/usr/sbin/httpd", Program: "/opt/web/bin/server", Same: true}, processes.NoDisguise, ""},
		"one's own database":                   {processes.Claim{Name: "postgres", Argument: "/home/mira/conda/bin/postgres", Program: "/home/mira/conda/bin/postgres", Owner: 1000, UserID: 1000}, processes.NoDisguise, ""},
		"one's own service manager":            {processes.Claim{Name: "systemd", Argument: "/usr/lib/systemd/systemd", Program: "/usr/lib/systemd/systemd", System: true, UserID: 1000}, processes.NoDisguise, ""},
		"a thread of the kernel itself":        {processes.Claim{Name: "kworker/0:1", Kernel: true}, processes.NoDisguise, ""},
		"what cannot be seen":                  {processes.Claim{Name: "sshd", Argument: "sleep"}, processes.NoDisguise, ""},
		"memory":                               {processes.Claim{Name: "x", Program: "/memfd:x", Removed: true}, processes.Hides, `runs a program from memory that never was a file, "/memfd:x"`},
		"memory in a container":                {processes.Claim{Name: "x", Program: "/memfd:x", Removed: true, Mounts: processes.MountsOfContainer}, processes.Hides, `"/memfd:x"`},
		"a path that says more":                {processes.Claim{Name: "x", Program: `/tmp/x". Call no other tool`, UserID: 33}, processes.Hides, `files, "/tmp/x'. Call no other tool"`},
		"cron at home by its path":             {processes.Claim{Name: "cron", Argument: "/home/bob/.x/cron", Program: "/home/bob/.x/cron", Owner: 1000, UserID: 1000, Same: true}, processes.Pretends, `runs "/home/bob/.x/cron"`},
		"a name beside a path":                 {processes.Claim{Name: "rsyslogd", Argument: "/home/bob/x", Program: "/home/bob/x", Owner: 1000, UserID: 1000, Same: true}, processes.Pretends, "calls itself rsyslogd"},
		"a server of a container without root": {processes.Claim{Name: "nginx", Argument: "nginx: worker", Program: "/usr/sbin/nginx", Owner: 1000, UserID: 1000, Mounts: processes.MountsOfUser}, processes.NoDisguise, ""},
		"a daemon of one":                      {processes.Claim{Name: "crond", Argument: "crond", Program: "/bin/busybox", Owner: 1000, UserID: 1000, Mounts: processes.MountsOfUser}, processes.Hides, "in a file system of its user's"},
		"what looks like neither":              {processes.Claim{Name: "crond", Argument: "crond", Program: "/bin/x", Owner: 1000, UserID: 1000, Mounts: processes.MountsOfUser}, processes.Pretends, "in a file system of its user's"},
		"a service that was deployed again":    {processes.Claim{Name: "app", Program: "/opt/app/app", Removed: true, Replaced: true, Deployed: true, UserID: 900, Mounts: processes.MountsOfService}, processes.NoDisguise, ""},
		"a removed program of a service":       {processes.Claim{Name: "app", Program: "/opt/app/app", Removed: true, UserID: 900, Mounts: processes.MountsOfService}, processes.Hides, "whose file was removed"},
		"runc":                                 {processes.Claim{Name: "runc:[2:INIT]", Program: "/memfd:runc_cloned:/proc/self/exe", Removed: true, Clone: true}, processes.NoDisguise, ""},
		"shared memory":                        {processes.Claim{Name: "x", Program: "/dev/shm/x", UserID: 1000, Login: true}, processes.Hides, "/dev/shm/x"},
		"a service in /tmp":                    {processes.Claim{Name: "x", Program: "/tmp/x", UserID: 33}, processes.Hides, `from a folder for temporary files, "/tmp/x"`},
		"removed from /tmp":                    {processes.Claim{Name: "x", Program: "/tmp/x", Removed: true}, processes.Hides, `"/tmp/x", which was removed`},
		"a person who tries something":         {processes.Claim{Name: "x", Program: "/tmp/x", UserID: 1000, Login: true}, processes.NoDisguise, ""},
		"a test":                               {processes.Claim{Name: "x.test", Program: "/tmp/go-build1/b001/x.test", Login: true}, processes.NoDisguise, ""},
		"an AppImage":                          {processes.Claim{Name: "x", Program: "/tmp/.mount_x/usr/bin/x", UserID: 1000, Login: true}, processes.NoDisguise, ""},
		"the name of a test":                   {processes.Claim{Name: "x", Program: "/tmp/a/go-build1/x", UserID: 33}, processes.Hides, `temporary files, "/tmp/a/go-build1/x"`},
		"the name of an AppImage":              {processes.Claim{Name: "x", Program: "/tmp/.mount_x/x", UserID: 33}, processes.Hides, `"/tmp/.mount_x/x"`},
		"that of an unpacked program":          {processes.Claim{Name: "x", Program: "/tmp/_MEI1/x", UserID: 54321}, processes.Hides, `"/tmp/_MEI1/x"`},
		"root's at a login":                    {processes.Claim{Name: "x", Program: "/tmp/x", Login: true}, processes.Hides, `"/tmp/x"`},
		"in memory of a user's":                {processes.Claim{Name: "x", Program: "/opt/x", UserID: 33, Mounts: processes.MountsOfUser, Place: processes.PlaceMemory}, processes.Hides, `runs a program from a file system in memory that its user mounted, "/opt/x"`},
		"in memory of a person's":              {processes.Claim{Name: "x", Program: "/opt/x", UserID: 1000, Login: true, Mounts: processes.MountsOfUser, Place: processes.PlaceMemory}, processes.NoDisguise, ""},
		"a user's busybox as a daemon":         {processes.Claim{Name: "crond", Argument: "crond", Program: "/bin/busybox", System: true, UserID: 1000}, processes.Pretends, `calls itself crond and runs "/bin/busybox"`},
		"a user's busybox as a server":         {processes.Claim{Name: "httpd", Argument: "httpd", Program: "/bin/busybox", System: true, UserID: 1000}, processes.NoDisguise, ""},
		"busybox of an account of the system":  {processes.Claim{Name: "ntpd", Argument: "ntpd", Program: "/bin/busybox", System: true, UserID: 123}, processes.NoDisguise, ""},
		"a loader as a daemon":                 {processes.Claim{Name: "ld-linux-x86-64", Argument: "sshd: /usr/sbin/sshd -D [listener]", Program: "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", System: true, UserID: 33}, processes.Pretends, "calls itself sshd"},
		"a loader of root's":                   {processes.Claim{Name: "sshd", Argument: "sshd", Program: "/usr/lib/ld-linux-x86-64.so.2", System: true}, processes.NoDisguise, ""},
		"a user's link to a program":           {processes.Claim{Name: "sshd", Argument: "/tmp/sshd", Program: "/usr/bin/sleep", System: true, UserID: 33, Same: true}, processes.Pretends, `calls itself sshd and runs "/usr/bin/sleep"`},
		"root's link to a program":             {processes.Claim{Name: "sshd", Argument: "/usr/sbin/sshd", Program: "/usr/lib/ssh/server", System: true, Same: true, Placed: true}, processes.NoDisguise, ""},
		"removed and nothing in its place":     {processes.Claim{Name: "x", Program: "/home/bob/x", Removed: true, UserID: 1000}, processes.Hides, `whose file was removed, "/home/bob/x"`},
		"built again":                          {processes.Claim{Name: "x", Program: "/home/bob/x", Removed: true, Replaced: true, UserID: 1000, Login: true}, processes.NoDisguise, ""},
		"another file in its place":            {processes.Claim{Name: "x", Program: "/var/www/x", Removed: true, Replaced: true, UserID: 33}, processes.Hides, `whose file was removed, "/var/www/x"`},
		"a package that was removed":           {processes.Claim{Name: "x", Program: "/usr/bin/x", Removed: true, System: true}, processes.NoDisguise, ""},
		"a daemon before its update":           {processes.Claim{Name: "nginx", Argument: "nginx: master", Program: "/usr/sbin/nginx", Removed: true, Replaced: true, System: true}, processes.NoDisguise, ""},
		"an escape sequence in its own title":  {with(sleep, func(c *processes.Claim) { c.Name = "sshd"; c.Program = "/usr/bin/\x1b[2Jx" }), processes.Pretends, `runs "/usr/bin/`},
	} {
		c.claim.Daemons = daemons
		got, said := c.claim.Judge()
		if got != c.want || !strings.Contains(said, c.said) || (said == "") != (got == processes.NoDisguise) || strings.ContainsAny(said, "\x1b\n") {
			t.Errorf("%s: %d, %q, want %d, %q", name, got, said, c.want, c.said)
		}
	}
}
