// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/health"
	"sentinel/internal/testenv"
)

// record is one of the kernel's log, so many hours after boot.
func record(sequence, hours int, text string) string {
	return fmt.Sprintf("3,%d,%d,-;%s\n", sequence, hours*3600*1e6, text)
}

const (
	boot    = "6,0,0,-;Linux version 6.1.0\n SUBSYSTEM=none\n"
	mysql   = "Out of memory: Killed process 812 (mysqld) total-vm:1833324kB, anon-rss:812004kB"
	java    = "Memory cgroup out of memory: Killed process 4021 (java) total-vm:4833324kB, anon-rss:512004kB"
	grouped = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/system.slice/web.service,task_memcg=/system.slice/web.service,task=java,pid=4021,uid=1000"
	old     = "Killed process 7 (perl) total-vm:9kB, anon-rss:1kB" // before Linux 5.0
)

// A kill is a reason for a day, not until the next boot. The machine was up for 100 hours.
func TestOOMKillsOfTheLastDay(t *testing.T) {
	for name, c := range map[string]struct {
		hours int
		total string
		log   string
		want  health.OOMKills
	}{
		"none":                   {100, "0", "", health.OOMKills{LastDay: new(uint64(0))}},
		"no log, up for a day":   {23, "3", "", health.OOMKills{SinceBoot: 3, LastDay: new(uint64(3)), Err: fs.ErrNotExist}},
		"no log":                 {100, "3", "", health.OOMKills{SinceBoot: 3, Err: fs.ErrNotExist}},
		"both long ago":          {100, "2", boot + record(5, 1, mysql) + record(9, 75, java), health.OOMKills{SinceBoot: 2, LastDay: new(uint64(0))}},
		"one of two":             {100, "2", boot + record(5, 1, mysql) + record(9, 77, java), health.OOMKills{SinceBoot: 2, LastDay: new(uint64(1)), Kills: []health.OOMKill{{Process: "java", Ago: 23 * time.Hour}}}},
		"newest first":           {100, "3", boot + record(5, 90, mysql) + record(9, 91, java) + record(10, 92, old), health.OOMKills{SinceBoot: 3, LastDay: new(uint64(3)), Kills: []health.OOMKill{{Process: "perl", Ago: 8 * time.Hour}, {Process: "java", Ago: 9 * time.Hour}, {Process: "mysqld", Ago: 10 * time.Hour}}}},
		"begins too late":        {100, "2", record(4000, 99, "usb 1-1: new device"), health.OOMKills{SinceBoot: 2, Err: errOverrun}},
		"begins late, tells one": {100, "2", record(4000, 98, "x") + record(4001, 99, java), health.OOMKills{SinceBoot: 2, LastDay: new(uint64(1)), More: errOverrun, Kills: []health.OOMKill{{Process: "java", Ago: 1 * time.Hour}}}},
		"begins early enough":    {100, "2", record(4000, 75, "x"), health.OOMKills{SinceBoot: 2, LastDay: new(uint64(0))}},
		"tells all of them":      {100, "1", record(4000, 98, "x") + record(4001, 99, java), health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{{Process: "java", Ago: 1 * time.Hour}}}},
		"with its unit":          {100, "1", boot + record(8, 98, grouped) + record(9, 98, java), health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{{Process: "java", Unit: "web.service", User: "1000", Ago: 2 * time.Hour}}}},
		"unit of another":        {100, "1", boot + record(8, 98, strings.Replace(grouped, "4021", "4022", 1)) + record(9, 98, java), health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{{Process: "java", Ago: 2 * time.Hour}}}},
		"unit by a program":      {100, "1", boot + "12,8,352800000000,-;" + grouped + "\n" + record(9, 98, java), health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{{Process: "java", Ago: 2 * time.Hour}}}},
		"hostile name":           {100, "1", boot + record(9, 99, "Out of memory: Killed process 5 (a) total-vm: (b) total-vm:9kB"), health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{{Process: "a) total-vm: (b", Ago: time.Hour}}}},
		"of a program":           {100, "1", boot + "12,9,356400000000,-;" + mysql + "\n", health.OOMKills{SinceBoot: 1, LastDay: new(uint64(0))}},
		"garbage":                {100, "1", "x\n;\n3,x,1,-;" + mysql + "\n3,1,99999999999999999999,-;" + mysql + "\n", health.OOMKills{SinceBoot: 1, Err: errOverrun}},
	} {
		files := map[string]string{"proc/uptime": fmt.Sprintf("%d.00 1.00\n", c.hours*3600), "proc/vmstat": "oom_kill " + c.total + "\nx 1\n"}
		if c.log != "" {
			files["dev/kmsg"] = c.log
		}
		root := testenv.Plant(t, files)
		got, err := newSource(root, nil).oomKills(t.Context())
		if diff := cmp.Diff(c.want, got, cmpopts.EquateErrors(), cmpopts.IgnoreFields(health.OOMKill{}, "At")); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// The clock of the kernel's log stands still in a suspend: how long ago a kill was before one is not known.
func TestKillsBeforeASuspendHaveNoMoment(t *testing.T) {
	const hour = time.Hour
	exit := func(hours int) string { return record(7, hours, "PM: suspend exit") }
	kill := func(at, ago, slept time.Duration) health.OOMKill {
		return health.OOMKill{Process: "java", At: at, Ago: ago, Slept: slept}
	}
	for name, c := range map[string]struct {
		log   string
		slept time.Duration
		want  health.OOMKills
	}{
		"never suspended":           {boot + record(8, 95, java), 0, health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{kill(95*hour, 5*hour, 0)}}},
		"two readings of a clock":   {boot + record(8, 95, java), 20 * time.Millisecond, health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{kill(95*hour, 5*hour, 0)}}},
		"after the suspend":         {boot + exit(94) + record(8, 95, java), 40 * hour, health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{kill(95*hour, 5*hour, 0)}}},
		"before it, within a day":   {boot + record(6, 95, java) + exit(96), 8 * hour, health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), Kills: []health.OOMKill{kill(95*hour, 5*hour, 8*hour)}}},
		"before it, and how long":   {boot + record(6, 95, java) + exit(96), 40 * hour, health.OOMKills{SinceBoot: 1, Err: errSlept, Kills: []health.OOMKill{kill(95*hour, 5*hour, 40*hour)}}},
		"the log does not tell":     {record(4000, 94, "x") + record(4001, 95, java), 40 * hour, health.OOMKills{SinceBoot: 1, Err: errSlept, Kills: []health.OOMKill{kill(95*hour, 5*hour, 40*hour)}}},
		"one on either side of it":  {boot + record(6, 95, java) + exit(96) + record(8, 97, java), 40 * hour, health.OOMKills{SinceBoot: 1, LastDay: new(uint64(1)), More: errSlept, Kills: []health.OOMKill{kill(97*hour, 3*hour, 0), kill(95*hour, 5*hour, 40*hour)}}},
		"more than a day in waking": {boot + record(6, 70, java) + exit(96), 40 * hour, health.OOMKills{SinceBoot: 1, LastDay: new(uint64(0))}},
	} {
		log, err := parseKernelLog(strings.NewReader(c.log))
		if err != nil {
			t.Fatal(err)
		}
		got := health.OOMKills{SinceBoot: 1}
		log.tell(100*hour, c.slept, &got, func(k oomKill) health.OOMKill { return health.OOMKill{Process: k.name} })
		if diff := cmp.Diff(c.want, got, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A user chooses names in the path of a control group, and that of the process. What the kernel says of the
// user ends the line of the kill.
func TestAUserDoesNotChooseTheUnitOfAKill(t *testing.T) {
	const (
		own     = "/user.slice/user-1500.slice/user@1500.service"
		start   = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0"
		mysqld  = ",task_memcg=/system.slice/mysql.service"
		session = "/user.slice/user-1500.slice/session-3.scope"
	)
	limited := func(full, group string) string { return start + ",oom_memcg=" + full + ",task_memcg=" + group }
	for name, c := range map[string]struct {
		summary, unit, task string
		said, uid           int // by the summary, and by the line of the kill
	}{
		"of a service":               {limited("/system.slice/mysql.service", "/system.slice/mysql.service"), "mysql.service", "mysqld", 110, 110},
		"of a service of an account": {limited("/system.slice/web.service", "/system.slice/web.service/main"), "web.service", "java", 1001, 1001},
		"of the whole machine":       {start + ",global_oom" + mysqld, "mysql.service", "mysqld", 110, 110},
		"in a slice that was full":   {limited("/user.slice/user-1500.slice", session), "session-3.scope", "vi", 1500, 1500},
		"of a user's own unit":       {limited(own+"/app.slice", own+"/app.slice/mysql.service"), "user@1500.service/mysql.service", "mysqld", 1500, 1500},
		"of their subordinate ID":    {limited(own, own+"/box.scope"), "user@1500.service/box.scope", "sh", 200005, 200005},
		"root's in it":               {limited(own, own+"/mysql.service"), "", "mysqld", 0, 0},
		"in the group that was full": {limited(own+"/a"+mysqld+",task=x", own+"/a"+mysqld+",task=x"), "", "mysqld", 1500, 1500},
		"the same, root's":           {limited(own+"/a"+mysqld+",task=x", own+"/a"+mysqld+",task=x"), "", "sudo", 0, 0},
		"in that of the process":     {limited(own, own+"/a,task=mysqld,pid=812,uid=110"), "", "mysqld", 1500, 1500},
		"in the name of the process": {limited("/system.slice/web.service", "/system.slice/web.service"), "", "x,task=y", 1001, 1001},
		"cut off by another message": {start + ",oom_memcg=" + own + "/a" + mysqld, "", "mysqld", 0, 0},
		"another user":               {limited("/system.slice/mysql.service", "/system.slice/mysql.service"), "", "mysqld", 110, 1500},
		"without a group":            {start + ",global_oom", "", "mysqld", 110, 110},
	} {
		root := testenv.Plant(t, map[string]string{
			"proc/uptime": "3600.00 1.00\n", "proc/vmstat": "oom_kill 1\nx 1\n", "etc/passwd": "root:x:0:0::/:/bin/sh\nbob:x:1500:1500::/:/bin/sh\n", "etc/subuid": "bob:200000:65536\n",
			"dev/kmsg": boot + record(7, 0, strings.Replace(grouped, "4021", "812", 1)) + record(8, 0, fmt.Sprintf("%s,task=%s,pid=812,uid=%d", c.summary, c.task, c.said)) +
				record(9, 0, fmt.Sprintf("Memory cgroup out of memory: Killed process 812 (%s) total-vm:9kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:%d pgtables:9kB oom_score_adj:0", c.task, c.uid)),
		})
		got, err := newSource(root, nil).oomKills(t.Context())
		user, named := map[int]string{0: "root", 1500: "bob"}[c.uid]
		if !named {
			user = strconv.Itoa(c.uid)
		}
		want := []health.OOMKill{{Process: c.task, Unit: c.unit, User: user, Ago: time.Hour}}
		if diff := cmp.Diff(want, got.Kills, cmpopts.IgnoreFields(health.OOMKill{}, "At")); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// What does not fit into a record is one of its own, which begins where the kernel was: with a name that a user
// chose, for example.
func TestTheRestOfARecordIsNoKill(t *testing.T) {
	rest := strings.Replace(record(9, 98, java), ",-;", ",c;", 1)
	if got, err := parseKernelLog(strings.NewReader(boot + rest)); err != nil || got.kills != nil {
		t.Errorf("%+v, %v", got.kills, err)
	}
}

// A host that kills often has a long log, and may have many accounts.
func TestALongLogTakesLittleMemory(t *testing.T) {
	const most = 1 << 20
	long := boot + strings.Repeat("6,7,356400000000,-;"+strings.Repeat("x", 8000)+"\n", 1000)
	if took := allocated(func() { parseKernelLog(strings.NewReader(long)) }); took > most {
		t.Errorf("%d bytes for a log of %d", took, len(long))
	}
	const kills = 500
	root := testenv.Plant(t, map[string]string{
		"proc/vmstat": fmt.Sprintf("oom_kill %d\n", kills), "proc/uptime": "36000.00 1.00\n",
		"dev/kmsg":   boot + strings.Repeat(record(9, 9, java+", UID:1000"), kills),
		"etc/passwd": strings.Repeat("someone:x:1000:1000::/home/someone:/bin/sh\n", 1000),
	})
	took := allocated(func() {
		if got, err := newSource(root, nil).oomKills(t.Context()); err != nil || len(got.Kills) != kills {
			t.Error(got, err)
		}
	})
	if took > 2*most {
		t.Errorf("%d bytes for %d kills", took, kills)
	}
}

// allocated returns how many bytes a function takes, whether it gives them back or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Those of a container are counted, and when they were killed is not known.
func TestOOMKillsOfAContainer(t *testing.T) {
	for events, want := range map[string]health.OOMKills{
		"oom 1\noom_kill 0\n": {LastDay: new(uint64(0))},
		"oom 1\noom_kill 2\n": {SinceBoot: 2, Err: errNoMoment},
	} {
		root := testenv.Plant(t, map[string]string{
			".dockerenv": "", "sys/fs/cgroup/cgroup.controllers": "memory\n", "sys/fs/cgroup/cgroup.events": "populated 1\n", "sys/fs/cgroup/memory.events": events,
			"proc/vmstat": "oom_kill 17\nx 1\n", "dev/kmsg": boot + record(1, 1, mysql), "proc/uptime": "7200.00 1.00\n",
		})
		got, err := newSource(root, nil).oomKills(t.Context())
		if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", events, err, diff)
		}
	}
}

// The log of this machine is read to its end, in any state.
func TestTheKernelsOwnLogIsRead(t *testing.T) {
	log, err := readKernelLog("/dev/kmsg")
	testenv.Need(t, err == nil, fmt.Sprintf("the kernel's log: %v", err))
	if log.first < 0 {
		t.Error("it has no record")
	}
	if !slices.IsSortedFunc(log.kills, func(a, b oomKill) int { return int(a.at - b.at) }) {
		t.Errorf("%+v", log.kills)
	}
}

func FuzzKernelLog(f *testing.F) {
	f.Add([]byte(boot + record(5, 1, mysql) + record(6, 2, java) + record(7, 3, old)))
	f.Fuzz(func(t *testing.T, b []byte) {
		log, err := parseKernelLog(bytes.NewReader(b))
		if err != nil && (!errors.Is(err, bufio.ErrBufferFull) || len(b) < longestRecord) {
			t.Error(err)
		}
		for _, k := range log.kills {
			if k.at < 0 || strings.Contains(k.name, "\n") || !strings.Contains(string(b), k.name) {
				t.Errorf("%+v", k)
			}
		}
	})
}
