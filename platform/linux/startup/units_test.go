// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
	"sentinel/internal/userdb"
	"sentinel/platform/linux/unitfile"
)

// planted is a machine of files and links.
func planted(t *testing.T, files, links map[string]string) string {
	t.Helper()
	root := testenv.Plant(t, files)
	for name, to := range links {
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// unitPrograms are the programs of the entries of a machine with one user, by name.
func unitPrograms(t *testing.T, files, links map[string]string) map[string]string {
	t.Helper()
	files["etc/passwd"] = "mira:x:" + strconv.Itoa(os.Geteuid()+1) + ":1000::/home/mira:/bin/sh\n"
	root := planted(t, files, links)
	got := map[string]string{}
	for _, e := range surveyed(t, root, nil).Entries {
		var programs []string
		for _, p := range e.Programs {
			programs = append(programs, p.Path)
		}
		got[e.Name] = strings.Join(programs, " ")
	}
	return got
}

// What a unit runs is not hidden behind another that its text names.
func TestUnitsOfAUserTellWhatTheyRun(t *testing.T) {
	got := map[string]string{}
	for name, text := range map[string]string{
		"harmless.service":      "[Service]\nExecStart=/usr/bin/true\n",
		"job@.service":          "[Service]\nExecStart=/opt/job\n",
		"con@.service":          "[Service]\nExecStart=/opt/con\n",
		"con.service":           "[Service]\nExecStart=/usr/bin/true\n",
		"service.d/all.conf":    "[Service]\nExecStartPre=/opt/all\n",
		"a.service.d/x.conf":    "[Service]\nExecStartPre=/opt/x\n[X-a]\nUnit=harmless.service\n",
		"a.service.d/seen.conf": "[Service]\nExecStartPre=/opt/seen\n",
		"a.timer":               "[Timer]\nOnCalendar=daily\nUnit=job@1.service\n[X-a]\nUnit=harmless.service\n",
		"b.timer":               "[Timer]\nOnCalendar=daily\nUnit=seen.conf\n",
		"s.socket":              "[Socket]\nListenStream=1\nExecStartPre=/opt/pre\nExecStopPost=/opt/post\nService=harmless.service\n",
		"con.socket":            "[Socket]\nListenStream=2\nAccept=yes\n",
	} {
		got["home/mira/.config/systemd/user/"+name] = text
	}
	want := map[string]string{
		"harmless.service": "/usr/bin/true", "job@.service": "/opt/job", "con@.service": "/opt/con", "con.service": "/usr/bin/true", "service: all.conf": "/opt/all",
		"a.service: x.conf": "/opt/x", "a.service: seen.conf": "/opt/seen", "a.timer": "/opt/job", "b.timer": "", "s.socket": "/opt/pre /opt/post /usr/bin/true", "con.socket": "/opt/con",
	}
	if diff := cmp.Diff(want, unitPrograms(t, got, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestSocketsOfTheSystemTellTheirOwnPrograms(t *testing.T) {
	got := unitPrograms(t, map[string]string{
		"etc/systemd/system/s.socket":         "[Socket]\nListenStream=1\nExecStartPre=/opt/pre\nService=harmless.service\n",
		"usr/lib/systemd/system/con.socket":   "[Socket]\nListenStream=2\nAccept=yes\n",
		"usr/lib/systemd/system/con@.service": "[Service]\nExecStart=/opt/con\n",
		"usr/lib/systemd/system/con.service":  "[Service]\nExecStart=/usr/bin/true\n",
		"lib/systemd/system/harmless.service": "[Service]\nExecStart=/usr/bin/true\n",
		"etc/systemd/system/service.d/x.conf": "[Service]\nExecStartPre=/opt/all\n",
	}, map[string]string{"etc/systemd/system/sockets.target.wants/con.socket": "/usr/lib/systemd/system/con.socket"})
	want := map[string]string{"s.socket": "/opt/pre /usr/bin/true", "con.socket": "/opt/con", "con@.service": "/opt/con", "harmless.service": "/usr/bin/true", "service: x.conf": "/opt/all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The program of the system that a unit runs loads what its variables say.
func TestUnitsTellWhatTheirVariablesMakeThemLoad(t *testing.T) {
	got := unitPrograms(t, map[string]string{
		"etc/systemd/system/mnt.mount":              "[Mount]\nWhat=/dev/sda1\nWhere=/mnt\nEnvironment=LD_PRELOAD=/opt/mount.so\n",
		"etc/systemd/system/srv.mount":              "[Mount]\nWhat=/dev/sda2\nWhere=/srv\n",
		"etc/systemd/system/dev-sdb.swap":           "[Swap]\nWhat=/dev/sdb\nEnvironmentFile=-/etc/default/swap\n",
		"etc/systemd/system/web.service":            "[Service]\nExecStart=/usr/bin/web\nEnvironmentFile=/etc/old\nEnvironmentFile=\nEnvironmentFile=/etc/default/web*\nEnvironmentFile=/etc/none\n",
		"etc/systemd/system/srv.mount.d/extra.conf": "[Mount]\nEnvironment=\"LD_AUDIT=/opt/audit.so\"\n",
		"etc/systemd/system/glob.service":           "[Service]\nExecStart=/usr/bin/glob\nEnvironmentFile=/etc/glob/[!a]*\n",
		"etc/systemd/system/far.service":            "[Service]\nExecStart=/usr/bin/far\nEnvironmentFile=/etc/d*/swap\n",
		"etc/glob/a":                                "LD_PRELOAD=/opt/not.so\n",
		"etc/glob/evil":                             "LD_PRELOAD=/opt/evil.so\n",
		"etc/old":                                   "LD_PRELOAD=/opt/old.so\n",
		"etc/default/swap":                          "#LD_PRELOAD=/opt/not.so\nLD_PRELOAD=\"/opt/swap.so\"\n",
		"etc/default/web":                           "OPTIONS=-a /opt/no\n",
		"etc/default/web-local":                     " LD_PRELOAD=/opt/web.so:/opt/two.so\n",
	}, nil)
	want := map[string]string{
		"mnt.mount": "/opt/mount.so", "dev-sdb.swap": "/opt/swap.so", "web.service": "/usr/bin/web /opt/web.so /opt/two.so", "srv.mount": "/opt/audit.so", "srv.mount: extra.conf": "/opt/audit.so",
		"glob.service": "/usr/bin/glob /opt/evil.so", "far.service": "/usr/bin/far",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What an enabled unit, a drop-in or a rule of udev has started is told, in the folder of a vendor too.
func TestUnitsThatAreWantedAreTold(t *testing.T) {
	got := unitPrograms(t, map[string]string{
		"etc/systemd/system/a.service":                 "[Unit]\nWants=b.service none.service gone.service\n[Service]\nExecStart=/opt/a\n",
		"usr/lib/systemd/system/b.service":             "[Unit]\nRequires=c@x.service a.service\n[Service]\nExecStart=/opt/b\n",
		"usr/lib/systemd/system/c@.service":            "[Service]\nExecStart=/opt/c\n",
		"usr/lib/systemd/system/d.service":             "[Service]\nExecStart=/opt/d\n",
		"usr/lib/systemd/system/e.service":             "[Service]\nExecStart=/opt/e\n",
		"usr/lib/systemd/system/idle.service":          "[Service]\nExecStart=/opt/idle\n",
		"etc/systemd/system/idle.service.d/wants.conf": "[Unit]\nWants=d.service\n",
		"etc/udev/rules.d/99-x.rules":                  "ACTION==\"add\", TAG+=\"systemd\", ENV{SYSTEMD_WANTS}+=\"e.service\"\n",
	}, map[string]string{"etc/systemd/system/gone.service": "/dev/null"})
	want := map[string]string{"a.service": "/opt/a", "b.service": "/opt/b", "c@x.service": "/opt/c", "d.service": "/opt/d", "e.service": "/opt/e", "idle.service: wants.conf": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Thousands of timers may name one large file.
func TestAUnitIsParsedOnce(t *testing.T) {
	s, m := newSurvey(Parts{}), newManager(mira)
	for _, text := range []string{"[Service]\nExecStart=/opt/a\n", "[Service]\nExecStart=/opt/b\n"} {
		u := s.parse(m, "x.service", file{name: "/x.service", raw: []byte(text)})
		if diff := cmp.Diff([]string{"/opt/a"}, ranBy(t, u)); diff != "" {
			t.Error(diff)
		}
	}
}

// A unit that thousands of timers name is looked at for its programs once.
func TestTheProgramsOfAUnitAreFoundOnce(t *testing.T) {
	s, m := newSurvey(Parts{}), newManager(mira)
	f := file{name: "/x.service", raw: []byte("[Service]\nExecStart=/opt/a\n")}
	for range 2 {
		if diff := cmp.Diff([]string{"/opt/a"}, s.programsOf(m, "x.service", f)); diff != "" {
			t.Error(diff)
		}
		m.parsed[f.name] = unit{} // of which nothing is asked any more
	}
	var many strings.Builder
	for i := range maxPrograms + 2 {
		fmt.Fprintf(&many, "ExecStart=/opt/p%d\n", i)
	}
	if got := s.programsOf(m, "y.service", file{name: "/y.service", raw: []byte("[Service]\n" + many.String())}); len(got) != maxPrograms+1 {
		t.Errorf("%d programs", len(got))
	}
}

// Lines are put together in the memory of their length.
func TestLinesAreJoinedInTheMemoryOfTheirLength(t *testing.T) {
	const lines = 1 << 14
	for _, c := range []struct {
		text, want string
		parse      func(text string) string
	}{
		{"[S]\na=b" + strings.Repeat("\\\n", lines) + "c\n", "b" + strings.Repeat(" ", lines) + "c", func(text string) (joined string) {
			unitfile.Settings(text, func(_, _, value string) { joined = value })
			return joined
		}},
		{"prerotate\n" + strings.Repeat("#x\n", lines) + "endscript\n", "prerotate\n" + strings.Repeat("#x\n", lines), func(text string) string { return logrotateScripts(text, readerOf(text))[0].content }},
		{"service a\n" + strings.Repeat("server=b\n", lines), "service a" + strings.Repeat("\nserver=b", lines), func(text string) string { return xinetdServices(text, readerOf(text))[0].content }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := c.parse(c.text)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; got != c.want || took > 500*lines {
			t.Errorf("%.10q: %d bytes with %d bytes of memory", c.text, len(got), took)
		}
	}
}

// A link to a file that is in no directory of units is a unit, whatever the file is called.
func TestALinkedUnitIsNoAlias(t *testing.T) {
	files := map[string]string{
		"opt/x/payload.service":               "[Service]\nExecStart=/opt/x/run\n",
		"opt/x/tick.unit":                     "[Timer]\nOnCalendar=daily\nUnit=backup.service\n",
		"opt/x/mine.service":                  "[Service]\nExecStart=/opt/x/user\n",
		"usr/lib/systemd/system/real.service": "[Service]\nExecStart=/usr/bin/real\n",
		"usr/lib/systemd/user/own.service":    "[Service]\nExecStart=/usr/bin/own\n",
		"srv/units/kept.service":              "[Service]\nExecStart=/srv/kept\n",
	}
	links := map[string]string{
		"etc/systemd/system/backup.service":                         "/opt/x/payload.service",
		"etc/systemd/system/multi-user.target.wants/backup.service": "/etc/systemd/system/backup.service",
		"etc/systemd/system/tick.timer":                             "../../../opt/x/tick.unit",
		"etc/systemd/user/shell.service":                            "/opt/x/mine.service",
		"etc/systemd/system/alias.service":                          "/lib/systemd/system/real.service",
		"etc/systemd/system/masked.service":                         "../../../dev/null",
		"etc/systemd/system/gone.service":                           "/mnt/later.service",
		"etc/systemd/system/removed.service":                        "/usr/lib/systemd/system/removed.service",
		"etc/systemd/system/multi-user.target.wants/none.service":   "/usr/lib/systemd/system/none.service",
		"lib": "usr/lib",
	}
	want := map[string]string{"backup.service": "/opt/x/run", "tick.timer": "/opt/x/run", "shell.service": "/opt/x/user", "real.service": "/usr/bin/real"}
	if diff := cmp.Diff(want, unitPrograms(t, files, links)); diff != "" {
		t.Error(diff)
	}
	unread := map[string]string{}
	for _, u := range surveyed(t, planted(t, files, links), nil).Unread {
		unread[u.Path] = u.Err.Error()
	}
	if diff := cmp.Diff(map[string]string{"/etc/systemd/system/gone.service": "the file that it links to is not there"}, unread); diff != "" {
		t.Error(diff)
	}
}

// What takes too long to parse is said to be unread, of each place of its user, and costs nobody else anything:
// the smallest come first.
func TestParsingCostsItsOwnUser(t *testing.T) {
	const unit = ".config/systemd/user/a.service"
	plant := func(uid int, place string, dirs []homeDir, names ...string) *home {
		h := &home{user: userdb.User{Name: path.Base(place), UID: uid, Home: place}, place: place, dirs: dirs, files: map[string]file{}}
		for _, name := range names {
			h.files[name] = file{name: path.Join(place, name), raw: []byte("[Service]\nExecStart=/opt/a\n"), place: place}
		}
		return h
	}
	read := func() []*home {
		return []*home{
			plant(1001, "/home/eve", homeDirs, ".bashrc", ".profile", ".forward", ".ssh/authorized_keys", ".config/autostart/a.desktop", unit), plant(1001, "/run/user/1001", runtimeDirs, "systemd/user/b.service"),
			plant(1000, "/home/ann", homeDirs, ".bashrc", unit),
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx    context.Context
		files  []string
		unread []string
	}{
		{ended, nil, []string{"/home/ann", "/home/eve", "/run/user/1001"}},
		{t.Context(), []string{"/home/ann/.bashrc", "/home/ann/" + unit, "/home/eve/.bashrc", "/home/eve/.profile", "/home/eve/.config/autostart/a.desktop", "/home/eve/" + unit, "/run/user/1001/systemd/user/b.service"}, nil},
	} {
		s := newSurvey(Parts{Root: t.TempDir()})
		s.parseHomes(c.ctx, read(), []string{"%h/.ssh/authorized_keys"})
		s.join()
		var files, unread []string
		for _, e := range s.entries {
			files = append(files, e.File)
		}
		for _, u := range s.unread {
			unread = append(unread, u.Path)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(c.files)), slices.Sorted(slices.Values(files))); diff != "" || !slices.Equal(unread, c.unread) {
			t.Errorf("%s, unread %q", diff, s.unread)
		}
	}
}

// A pattern that is not followed is not one that stands for nothing.
func TestFilesOfVariablesThatAreNotFollowedAreTold(t *testing.T) {
	for pattern, want := range map[string][]string{"/etc/d*/swap": {"/etc/systemd/system/a.service"}, "/etc/default/swap": nil, "/etc/default/*": nil} {
		var unseen []string
		for _, u := range surveyed(t, testenv.Plant(t, map[string]string{"etc/systemd/system/a.service": "[Service]\nExecStart=/usr/bin/a\nEnvironmentFile=" + pattern + "\n"}), nil).Unseen {
			unseen = append(unseen, u.Path)
		}
		if diff := cmp.Diff(want, unseen); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}

// What a call on a bus starts is the unit, which tells its programs, also where settings name the folder.
func TestServicesOfTheBusTellTheProgramsOfTheirUnits(t *testing.T) {
	const unit, call = "[Service]\nExecStart=", "[D-BUS Service]\nName=x\nExec=/bin/false\nSystemdService="
	got := unitPrograms(t, map[string]string{
		"usr/share/dbus-1/system-services/org.a.service": call + "dbus-org.a.service\n", "usr/lib/systemd/system/a.service": "[Unit]\nWants=more.service\n" + unit + "/opt/a\n", "usr/lib/systemd/system/more.service": unit + "/opt/more\n",
		"usr/share/dbus-1/services/org.b.service": call + "b.service\n", "usr/lib/systemd/user/b.service": unit + "/opt/b\n",
		"usr/share/dbus-1/system.conf":            "<!DOCTYPE busconfig PUBLIC \"x\" \"y\">\n<busconfig><standard_system_servicedirs/><!-- <servicedir>/opt/no</servicedir> --><servicedir>/opt/&#98;us</servicedir></busconfig>",
		"usr/share/dbus-1/system.d/not.txt":       "<busconfig><servicedir>/opt/no</servicedir></busconfig>",
		"etc/dbus-1/session.d/c.conf":             "<busconfig><include ignore_missing=\"yes\">more/d.conf</include><servicedir>mine</servicedir></busconfig>",
		"etc/dbus-1/session.d/more/d.conf":        "<busconfig><includedir>/opt/inc</includedir></busconfig>",
		"opt/inc/e.conf":                          "<busconfig><servicedir>\n<!-- a -->/opt/ses<!-- b --><![CDATA[si]]>on</servicedir><servicedir> </servicedir></busconfig>",
		"opt/inc/org.g.service":                   "[D-BUS Service]\nName=x\nExec=/opt/no\n",
		"opt/bus/org.c.service":                   "[D-BUS Service]\nName=x\nExec=/opt/c\n",
		"etc/dbus-1/session.d/mine/org.d.service": "[D-BUS Service]\nName=x\nExec=/opt/d\n",
		"opt/session/org.e.service":               "[D-BUS Service]\nName=x\nExec=/opt/e\n",
		"opt/no/org.f.service":                    "[D-BUS Service]\nName=x\nExec=/opt/f\n",
	}, map[string]string{"usr/lib/systemd/system/dbus-org.a.service": "a.service"})
	want := map[string]string{"org.a": "/opt/a", "a.service": "/opt/a", "more.service": "/opt/more", "org.b": "/opt/b", "b.service": "/opt/b", "org.c": "/opt/c", "org.d": "/opt/d", "org.e": "/opt/e"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Settings of a bus that cannot be read may name further folders.
func TestSettingsOfTheBusThatCannotBeReadAreTold(t *testing.T) {
	for _, text := range []string{"<busconfig><servicedir>/opt", "\xff\xfe<\x00"} {
		unread := surveyed(t, testenv.Plant(t, map[string]string{"etc/passwd": "", "etc/dbus-1/system.conf": text}), nil).Unread
		if len(unread) != 1 || unread[0].Path != "/etc/dbus-1/system.conf" {
			t.Errorf("%q: %v", text, unread)
		}
	}
	files := map[string]string{"etc/passwd": ""}
	for i := range maxNames/2 + 1 {
		files[fmt.Sprintf("etc/dbus-1/system.d/%d.conf", i)], files[fmt.Sprintf("usr/share/dbus-1/system.d/%d.conf", i)] = "", ""
	}
	s := newSurvey(Parts{Root: testenv.Plant(t, files)})
	s.ctx = t.Context()
	s.busFolders(systemBus)
	if len(s.unread) != 1 || !errors.Is(s.unread[0].Err, startup.ErrTooMany) {
		t.Errorf("%v", s.unread)
	}
}

// A service of a bus is told once, and as off where nothing is run: its unit is not there, and no program of its own.
func TestServicesOfTheBusSayWhetherTheyStart(t *testing.T) {
	const call = "[D-BUS Service]\nName=x\nUser=root\nExec="
	root := planted(t, map[string]string{
		"usr/share/dbus-1/system-services/org.a.service": call + "/bin/false\n",
		"usr/share/dbus-1/system-services/org.b.service": call + "/bin/false\nSystemdService=gone.service\n",
		"usr/share/dbus-1/system-services/org.c.service": call + "/opt/c\nSystemdService=gone.service\n",
		"usr/share/dbus-1/services/org.d.service":        call + "/bin/false\nSystemdService=of-a-home.service\n",
	}, map[string]string{"usr/share/dbus-1/services/org.a.service": "../system-services/org.a.service", "usr/share/dbus-1/services/org.b.service": "../system-services/org.b.service"})
	told := map[string]int{}
	for _, e := range surveyed(t, root, nil).Entries {
		told[fmt.Sprint(e.Name, " ", *e.Enabled)]++
	}
	if diff := cmp.Diff(map[string]int{"org.a true": 1, "org.b false": 1, "org.b true": 1, "org.c true": 1, "org.d true": 1}, told); diff != "" {
		t.Error(diff)
	}
}

// mount(8) gives a mount to a program for its type, if there is one.
func TestMountsTellThePrograms(t *testing.T) {
	got := unitPrograms(t, map[string]string{
		"usr/sbin/mount.evil": "", "usr/sbin/mount.fuse": "", "usr/sbin/mount.old": "", "usr/sbin/fs.d/mount.deep": "",
		"etc/systemd/system/a.mount": "[Mount]\nWhat=x\nWhere=/a\nType=evil\n", "etc/systemd/system/b.mount": "[Mount]\nWhat=x\nWhere=/b\nType=ext4\n[X-a]\nType=evil\n",
		"usr/lib/systemd/system/c.mount": "[Mount]\nWhat=x\nWhere=/c\n", "etc/systemd/system/c.mount.d/x.conf": "[Mount]\nType=deep\n",
		"run/systemd/generator/d.mount": "[Unit]\nSourcePath=/etc/fstab\n[Mount]\nWhat=x\nWhere=/d\nType=evil\n", "etc/systemd/system/e.mount": "[Unit]\nSourcePath=/etc/fstab\n[Mount]\nType=evil\n",
		"etc/systemd/system/a.service": "[Service]\nType=evil\nExecStart=/opt/a\n",
		"etc/fstab":                    "#x /no evil\n/dev/sda / ext4 defaults 0 1\nx /d ev\\151l nofail 0 0\nx /sub old.x noauto\nx /two ext4,deep\nx /f fuse./opt/f\n/opt/g#x /g fuse noauto,x-systemd.automount\nsshfs#x /h fuse.x\nx /up ../sbin/evil\n",
	}, map[string]string{"sbin": "usr/sbin"})
	want := map[string]string{
		"a.mount": "/sbin/mount.evil", "c.mount": "/sbin/fs.d/mount.deep", "c.mount: x.conf": "/sbin/fs.d/mount.deep", "e.mount": "/sbin/mount.evil", "a.service": "/opt/a",
		"/d": "/sbin/mount.evil", "/sub": "/sbin/mount.old", "/two": "/sbin/fs.d/mount.deep", "/f": "/sbin/mount.fuse /opt/f", "/g": "/sbin/mount.fuse /opt/g", "/h": "/sbin/mount.fuse x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if on := enabled(t, testenv.Plant(t, map[string]string{"sbin/mount.x": "", "etc/fstab": "x /a x noauto\nx /b x noauto,x-systemd.automount\nx /c x\n"})); !cmp.Equal(on, map[string]bool{"/a": false, "/b": true, "/c": true}) {
		t.Errorf("%v", on)
	}
}

// Rules of udev have units started by properties, which may come from a file; where their names are not known, that is told.
func TestUnitsThatRulesOfUdevStartAreTold(t *testing.T) {
	const service = "[Service]\nExecStart=/opt/x\n"
	files := map[string]string{
		"etc/passwd":                  "",
		"etc/udev/rules.d/10-a.rules": "ENV{SYSTEMD_WANTS}+=\"a.service b@x:$name.service e@$env{X.y}.timer\", ENV{SYSTEMD_USER_WANTS}=e\"c\\x2eservice\"\nIMPORT{file}=\"/opt/props\"\n",
		"opt/props":                   "SYSTEMD_WANTS='d.service'\nX=$y\n",
	}
	for _, name := range []string{"system/a", "system/b@", "user/c", "system/d", "system/idle", "user/idle"} {
		files["usr/lib/systemd/"+name+".service"] = service
	}
	files["usr/lib/systemd/system/e@.timer"] = "[Timer]\nOnCalendar=daily\nUnit=b@%i.service\n"
	root := testenv.Plant(t, files)
	want := map[string]bool{"a.service": true, "b@.service": true, "e@.timer": true, "c.service": true, "d.service": true}
	if diff := cmp.Diff(want, enabled(t, root)); diff != "" || len(surveyed(t, root, nil).Unseen) != 0 {
		t.Errorf("%s, %v", diff, surveyed(t, root, nil).Unseen)
	}
	for _, rule := range []string{`ENV{SYSTEMD_WANTS}="$env{X}"`, `ENV{SYSTEMD_USER_WANTS}+="%k.service"`, `ENV{SYSTEMD_WANTS}="a@$env{X.y}"`, `IMPORT{file}="/run/$name"`, `IMPORT{file}="/opt/props"`} {
		unseen := surveyed(t, testenv.Plant(t, map[string]string{"etc/udev/rules.d/x.rules": rule + "\n", "opt/props": "SYSTEMD_WANTS=$x.service\n"}), nil).Unseen
		if len(unseen) != 1 || !errors.Is(unseen[0].Err, errUdevWants) {
			t.Errorf("%s: %v", rule, unseen)
		}
	}
}

// A unit may see other files than the system has: those are told.
func TestUnitsTellTheFilesThatTheyRun(t *testing.T) {
	for settings, want := range map[string]string{
		"BindReadOnlyPaths=/tmp/evil:/usr/bin/true":                                                      "/tmp/evil",
		"BindPaths=-/tmp/bin:/usr/bin:rbind /srv/data:/srv/other /run/x":                                 "/tmp/bin/true /tmp/bin",
		"BindPaths=/tmp/bin:/usr/bin\nBindReadOnlyPaths=/opt/true:/usr/bin/true":                         "/opt/true /tmp/bin",
		"BindPaths=/tmp/bin:/usr/bin\nBindReadOnlyPaths=\nBindPaths=/usr:/usr":                           "/usr/bin/true",
		"BindPaths=/tmp/bin:/usr/b":                                                                      "/usr/bin/true /tmp/bin",
		"BindPaths=\"/tmp/a b:/usr/lib/x.so\"":                                                           "/usr/bin/true /tmp/a b",
		"BindPaths=%T/all:/":                                                                             "/tmp/all/usr/bin/true",
		"RootDirectory=/srv/root":                                                                        "/srv/root/usr/bin/true",
		"RootDirectory=-%T/root\nBindPaths=/opt/own:/usr/bin":                                            "/opt/own/true /opt/own",
		"ExtensionDirectories=/srv/e\nMountImages=/srv/m\nExtensionDirectories=\nExtensionImages=/srv/i": "/usr/bin/true /srv/m /srv/i",
		"RootDirectory=/":      "/usr/bin/true",
		"RootImage=/srv/x.raw": "/srv/x.raw",
		"ExtensionImages=-/srv/e.raw:root:noexec\nMountImages=/srv/m.raw:/opt": "/usr/bin/true /srv/m.raw /srv/e.raw",
		"ExtensionDirectories=/srv/e":                                          "/usr/bin/true /srv/e",
		"Environment=LD_PRELOAD=/opt/x.so\nRootDirectory=/srv/root":            "/srv/root/usr/bin/true /srv/root/opt/x.so",
		"EnvironmentFile=/etc/%N.env\nRootDirectory=/srv/root":                 "/srv/root/usr/bin/true /srv/root/opt/%N.so",
		"[X-a]\nRootDirectory=/srv/root":                                       "/usr/bin/true",
	} {
		got := unitPrograms(t, map[string]string{"etc/systemd/system/a.service": "[Service]\nExecStart=/usr/bin/true\n" + settings + "\n", "etc/a.env": "LD_PRELOAD=/opt/%N.so\n"}, nil)["a.service"]
		if got != want {
			t.Errorf("%q: %s, want %s", settings, got, want)
		}
	}
	for settings, want := range map[string]error{"RootImage=/srv/x.raw": errImage, "EnvironmentFile=/etc/%H": errPattern, "EnvironmentFile=-/etc/%i": nil, "RootDirectory=/srv/root": nil} {
		unseen := surveyed(t, testenv.Plant(t, map[string]string{"etc/systemd/system/a@.service": "[Service]\nExecStart=/usr/bin/true\n" + settings + "\n"}), nil).Unseen
		if len(unseen) > 1 || (len(unseen) == 1) != (want != nil) || want != nil && !errors.Is(unseen[0].Err, want) {
			t.Errorf("%q: %v", settings, unseen)
		}
	}
}
