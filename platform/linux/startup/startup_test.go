// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/startup"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

var update = flag.Bool("update", false, "rewrite golden files")

// dated is when every file of the machines was changed.
var dated = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var sumOf = regexp.MustCompile(`(MD5|SHA1)\(([^)]+)\)`)

// build writes a machine below a new root directory. MD5(FILE) and SHA1(FILE) stand for the sums of
// other files; the comment of the archive makes links, modes and FIFOs.
func build(t testing.TB, name string) (root string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{}
	archive.Comment = withUser(archive.Comment)
	for i, f := range archive.Files {
		archive.Files[i] = txtar.File{Name: string(withUser([]byte(f.Name))), Data: withUser(f.Data)}
		contents[archive.Files[i].Name] = archive.Files[i].Data
	}
	root = t.TempDir()
	for line := range strings.Lines(string(archive.Comment)) {
		if words := strings.Fields(line); words[0] == "link" && !strings.Contains(words[1], "/") { // what other files go through
			arrange(t, root, words)
		}
	}
	for _, f := range archive.Files {
		content := sumOf.ReplaceAllFunc(f.Data, func(m []byte) []byte {
			match := sumOf.FindSubmatch(m)
			return []byte(sum(string(match[1]), contents[string(match[2])]))
		})
		write(t, filepath.Join(root, f.Name), content)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		arrange(t, root, strings.Fields(line))
	}
	date(t, root)
	return root
}

// withUser writes the number of the user of a machine, which is not that of whoever runs the tests:
// to this belongs what is the system's.
func withUser(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("{uid}"), strconv.AppendInt(nil, int64(os.Geteuid())+1, 10))
}

