// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
	"sentinel/internal/userdb"
)

var (
	mira = userdb.User{Name: "mira", UID: 1000}
	zoe  = userdb.User{Name: "zoe", UID: 1001}
)

// programsOf adds entries to a survey: of mira, of the system with the rights of mira, of zoe, of the system.
func programsOf(t *testing.T, s *survey) {
	t.Helper()
	s.addFor(mira, file{name: "/mira"}, startup.Entry{}, "/opt/m1", "/opt/m2", "/opt/m3")
	s.add(file{name: "/etc/cron.d/m"}, startup.Entry{}, "/opt/c").as = &mira
	s.addFor(zoe, file{name: "/zoe"}, startup.Entry{}, "/opt/z1", "/opt/z2")
	s.add(file{name: "/etc/profile"}, startup.Entry{}, "/opt/app/run", "/usr/bin/open")
	s.join()
}

func TestWhatTheSystemStartsIsLookedAtFirst(t *testing.T) {
	s := newSurvey(Parts{Root: t.TempDir()})
	programsOf(t, s)
	system, turns := s.questions()
	paths := func(list []question) (names string) {
		for _, q := range list {
			names += q.entry.Programs[q.at].Path + " "
		}
		return names
	}
	var got []string
	for _, t := range turns {
		got = append(got, paths(t.left))
	}
	if diff := cmp.Diff([]string{"/opt/m1 /opt/m2 /opt/m3 ", "/opt/z1 /opt/z2 "}, got); diff != "" || paths(system) != "/opt/app/run /usr/bin/open /opt/c " {
		t.Errorf("%s %s", paths(system), diff)
	}
}

// Programs of a user that are slow to look at delay those of the same user.
func TestUsersTakeTurnsByTheTimeThatTheyTake(t *testing.T) {
	turns := []*turn{{user: "a", left: make([]question, 3)}, {user: "b", left: make([]question, 3)}, {user: "c", left: make([]question, 1)}}
	cost := map[string]time.Duration{"a": 300, "b": 10, "c": 20}
	var got []string
	for one := next(turns); one != nil; one = next(turns) {
		got = append(got, one.user)
		one.left = one.left[1:]
		one.spent += cost[one.user]
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "b", "b", "a", "a"}, got); diff != "" {
		t.Error(diff)
	}
}

// Where there was no time to look, that is told; a program without a warning is none that is in order.
func TestWhatWasNotLookedAtIsTold(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"opt/app/run": "", "usr/bin/open": ""})
	if err := os.Chmod(filepath.Join(root, "usr/bin/open"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := newSurvey(Parts{Root: root})
	programsOf(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.inspect(ctx)
	var files []string
	for _, u := range s.found().Unseen {
		files = append(files, u.Path)
		if !errors.Is(u.Err, context.Canceled) {
			t.Errorf("%+v", u)
		}
	}
	if diff := cmp.Diff([]string{"/etc/profile", "/etc/cron.d/m", "/mira", "/zoe"}, files); diff != "" || !s.entries[1].Programs[1].Writable {
		t.Errorf("%+v %s", s.entries[1].Programs, diff)
	}
}

// A path may lead through links with a thousand directories each: it is not followed to its end, and that is told.
func TestLongPathsAreNotFollowed(t *testing.T) {
	deep := strings.Repeat("/d", 90)
	root := testenv.Plant(t, map[string]string{deep[1:] + "/x": "", "etc/crontab": "* * * * * root " + deep + "/l0\n", "etc/cron.d/short": "* * * * * root " + deep + "/l7\n"})
	for i := range 10 {
		to := deep + "/x"
		if i < 9 {
			to = deep + "/l" + strconv.Itoa(i+1)
		}
		if err := os.Symlink(to, filepath.Join(root, deep, "l"+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	found := surveyed(t, root, nil)
	if len(found.Unseen) != 1 || found.Unseen[0].Path != "/etc/crontab" || !errors.Is(found.Unseen[0].Err, errSteps) {
		t.Errorf("%+v", found.Unseen)
	}
	for _, e := range found.Entries {
		if len(e.Programs) != 1 || e.Programs[0].Missing {
			t.Errorf("%+v", e)
		}
	}
}

// The variables of a table have every job run, or load, a file, and those of a job of at that job.
func TestVariablesOfJobsAreTold(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd":                           "root:x:0:0::/root:/bin/sh\n",
		"etc/crontab":                          "SHELL=/bin/sh\nLD_PRELOAD=/opt/a.so:/opt/b.so\n* * * * * root /usr/bin/true\n",
		"var/spool/cron/crontabs/root":         "SHELL=/tmp/evil\n* * * * * /usr/bin/true\n",
		"var/spool/cron/atjobs/a0000101b9d2a0": "#!/bin/sh\numask 22\nLD_PRELOAD=/opt/c.so; export LD_PRELOAD\nHOME=/root; export HOME\ncd /root || {\n\t exit 1\n}\n/opt/job\n",
	})
	got := map[string][]string{}
	for _, e := range surveyed(t, root, nil).Entries {
		for _, p := range e.Programs {
			got[e.Name] = append(got[e.Name], p.Path)
		}
	}
	want := map[string][]string{"crontab: LD_PRELOAD": {"/opt/a.so", "/opt/b.so"}, "crontab: true": {"/usr/bin/true"}, "root: SHELL": {"/tmp/evil"}, "root: true": {"/usr/bin/true"}, "a0000101b9d2a0": {"/opt/job", "/opt/c.so"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Where a program is without links is told beside its name.
func TestAProgramBehindALinkIsToldWithBoth(t *testing.T) {
	root := planted(t, map[string]string{
		"etc/passwd": "mira:x:1000:1000::/home/mira:/bin/sh\n", "home/mira/.bashrc": "/home/mira/x\n", "tmp/.evil": "",
	}, map[string]string{"home/mira/x": "/tmp/.evil"})
	var got []startup.Program
	for _, e := range surveyed(t, root, nil).Entries {
		got = append(got, e.Programs...)
	}
	if len(got) != 1 || got[0].Path != "/home/mira/x" || got[0].Real != "/tmp/.evil" {
		t.Errorf("%+v", got)
	}
}