func sum(algorithm string, content []byte) string {
	if algorithm == "MD5" {
		sum := md5.Sum(content)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func date(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			return os.Chtimes(path, dated, dated)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func arrange(t testing.TB, root string, words []string) {
	t.Helper()
	at := filepath.Join(root, words[1])
	var err error
	switch words[0] {
	case "link":
		if _, there := os.Lstat(at); there != nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(words[3], at))
		}
	case "fifo":
		err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), syscall.Mkfifo(at, 0o644))
	case "mode", "folder":
		mode, bad := strconv.ParseUint(words[1], 8, 32)
		at = filepath.Join(root, words[2])
		if words[0] == "folder" {
			err = os.MkdirAll(at, 0o755)
		}
		err = errors.Join(bad, err, syscall.Chmod(at, uint32(mode)))
	default:
		err = fmt.Errorf("%q", words)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func surveyed(t testing.TB, root string, runner sysexec.Runner) startup.Found {
	t.Helper()
	found, err := New(Parts{Root: root, Runner: runner, Owner: os.Geteuid(), EUID: 1000}).Startup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// described is what was found, one entry a line.
func described(found startup.Found) string {
	var list []string
	for _, e := range found.Entries {
		var programs []string
		for _, p := range e.Programs {
			text := p.Path
			for _, note := range []struct {
				is   bool
				text string
			}{{p.Missing, "missing"}, {p.Writable, "writable"}, {p.Origin == startup.NoPackage, "unpackaged"}} {
				if note.is {
					text += "!" + note.text
				}
			}
			programs = append(programs, text)
		}
		enabled := "?"
		if e.Enabled != nil {
			enabled = map[bool]string{true: "on", false: "off"}[*e.Enabled]
		}
		origin := []string{"unknown", "no package", "packaged", "modified"}[e.Origin]
		list = append(list, strings.Join([]string{
			string(e.Kind), e.Name, e.File + ":" + strconv.Itoa(e.Line), e.When, e.User, enabled, strings.Join(programs, " "), strings.TrimSpace(origin + " " + e.Package), e.Detail, fmt.Sprint(e.Warnings, e.Writable),
		}, " | "))
	}
	slices.Sort(list)
	for _, u := range found.Unread {
		list = append(list, "unread "+u.Path+": "+u.Err.Error())
	}
	for _, u := range found.Unseen {
		list = append(list, "unseen "+u.Path+": "+u.Err.Error())
	}
	return strings.Join(append(list, fmt.Sprint("packages: ", found.Packages)), "\n") + "\n"
}

// A rpm answers for the packages of the machine fedora.
type rpm struct{ runs int }

func (r *rpm) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	r.runs++
	if c.Path != "/usr/bin/rpm" {
		return sysexec.Result{}, fmt.Errorf("runs %s", c.Path)
	}
	if slices.Contains(c.Args, "-f") {
		return sysexec.Result{Exit: 1, Stdout: []byte("cronie-1-1.x86_64\nfile /x is not owned by any package\nsystemd-1-1.x86_64\ncronie-1-1.x86_64\n")}, nil
	}
	if !slices.Equal(c.Args[len(c.Args)-2:], []string{"cronie-1-1.x86_64", "systemd-1-1.x86_64"}) {
		return sysexec.Result{}, fmt.Errorf("asks for %q", c.Args)
	}
	none := strings.Repeat("0", 64)
	return sysexec.Result{Stdout: []byte("0100755 () cronie 1-1 /usr/sbin/crond\n0100644 (" + none + ") cronie 1-1 /usr/lib/systemd/system/crond.service\n" +
		"0100644 () systemd 1-1 /usr/lib/systemd/system/getty@.service\n0100644 () systemd 1-1 /usr/lib/systemd/user/bus.socket\n0100644 () cronie 1-1 /etc/cron.d/0hourly\n")}, nil
}

func TestMachinesAreSurveyedWhole(t *testing.T) {
	for name, runner := range map[string]sysexec.Runner{"debian": nil, "fedora": &rpm{}, "alpine": nil, "places": nil} {
		got := described(surveyed(t, build(t, name), runner))
		if r, ok := runner.(*rpm); ok && r.runs != 2 {
			t.Errorf("rpm was run %d times", r.runs)
		}
		if strings.Contains(got, "hunter2") || strings.Contains(got, "secret-hash") {
			t.Errorf("%s: a secret is told: %s", name, got)
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			write(t, file, bytes.ReplaceAll([]byte(got), withUser([]byte("/{uid}/")), []byte("/{uid}/")))
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(withUser(want)), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Nobody makes a run wait, or read without end.
func TestHostileFilesAreSaidToBeUnread(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd":               "root:x:0:0::/root:/bin/sh\nmira:x:1000:1000::/home/mira:/bin/sh\n",
		"etc/crontab":              "\x00\x01\x02\xff\n" + strings.Repeat("x", 10_000) + "\n",
		"etc/cron.d/huge":          strings.Repeat("* * * * * root /bin/x\n", 60_000),
		"etc/cron.d/many":          strings.Repeat("* * * * * root /bin/x\n", 1_500),
		"home/mira/.bashrc":        strings.Repeat("#", maxFile+1),
		"etc/cron.d/new\nline":     "* * * * * root /bin/x\n",
		"var/lib/dpkg/status":      "x\n",
		"var/lib/dpkg/info/x.list": "/etc/crontab\n",
	})
	for _, name := range []string{"etc/cron.d/pipe", "etc/ld.so.preload", "etc/rc.local", "home/mira/.zshrc"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(root, "etc/cron.d/zero")); err != nil {
		t.Fatal(err)
	}
	found := surveyed(t, root, nil)
	unread := map[string]string{}
	for _, u := range found.Unread {
		unread[u.Path] = u.Err.Error()
	}
	want := map[string]string{
		"/etc/crontab": "lines that are no job: 2, the first is line 1", "/etc/cron.d/huge": "larger than expected", "/etc/cron.d/pipe": "not a regular file",
		"/etc/ld.so.preload": "not a regular file", "/etc/rc.local": "not a regular file", "/home/mira/.zshrc": "not a regular file", "/home/mira/.bashrc": "larger than expected",
		"/etc/cron.d/many": "jobs beyond the first 1000: 500",
	}
	if diff := cmp.Diff(want, unread); diff != "" {
		t.Error(diff)
	}
	jobs, bashrc := 0, false
	for _, e := range found.Entries {
		if e.Kind == startup.CronJob {
			jobs++
		}
		bashrc = bashrc || e.File == "/home/mira/.bashrc" && e.Size == maxFile+1 && e.Content != ""
	}
	if jobs != 1004 || !bashrc { // with what is not read of three tables
		t.Errorf("%d jobs; .bashrc %v", jobs, bashrc)
	}
}

// Sparse files cost a user nothing, so what is kept of a home has a bound, and nobody else's has less.
func TestFilesOfAHomeAreBoundedTogether(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "mira:x:1000:1000::/home/mira:/bin/sh\nzoe:x:1001:1001::/home/zoe:/bin/sh\n",
		"home/mira/.config/systemd/user/a.service": "[Service]\nExecStart=/opt/a\n",
		"home/zoe/.bashrc":                         "/opt/zoe\n",
		"home/zoe/.config/systemd/user/a.service":  "[Service]\nExecStart=/opt/a\n",
	})
	for i := range homeBytes/maxFile + 3 {
		name := filepath.Join(root, "home/mira/.config/autostart", strconv.Itoa(i)+".desktop")
		write(t, name, nil)
		if err := os.Truncate(name, maxFile); err != nil {
			t.Fatal(err)
		}
	}
	found := surveyed(t, root, nil)
	unread := map[string]string{}
	for _, u := range found.Unread {
		unread[u.Path] = u.Err.Error()
	}
	for place, want := range map[string]string{"/home/mira": errHome.Error(), "/home/mira/.config/autostart/9.desktop": "larger than expected", "/home/zoe": ""} {
		if unread[place] != want {
			t.Errorf("%s: %q, want %q, of %v", place, unread[place], want, unread)
		}
	}
	got := described(found)
	for _, want := range []string{
		"| /home/mira/.config/autostart/10.desktop:0 |", "| a.service | /home/mira/.config/systemd/user/a.service:0 |  | mira | ? |",
		"| a.service | /home/zoe/.config/systemd/user/a.service:0 |  | zoe | off |", "| .bashrc | /home/zoe/.bashrc:0 | shell | zoe | on | /opt/zoe",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// Whoever has any number of entries pushes out neither those of others, units among them, nor the system's.
func TestEntriesOfUsersAreBoundedForEach(t *testing.T) {
	files := map[string]string{
		"etc/profile":                             "/opt/app\n",
		"home/zoe/.bashrc":                        "/opt/zoe\n",
		"home/zoe/.forward":                       "|/opt/mail\n",
		"home/zoe/.config/systemd/user/a.service": "[Service]\nExecStart=/opt/a\n",
		"var/spool/cron/crontabs/zoe":             "* * * * * /opt/b\n",
		"root/.config/systemd/user/r.service":     "[Service]\nExecStart=/opt/r\n",
	}
	uid, users := os.Geteuid()+1, 11
	passwd := ""
	for i := range users {
		name := "u" + strconv.Itoa(i)
		passwd += fmt.Sprintf("%s:x:%d:%d::/home/%s:/bin/sh\n", name, uid+i, uid+i, name)
		files["home/"+name+"/.forward"] = strings.Repeat("|/x\n", maxMail)
	}
	files["home/u3/.forward"] = strings.Repeat("|/x\n", 10_000)
	files["etc/passwd"] = passwd + fmt.Sprintf("zoe:x:%d:%d::/home/zoe:/bin/sh\nroot:x:0:0::/root:/bin/sh\n", uid+users, uid+users)
	found := surveyed(t, testenv.Plant(t, files), nil)
	count, others := map[string]int{}, []string{}
	for _, e := range found.Entries {
		if e.Kind == startup.MailProgram && e.User != "zoe" {
			count[e.User]++
			continue
		}
		others = append(others, e.File)
	}
	want := []string{"/etc/profile", "/root/.config/systemd/user/r.service", "/var/spool/cron/crontabs/zoe", "/home/zoe/.bashrc", "/home/zoe/.forward", "/home/zoe/.config/systemd/user/a.service"}
	if diff := cmp.Diff(want, others); diff != "" || len(found.Entries) != startup.MaxEntries {
		t.Errorf("%d entries, %s", len(found.Entries), diff)
	}
	unread := map[string]string{}
	for _, u := range found.Unread {
		unread[u.Path] = u.Err.Error()
	}
	for i := range users {
		name := "u" + strconv.Itoa(i)
		if n := count[name]; n < 908 || n > 909 || unread["/home/"+name] != startup.ErrTooMany.Error() {
			t.Errorf("%s: %d entries, %q", name, n, unread["/home/"+name])
		}
	}
	if unread["/home/u3/.forward"] != "programs beyond the first 1000: 9000" || unread["/home/zoe"] != "" {
		t.Errorf("%v", unread)
	}
}

// Files of which users have many are read last, and not more of one user than of a home.
func TestJobsOfAtAreReadLastAndBoundedForEachUser(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/udev/rules.d/a.rules":     "RUN+=\"/opt/a\"\n",
		"etc/crontab":                  "* * * * * root /opt/b\n",
		"var/spool/cron/crontabs/root": "* * * * * /opt/c\n",
	})
	for i := range 9 {
		name := filepath.Join(root, fmt.Sprintf("var/spool/cron/atjobs/a0000%d01b9d2a0", i))
		write(t, name, nil)
		if err := os.Truncate(name, maxFile); err != nil {
			t.Fatal(err)
		}
	}
	found := surveyed(t, root, nil)
	var kinds []startup.Kind
	for _, e := range found.Entries {
		kinds = append(kinds, e.Kind)
	}
	want := append([]startup.Kind{startup.CronJob, startup.UdevRule, startup.CronJob}, slices.Repeat([]startup.Kind{startup.AtJob}, 7)...)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(found.Unread, func(u startup.Unread) bool { return u.Path == "/var/spool/cron/atjobs" && errors.Is(u.Err, errJobs) }) {
		t.Errorf("%v", found.Unread)
	}
}

// A user whom no file names has the jobs of their own all the same, and no rights of root.
func TestJobsAreOfTheUserWhoseFileTheyStandIn(t *testing.T) {
	s := newSurvey(Parts{Root: t.TempDir(), Owner: 7})
	s.byName["mira"] = userdb.User{Name: "mira", UID: 1000}
	for uid, want := range map[int]userdb.User{7: {Name: "x", UID: 0, GID: 5}, 2000: {Name: "x", UID: 2000, GID: 5}} {
		if got := s.account("x", uid, 5); !cmp.Equal(got, want) || s.account("mira", uid, 5).UID != 1000 {
			t.Errorf("%d: %+v", uid, got)
		}
	}
	s.atJob(file{name: "/var/spool/at/x", meta: hostfile.Meta{UID: 2000}, raw: []byte("/opt/x\n")}, "01b9d2a0")
	if list := s.own["2000"]; len(list) != 1 || list[0].as.UID != 2000 || len(s.entries) != 0 {
		t.Errorf("%+v", s.own)
	}
}

// What sshd takes as a key is listed, and what is left out of a file is told.
func TestKeysThatLetInAreListedOrTold(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKLXODIb6PZbd4uSCHtNdRxxqkKGLwIOSz51efNsTY2Z"
	uid := strconv.Itoa(os.Geteuid() + 1)
	found := surveyed(t, testenv.Plant(t, map[string]string{
		"etc/passwd":                     "mira:x:" + uid + ":1000::/home/mira:/bin/sh\n",
		"etc/ssh/sshd_config":            "AuthorizedKeysFile .ssh/authorized_keys %h/.ssh/%u /etc/ssh/keys/%U\n",
		"home/mira/.ssh/authorized_keys": strings.Replace(key, "IKLX", "IK\fLX", 1) + " feed\n" + strings.Repeat("# none\n", 200),
		"home/mira/.ssh/mira":            strings.Repeat(key+" many\n", 202),
		"etc/ssh/keys/" + uid:            key + " system\n",
		"run/user/" + uid + "/x":         "",
	}), nil)
	count := map[string]int{}
	for _, e := range found.Entries {
		count[e.Name+" "+e.File]++
	}
	want := map[string]int{"ssh-ed25519 feed /home/mira/.ssh/authorized_keys": 1, "ssh-ed25519 many /home/mira/.ssh/mira": 200, "ssh-ed25519 system /etc/ssh/keys/" + uid: 1}
	if diff := cmp.Diff(want, count); diff != "" || len(found.Unread) != 1 || found.Unread[0].Path != "/home/mira/.ssh/mira" || found.Unread[0].Err.Error() != "keys beyond the first 200: 2" {
		t.Errorf("%v %s", found.Unread, diff)
	}
}

// A reader that nobody waits for keeps nothing more.
func TestAHomeIsReadNoLongerThanItIsWaitedFor(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"home/mira/.bashrc": "x\n", "home/mira/.config/autostart/a.desktop": "x\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := &home{place: "/home/mira", dirs: homeDirs, single: homeFiles, files: map[string]file{}, left: homeBytes}
	newSurvey(Parts{Root: root}).readHome(ctx, h)
	if len(h.files) != 0 {
		t.Errorf("read %v", h.files)
	}
}

// A template of a user is enabled when an instance of it is.
func TestATemplateIsEnabledByItsInstances(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "mira:x:1000:1000::/home/mira:/bin/sh\n",
		"home/mira/.config/systemd/user/svc3@.service": "[Service]\nExecStart=/opt/a\n",
		"home/mira/.config/systemd/user/svc4@.service": "[Service]\nExecStart=/opt/a\n",
		"home/mira/.config/systemd/user/svc3@.timer":   "[Timer]\nOnCalendar=daily\n",
	})
	wants := filepath.Join(root, "home/mira/.config/systemd/user/default.target.wants")
	if err := errors.Join(os.Mkdir(wants, 0o755), os.Symlink("../svc3@.service", filepath.Join(wants, "svc3@inst.service"))); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, e := range surveyed(t, root, nil).Entries {
		got[e.Name] = e.Enabled != nil && *e.Enabled
	}
	if diff := cmp.Diff(map[string]bool{"svc3@.service": true, "svc4@.service": false, "svc3@.timer": false}, got); diff != "" {
		t.Error(diff)
	}
}

// A timer starts the service of its name in another directory, of several the first.
func TestATimerFindsItsServiceInAnotherDirectory(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd":                                       "mira:x:1000:1000::/home/mira:/bin/sh\n",
		"home/mira/.config/systemd/user/a.timer":           "[Timer]\nOnCalendar=daily\n",
		"home/mira/.config/systemd/user.control/a.service": "[Service]\nExecStart=/opt/first\n",
		"home/mira/.local/share/systemd/user/a.service":    "[Service]\nExecStart=/opt/second\n",
	})
	for _, e := range surveyed(t, root, nil).Entries {
		if e.Name == "a.timer" && (len(e.Programs) != 1 || e.Programs[0].Path != "/opt/first") {
			t.Errorf("%+v", e.Programs)
		}
	}
}

// No path that a user chose is followed to learn whether a unit runs what an entry of the system does.
func TestAGeneratedUnitRunsAProgramOfTheSystem(t *testing.T) {
	s := newSurvey(Parts{Root: testenv.Plant(t, map[string]string{"usr/bin/app": "", "home/mira/x": ""})})
	if err := os.Symlink("/usr/bin/app", s.path("/home/mira/app")); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{"/usr/bin/app": true, "/home/mira/app": false, "/usr/bin/app x": false} {
		if got := s.sameCommand(line, "[Desktop Entry]\nExec=app %u\n"); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// What a user chose to start is no way to learn which files there are.
func TestUsersLeadNobodyOutOfTheirHomes(t *testing.T) {
	found := surveyed(t, build(t, "debian"), nil)
	for _, e := range found.Entries {
		if strings.HasSuffix(e.File, "/.zshrc") || strings.Contains(e.File, "shadow") {
			t.Errorf("a link was followed: %+v", e)
		}
	}
}

// A new machine has no user, no package and nothing else that is expected.
func TestAnEmptyMachineHasNothing(t *testing.T) {
	found := surveyed(t, t.TempDir(), nil)
	if len(found.Entries) != 0 || len(found.Unread) != 1 || found.Unread[0].Path != "/etc/passwd" {
		t.Errorf("%+v", found)
	}
}

func TestAWholeSurveyEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Parts{Root: build(t, "debian")}).Startup(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
