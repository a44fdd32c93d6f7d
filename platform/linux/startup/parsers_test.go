// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/aptconf"
	"sentinel/platform/unix/shellscript"
)

func readerOf(text string) *shellscript.Reader { return shellscript.NewReader(len(text)) }

func ranBy(t *testing.T, u unit) []string {
	t.Helper()
	programs, err := u.programs(shellscript.NewReader(u.size))
	if err != nil && !errors.Is(err, shellscript.ErrCut) {
		t.Error(err)
	}
	return programs
}

func TestUnitsAreReadWithTheirDropIns(t *testing.T) {
	var u unit
	u.read("u.service", "[Service]\nExecStart=/bin/a\nExecStart=-/bin/b x\n; ExecStart=/no\nUser=mira\n[X-a]\nUser=other\nExecStart=\n[[Service]\nUser=other\n[Unit]\nSourcePath=/etc/x\n")
	u.read("service", "[Service]\nExecStartPre=+!!/bin/pre\nExecStart=\nExecStart=@/bin/c name \\\n  /tmp/arg\nEnvironment=A=b \"LD_PRELOAD=/x.so\"\n")
	if diff := cmp.Diff([]string{"/bin/c", "/bin/pre", "/x.so"}, ranBy(t, u)); diff != "" {
		t.Error(diff)
	}
	if u.user != "mira" || u.source != "/etc/x" {
		t.Errorf("%+v", u)
	}
	var several unit
	several.read("u.service", "[Service]\nExecStart=/bin/a ; -@/opt/b name x ; \"+/opt/c\" y\n")
	if diff := cmp.Diff([]string{"/bin/a", "/opt/b", "/opt/c"}, ranBy(t, several)); diff != "" {
		t.Error(diff)
	}
	const condition = ":/usr/lib/systemd/systemd-xdg-autostart-condition \"\" \"GNOME\""
	if !isGenerated("ExecCondition", condition) || isGenerated("ExecCondition", condition+" ; /opt/c") {
		t.Error("what a generator writes is more, or less, than a condition")
	}
	var long unit
	long.read("long.service", "[Service]\n"+strings.Repeat("ExecStartPre=/bin/true\n", 200)+"ExecStartPre=-/home/mira/late\n")
	if diff := cmp.Diff([]string{"/bin/true", "/home/mira/late"}, ranBy(t, long)); diff != "" {
		t.Error(diff)
	}
	var timer unit
	timer.read("u.timer", "[Timer]\nOnCalendar=daily\nUnit=x.service\nUnit=z.service\nService=s.service\n[Path]\nUnit=y.service\n[Service]\nUser=mira\n")
	timer.read("u.timer", "[Timer]\nOnCalendar=\nOnCalendar=hourly\n")
	if diff := cmp.Diff([]string{"OnCalendar=hourly"}, timer.triggers); diff != "" || timer.activates != "x.service" || timer.user != "" {
		t.Errorf("%s %+v", diff, timer)
	}
}

func TestStacksOfPAMNameTheirModules(t *testing.T) {
	got := pamLines("#%PAM\n@include common\nauth required pam_a.so x y # c\n-session\t[success=1 default=ignore]\t/opt/b.so\nauth include system-auth\nauth sufficient \\\n pam_c.so\nauth required\n" +
		"# c \\\nauth required pam_d.so # c \\\n account substack /opt/stack\nauth \\\n# c\nrequired /opt/e [/opt/f g\\]] [x]\n")
	want := []pamLine{
		{include: "common"}, {module: "pam_a.so", words: []string{"x", "y"}}, {module: "/opt/b.so"}, {include: "system-auth"}, {module: "pam_c.so"},
		{module: "pam_d.so"}, {include: "/opt/stack"}, {module: "/opt/e", words: []string{"/opt/f g]", "x"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pamLine{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// Directories of libraries may stand in any file that others include, and a service of OpenRC runs more than its command.
func TestNoFileOfAnotherPlaceHidesWhatStartsBySystemFiles(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/ld.so.conf": "/opt/a # x\ninclude more/*.conf /opt/b.conf\ninclude /opt/*/x.conf\n", "etc/more/c.conf": "include /etc/ld.so.conf\n/opt/c\n", "etc/more/d": "/opt/no\n", "opt/b.conf": "/opt/b\n",
		"etc/init.d/web": "#!/sbin/openrc-run\ncommand=/usr/sbin/web\nstart_pre() {\n\tebegin x\n\t/opt/d\n}\n", "etc/runlevels/default/web": "", "sbin/openrc-run": "",
		"etc/logrotate.conf": "include /etc/logrotate.d\ninclude /opt/rotate\n", "opt/rotate/x": "include /etc/logrotate.conf\n/var/log/x {\npostrotate\n/opt/e\nendscript\n}\n",
		"etc/xinetd.conf": "include /opt/xinetd/y\nincludedir /opt/xinetd\n", "opt/xinetd/y": "service y\n{\nserver = /opt/f\n}\n",
	})
	if err := errors.Join(os.Remove(filepath.Join(root, "etc/runlevels/default/web")), os.Symlink("/etc/init.d/web", filepath.Join(root, "etc/runlevels/default/web"))); err != nil {
		t.Fatal(err)
	}
	found := surveyed(t, root, nil)
	var got []string
	for _, e := range found.Entries {
		for _, p := range e.Programs {
			got = append(got, string(e.Kind)+" "+p.Path)
		}
	}
	want := []string{"init_service /usr/sbin/web", "init_service /opt/d", "library_path /opt/a", "library_path /opt/c", "library_path /opt/b", "log_script /opt/e", "socket_unit /opt/f"}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || !slices.ContainsFunc(found.Unread, func(u startup.Unread) bool { return u.Path == "/opt/*/x.conf" }) {
		t.Errorf("%s, %v", diff, found.Unread)
	}
}

// Rules may stand in any file that others include.
func TestRulesOfPAMAreFollowedElsewhere(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/pam.d/sshd": "auth INCLUDE ../../opt/rules\n@include /opt/rules\n", "etc/pam.d/z": "auth optional pam_exec.so seteuid log=/x opt/z\n", "opt/rules": "auth substack /opt/rules\nauth include /etc/pam.d/z\nauth optional pam_exec.so quiet [/opt/a b] c\nauth optional /opt/module\n", "opt/module": "",
	})
	var got []string
	for _, e := range surveyed(t, root, nil).Entries {
		got = append(got, string(e.Kind)+" "+e.File)
		for _, p := range e.Programs {
			got = append(got, p.Path)
		}
	}
	if diff := cmp.Diff([]string{"pam_program /etc/pam.d/z", "opt/z", "pam_program /opt/rules", "/opt/a b", "pam_module /opt/module"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestJobsOfAtWithoutWhatAtPutsBeforeThem(t *testing.T) {
	if _, got := atParts("#!/bin/sh\nA=b; export A\ncd /root || {\n\t echo x\n}\n/bin/job\n"); strings.TrimSpace(got) != "/bin/job" {
		t.Errorf("%q", got)
	}
	if _, got := atParts("/bin/other"); got != "/bin/other" {
		t.Errorf("%q", got)
	}
	if got := atTime("01b9d2a0"); got != "2025-01-19T20:16:00Z" {
		t.Error(got)
	}
}

func TestDirectoriesOfAccountsAreKnown(t *testing.T) {
	for text, want := range map[string]bool{"passwd: files sss\n": true, "passwd:\tfiles systemd\ngroup: ldap\n": false, "": false, "passwd: compat winbind": true} {
		if got := asksDirectory(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestDesktopEntriesSayWhetherTheyStart(t *testing.T) {
	yes, no := new(true), new(false)
	for text, want := range map[string]*bool{
		"[Desktop Entry]\nExec=/bin/a b\n": yes, "[Desktop Entry]\nExec=/bin/a\nHidden=true\n": no, "[Desktop Entry]\nExec=/bin/a\nX-GNOME-Autostart-enabled=false\n": nil,
		"[Desktop Entry]\nExec=/bin/a\nHidden=false\n[Desktop Action x]\nExec=/bin/other\nHidden=true\n": yes,
		"[Desktop Entry]\nExec=/bin/a\nHidden=true\nHidden=false\n":                                      nil,
		"[Desktop Entry]\nExec=/bin/a\nHidden=true\nX-GNOME-Autostart-enabled=false\n":                   no,
	} {
		e, programs := autostart("x.desktop", text, readerOf(text))
		if diff := cmp.Diff([]string{"/bin/a"}, programs) + cmp.Diff(want, e.Enabled); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// Readers of the same file differ in which of two values counts, and in what joins lines.
func TestNoReaderOfADesktopEntryRunsWhatIsNotTold(t *testing.T) {
	for text, want := range map[string][]string{
		"Exec=/opt/a\nExec=/bin/true\n": {"/opt/a", "/bin/true"}, "Name=x\\\nExec=/opt/a\nExec=/bin/true\n": {"/bin/true", "/opt/a"},
		"Exec=/opt/a\n[Foo]\nExec=/bin/true\n": {"/opt/a"}, "Exec=/usr/bin/env\\s/opt/a\n": {"/usr/bin/env", "/opt/a"},
		"Exec=/home/mira/false\nSystemdService=x.service\n": {"/home/mira/false"},
	} {
		_, bus := busService("x", "", "[D-BUS Service]\n"+text, readerOf(text))
		_, entry := autostart("x", "[Desktop Entry]\n"+text, readerOf(text))
		if diff := cmp.Diff(want, bus) + cmp.Diff(want, entry); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	const unit = "[D-BUS Service]\nExec=/bin/false\nSystemdService=x.service\n[Foo]\nUser=root\n"
	if e, programs := busService("x", "", unit, readerOf(unit)); len(programs) > 0 || e.User != "" || e.Detail != "x.service" {
		t.Errorf("%v, %+v", programs, e)
	}
}

// Files of systemd have its lines and its quotes, not those of a shell.
func TestFilesOfSystemdAreReadAsItDoes(t *testing.T) {
	for text, want := range map[string][]string{
		"# c\rLD_AUDIT=/opt/a.so\n": {"/opt/a.so"}, "; it's the editor\nBASH_ENV=/opt/b.sh\n": {"/opt/b.sh"}, "A=<<E\nENV=/opt/c.sh\n": {"/opt/c.sh"},
	} {
		if diff := cmp.Diff(want, variables(text, readerOf(text))[0].programs); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	const rules = "# c\rL %h/t/a - - - - /opt/a\nL /t/b - - - - \\x2fopt\\x2fb\nL /t/c - - - - %T/.c\n"
	if diff := cmp.Diff([]string{"/opt/a", "/opt/b", "/tmp/.c"}, placedBy(rules, systemSpecifiers(), readerOf(rules))); diff != "" {
		t.Error(diff)
	}
	var u unit
	u.read("x.service", "[Service]\nSyslogIdentifier=a\\\\\nExecStart=\\x2fopt\\x2fa\nSyslogIdentifier=b\\\\\n[X-c]\nExecStart=/usr/bin/true\n")
	if programs, err := u.programs(readerOf("")); err != nil || !slices.Equal(programs, []string{"/opt/a"}) {
		t.Errorf("%v, %v", programs, err)
	}
}

// What a setting of the kernel has run is told by its program where its other words say nothing of that.
func TestOnlyAPlainCommandIsOfThePackageOfItsProgram(t *testing.T) {
	for command, want := range map[string]bool{
		"|/usr/lib/systemd/systemd-coredump %P %u %g %s %t %c %h": true, "|/usr/share/apport/apport -p%p -s%s -c%c -- %E": true, "/sbin/modprobe": true,
		"|/usr/bin/python3.12 x": false, "|/usr/bin/awk -f x": false, "|/usr/bin/python3 /home/mira/x.py": false, "|/bin/sh -c /tmp/x": false, "|/usr/bin/env x1": false, "|/bin/sh x.sh": false, "": false,
	} {
		if got := isPlain(command); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	for value, want := range map[string][]string{"|/bin/a %p": {"/bin/a"}, "core.%p": nil, "/bin/a": nil, "": nil} {
		if diff := cmp.Diff(want, handlerPrograms("kernel.core_pattern", value, readerOf(value))); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
	}
}

func TestAProgramWhoseNameIsAPatternIsNotMissing(t *testing.T) {
	s := &survey{Parts: Parts{Root: t.TempDir()}}
	for name, want := range map[string]look{"/usr/x": {missing: true}, "/usr/*/x": {}, "/usr/x?": {}, "/usr/[x]": {}, "/usr/{x,y}": {}, "/usr/$x": {}} {
		if got := s.lookAt(t.Context(), name, nil); got != want {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// The bound of what users start holds for names without a directory, too.
func TestNamesOfAUserAreSearchedNoLongerThanTheyMayBe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := newSurvey(Parts{Root: t.TempDir()}).lookAt(ctx, "x", &mira); !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
}

// Rules of udev go on behind a backslash, comments do not; those of modprobe.d do, too.
func TestRulesThatAreJoinedAreFound(t *testing.T) {
	const rules = "# c \\\nRUN+=\"/opt/a\"\nACTION==\"add\", R\\\n# c\n  UN+=\"/opt/b c\"\n#c\rRUN+=e\"\\x2fopt\\x2fc\"\nRUN+=\"/bin/sh -c 'X=\\\\\"; /opt/x'\"\nPROGRAM == \"/opt/d\", ENV{X}=\"RUN\"\nRUN+=\"/opt/e\" \\"
	if diff := cmp.Diff([]string{"/opt/a", "/opt/b", "/opt/c", "/bin/sh", "/opt/x", "/opt/d"}, udevPrograms(rules, readerOf(rules))); diff != "" {
		t.Error(diff)
	}
	const commands = "# c \\\ninstall no /opt/no\ninstall a \\\n /opt/a\nins\\\ntall b /opt/b; /opt/c\n# c \\\\\nin\\stall c /opt/d\n"
	var got []string
	for _, e := range surveyed(t, testenv.Plant(t, map[string]string{"etc/modprobe.d/x.conf": commands}), nil).Entries {
		got = append(got, fmt.Sprint(e.Line, " ", e.Name))
		for _, p := range e.Programs {
			got = append(got, p.Path)
		}
	}
	if diff := cmp.Diff([]string{"3 install a", "/opt/a", "5 install b", "/opt/b", "/opt/c", "8 install c", "/opt/d"}, got); diff != "" {
		t.Error(diff)
	}
}

// No setting of a file hides another.
func TestEachHookOfAFileIsFound(t *testing.T) {
	for _, c := range []struct {
		read func(string, *shellscript.Reader) []hook
		text string
		want []string
	}{
		{mailPrograms, `"|/home/u/evil", "|/usr/bin/vacation u"`, []string{"1 : /home/u/evil /usr/bin/vacation"}},
		{mailPrograms, "a: |/opt/a x, |\"/opt/b y\", z\n# |/opt/no\n\"|IFS=' ' && exec /opt/c \\\"-f, x\\\" || exit 75 #u\"", []string{"1 a: /opt/a /opt/b", "3 : /opt/c"}},
		{mailPrograms, `"|\"/opt/d\" x"`, []string{"1 : /opt/d"}},
		{mailPrograms, `"|/opt/open`, []string{"1 : /opt/open"}},
		{sysctlHandlers, "# c\rkernel.core_pattern=|/opt/a\n-kernel/mod?robe = /opt/b\nkernel.core_patte[r]n=|/opt/c %P\nkernel.*=|/opt/d\n*.modprobe=x\nkernel.modprobe.x=/opt/e\n", []string{
			"2 kernel.core_pattern: /opt/a", "3 kernel.modprobe: /opt/b", "4 kernel.core_pattern: /opt/c", "5 kernel.core_pattern: /opt/d", "5 kernel.modprobe: /opt/d", "5 kernel.poweroff_cmd: /opt/d", "5 kernel.hotplug: /opt/d", "6 kernel.modprobe: x",
		}},
		{sysctlHandlers, "kernel.core_patter[!x]=|/opt/a\nkernel/./core_patter[[:alpha:]]=|/opt/b\nkernel//modprobe=/opt/c\nkernel.core_pat[[:digit:][:alpha:]_]ern=|/opt/d\n", []string{"1 kernel.core_pattern: /opt/a", "2 kernel.core_pattern: /opt/b", "3 kernel.modprobe: /opt/c", "4 kernel.core_pattern: /opt/d"}},
		{logrotateScripts, "compresscmd=/opt/a\n/var/log/x { prerotate\n/opt/b\nendscript\npostrotate=\n/opt/c\nendscript }\n", []string{"1 compresscmd: /opt/a", "2 prerotate: /opt/b", "5 postrotate: /opt/c"}},
		{logrotateScripts, "postrotate\nf() { endscript\n}\n/opt/a\nendscript\n", []string{"1 postrotate: endscript /opt/a"}},
		{pamVariables, "# c\nBASH_ENV DEFAULT=/opt/a \\\nOVERRIDE=\"/opt/b\"\nTERM DEFAULT=x # BASH_ENV DEFAULT=/opt/no\nLD_PRELOAD\tOVERRIDE=/opt/c\n", []string{"0 BASH_ENV: /opt/a", "0 BASH_ENV: /opt/b", "0 LD_PRELOAD: /opt/c"}},
		{binfmtRules, "# c\r:x:M::a::/opt/x:\n", []string{"2 x: /opt/x"}},
		{mailPrograms, "#  Exim filter\nif $h_subject: contains \"x\" then pipe \"/opt/f \\\"a b\\\"\" endif\npipe /opt/g\nlogwrite ${run{/opt/h x}}\n", []string{"0 : /opt/f /opt/g /opt/h"}},
		{mailPrograms, "# Sieve filter\nkeep;\n", []string{"0 : "}},
		{xinetdServices, "service a\n{\n\tserver = /opt/a\n}\nservice b\n{\n\tdisable = yes\n\tserver = /opt/b\n}\nservice c\n{\n\tdisable = no\n\tserver=/opt/c x\n}\n", []string{"1 a: /opt/a", "10 c: /opt/c"}},
		{xinetdServices, "defaults\n{\n\tdisable = yes\n}\nservice a\n{\n\tserver = /opt/a\n", []string{"5 a: /opt/a"}},
		{logrotateScripts, "/x {\n\tpostrotate\n\t\tprerotate x\n\t\t/opt/a\n\tendscript\n}\n", []string{"2 postrotate: prerotate /opt/a"}},
	} {
		var got []string
		for _, h := range c.read(c.text, readerOf(c.text)) {
			got = append(got, fmt.Sprintf("%d %s: %s", h.line, h.name, strings.Join(h.programs, " ")))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// The programs that are found stand in the text.
func FuzzParsers(f *testing.F) {
	f.Add("[Service]\nExecStart=@/bin/a b \\\n c\nEnvironment=\"LD_PRELOAD=/x\"\n[Desktop Entry]\nExec=a\nHidden=true")
	f.Add("auth [a=b] pam_exec.so /bin/x\n#!/bin/sh\ncommand=\"/bin/y\"\nRUN+=\"/bin/z %k\"\ncd / || {\n}\nx")
	f.Add("DPkg::Post-Invoke { \"/bin/a\"; };\npost-invoke=/bin/b\npostrotate\n/bin/c\nendscript\n:a:M::b::/bin/d:\nL /x - - - - \"/bin/e f\"\nPlugin a b.so\na: \"|/bin/g\", |\"/bin/h x\"\nservice a\nserver = /bin/i\nservice b\ndisable = yes")
	f.Add("command=/\x00")
	f.Fuzz(func(t *testing.T, text string) {
		var u unit
		u.read(text, text)
		_, exec := autostart("x", text, readerOf(text))
		_, bus := busService("x", "", text, readerOf(text))
		for _, list := range [][]string{ranBy(t, u), exec, bus, scriptPrograms([]byte(text), readerOf(text)), sourcedPrograms([]byte(text), readerOf(text)), openrcPrograms([]byte(text), readerOf(text)), udevPrograms(text, readerOf(text))} {
			for _, name := range list {
				if strings.ContainsAny(name, "\n\x00") {
					t.Errorf("%q", name)
				}
			}
		}
		for _, line := range pamLines(text) {
			if strings.Contains(line.module+line.include, "\n") || line.module != "" && line.include != "" {
				t.Errorf("%+v", line)
			}
		}
		for _, h := range hookFiles {
			for _, one := range h.read(text, readerOf(text)) {
				for _, name := range one.programs {
					if strings.ContainsAny(name, "\n\x00") {
						t.Errorf("%q", name)
					}
				}
			}
		}
		isPlain(text)
		atParts(text)
		withoutComments(text)
	})
}

// What a unit runs beyond the bound is told as not looked at.
func TestAUnitOfVeryManyPrograms(t *testing.T) {
	var text strings.Builder
	text.WriteString("[Service]\n")
	for i := range maxPrograms + 1 {
		fmt.Fprintf(&text, "ExecStartPre=/opt/p%d\n", i)
	}
	const file = "/etc/systemd/system/many.service"
	found := surveyed(t, testenv.Plant(t, map[string]string{"etc/passwd": "", file: text.String()}), nil)
	if len(found.Entries) != 1 || len(found.Entries[0].Programs) != maxPrograms || !slices.Contains(found.Unread, startup.Unread{Path: file, Err: errManyPrograms}) {
		t.Errorf("%d entries, %v", len(found.Entries), found.Unread)
	}
}

// What a shell reads is read whatever its first line names, and with NUL bytes; what the kernel runs is not.
func TestFilesThatShellsReadAreRead(t *testing.T) {
	for text, want := range map[string][2][]string{
		"#!/usr/bin/python3\n/tmp/.x/evil\n": {nil, {"/tmp/.x/evil"}},
		"#!/bin/sh\n/opt/a\x00b\n":           {{"/opt/ab"}, {"/opt/ab"}},
		"\x7fELF\x00\n/opt/a\n":              {nil, {"/opt/a"}},
	} {
		run, sourced := scriptPrograms([]byte(text), readerOf(text)), sourcedPrograms([]byte(text), readerOf(text))
		if !slices.Equal(run, want[0]) || len(sourced) == 0 || sourced[len(sourced)-1] != want[1][0] {
			t.Errorf("%q: %q, %q", text, run, sourced)
		}
	}
}

// What a file of a user has started with another unit may be in effect without a link.
func TestAUnitThatAnotherWantsIsNotSaidToBeOff(t *testing.T) {
	const dir = "home/mira/.config/systemd/user/"
	found := surveyed(t, testenv.Plant(t, map[string]string{
		"etc/passwd":                  "mira:x:" + strconv.Itoa(os.Geteuid()) + ":100::/home/mira:/bin/sh\n",
		dir + "later.target.d/x.conf": "[Unit]\nWants=evil.service  job@1.service\n[X-Unit]\nWants=off.service\n",
		dir + "evil.service":          "[Service]\nExecStart=/opt/evil\n", dir + "job@.service": "[Service]\nExecStart=/opt/job\n", dir + "off.service": "[Service]\nExecStart=/opt/off\n",
	}), nil)
	enabled := map[string]string{}
	for _, e := range found.Entries {
		enabled[e.Name] = "unknown"
		if e.Enabled != nil {
			enabled[e.Name] = strconv.FormatBool(*e.Enabled)
		}
	}
	want := map[string]string{"later.target: x.conf": "unknown", "evil.service": "unknown", "job@.service": "unknown", "off.service": "false"}
	if diff := cmp.Diff(want, enabled); diff != "" {
		t.Error(diff)
	}
}

// Commands within commands are looked at as far as the size of their file lets them be. It is said of
// which they were not, and costs no other file anything.
func TestFilesOfEndlessCommandsAreNamed(t *testing.T) {
	testenv.HangGuard(t)
	documents, value := "", "/opt/deep"
	for i := range 40 {
		documents += fmt.Sprintf("sh <<E%d\n$(", i)
		value = `eval "${x-$(` + value + `)}"`
	}
	const home, units = "/home/mira/", "/home/mira/.config/systemd/user/"
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
	places := map[string]string{
		home + ".bashrc": documents, home + ".ssh/authorized_keys": `command="` + quoted + `" ssh-ed25519 ` + "AAAAC3NzaC1lZDI1NTE5AAAAIB" + strings.Repeat("A", 42) + " k\n",
		home + ".forward": `"|` + quoted + "\"\n", home + ".config/autostart/a.desktop": "[Desktop Entry]\nExec=eval \"" + quoted + "\"\n",
		units + "b.service": "[Service]\nExecStart=sh -c \"" + quoted + "\"\n", "/var/spool/cron/crontabs/mira": "@daily " + value + "\n", "/var/spool/cron/atjobs/a0000101b9d2a0": "cd /\n}\n" + documents,
	}
	files := map[string]string{"etc/passwd": "mira:x:" + strconv.Itoa(os.Geteuid()) + ":100::/home/mira:/bin/sh\n", home + ".profile": "/opt/plain\n"}
	var want []string
	for name, text := range places {
		files[name] = text
		want = append(want, name+": "+shellscript.ErrCut.Error())
	}
	found := surveyed(t, testenv.Plant(t, files), nil)
	var got []string
	for _, u := range found.Unseen {
		got = append(got, u.Path+": "+u.Err.Error())
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(found.Entries, func(e startup.Entry) bool { return len(e.Programs) == 1 && e.Programs[0].Path == "/opt/plain" }) {
		t.Errorf("%+v", found.Entries)
	}
}

// Settings of apt have others read, and give commands to dpkg and to one program of apt alone.
func TestSettingsOfAptAreFollowed(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd":            "",
		"etc/apt/apt.conf.d/01": `#include "/opt/a.conf"; ` + "\n" + `#include "/opt/d/"; ` + "\n" + `Dir::Etc::main "b.conf"; Dir { Etc "/opt/etc"; };`,
		"etc/apt/apt.conf.d/02": `DPkg::Options { "--pre-invoke=/opt/o"; "--post-invoke"; "/opt/p"; "--force-confold"; }; dpkg::options "--status-logger=/opt/q";`,
		"etc/apt/apt.conf.d/03": `Binary::apt-get::Dir::Bin::dpkg "/opt/r"; Binary { apt { DPkg::Pre-Install-Pkgs { "/opt/s"; }; }; }; APT::Compressor::x::Binary "/opt/t"; DPkg::Path "/opt/u:/usr/bin";`,
		"opt/a.conf":            `#include "/opt/a.conf";` + "\n" + `DPkg::Pre-Invoke { "/opt/a"; };`, "opt/d/x": `DPkg::Pre-Invoke { "/opt/d"; };`,
		"opt/etc/b.conf": `DPkg::Pre-Invoke { "/opt/b"; };`, "etc/apt/apt.conf": `DPkg::Pre-Invoke { "/opt/e"; };`,
	})
	found := surveyed(t, root, nil)
	var programs []string
	for _, e := range found.Entries {
		for _, p := range e.Programs {
			programs = append(programs, p.Path)
		}
	}
	slices.Sort(programs)
	if diff := cmp.Diff(strings.Fields("/opt/a /opt/b /opt/d /opt/e /opt/o /opt/p /opt/q /opt/r /opt/s /opt/t /opt/u /usr/bin"), programs); diff != "" || len(found.Unread) != 0 {
		t.Errorf("%s, unread %v", diff, found.Unread)
	}
	for text, want := range map[string]error{`#include "x.conf";`: aptconf.ErrRelative, `Dir "opt";`: errRelativeMain, `Dir::Etc "./etc";`: errRelativeMain, `Dir::Etc::main "../x";`: errRelativeMain} {
		found = surveyed(t, testenv.Plant(t, map[string]string{"etc/passwd": "", "etc/apt/apt.conf.d/x": text}), nil)
		if len(found.Unread) != 1 || !errors.Is(found.Unread[0].Err, want) {
			t.Errorf("%s, unread: %v", text, found.Unread)
		}
	}
}

// The main file of apt is where apt finds it, by its name, its folder and the folder of all.
func TestTheMainFileOfAptIsFoundAsAptDoes(t *testing.T) {
	program := testenv.Program(t, "apt-config", "apt")
	root := testenv.Plant(t, map[string]string{"parts/": "", "etc/apt/apt.conf": `X::In "etc/apt/apt.conf";`, "etc/apt/b": `X::In "etc/apt/b";`, "e/apt.conf": `X::In "e/apt.conf";`, "e/b": `X::In "e/b";`, "b": `X::In "b";`})
	config := filepath.Join(root, "first")
	if err := os.WriteFile(config, []byte(`Dir::Etc::parts "`+root+`/parts";`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ settings, want string }{
		{`Dir "R";`, "etc/apt/apt.conf"},
		{`Dir "R/";`, "etc/apt/apt.conf"},
		{`Dir::Etc "R/e";`, "e/apt.conf"},
		{`Dir::Etc "RELATIVE/e";`, "e/apt.conf"},
		{`Dir "/nowhere"; Dir::Etc "R/e"; Dir::Etc::main "b";`, "e/b"},
		{`Dir "R"; Dir::Etc::main "b";`, "etc/apt/b"},
		{`Dir "R"; Dir::Etc ""; Dir::Etc::main "b";`, "b"},
		{`Dir "/nowhere"; Dir::Etc::main "R/b";`, "b"},
	} {
		text := strings.NewReplacer("RELATIVE", strings.TrimPrefix(root, "/"), "R", root).Replace(c.settings)
		if err := os.WriteFile(filepath.Join(root, "parts/01"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), program, "dump", "--format", "%v", "X::In")
		command.Env = []string{"APT_CONFIG=" + config}
		out, err := command.Output()
		options := aptPlaces()
		_, unread := aptIncluded(text, options)
		names, unknown := mainsOfApt(options)
		if errors.Join(err, unread, unknown) != nil || string(out) != c.want || !slices.Contains(names, filepath.Join(root, c.want)) {
			t.Errorf("%s: %q (%v), apt: %q (%v)", text, names, errors.Join(unread, unknown), out, err)
		}
	}
	many := slices.Repeat([]string{"x"}, maxNames+1)
	if _, err := mainsOfApt(map[string][]string{"dir": many, "dir::etc": many, "dir::etc::main": many}); !errors.Is(err, startup.ErrTooMany) {
		t.Error(err)
	}
}

// What ifup runs is told, of each file that it reads.
func TestCommandsOfInterfacesAreTold(t *testing.T) {
	found := surveyed(t, testenv.Plant(t, map[string]string{
		"etc/passwd": "",
		"etc/network/interfaces": "# up /opt/no \\\nauto eth0\niface eth0 inet dhcp\n\tup\t/opt/a \\\n  -x\n pre-up \"/opt/b\"; /opt/c # d\n  UP /opt/no\n  update /opt/no\n  post-down cd /opt; ./d\n" +
			"mapping eth1\n  script /opt/e\nsource interfaces.d/*\nsource /opt/one /opt/gone\nsource-directory more\n",
		"etc/network/interfaces.d/x.bak": "iface x inet manual\n  down /opt/f \\", "etc/network/interfaces.d/.y": "iface y inet manual\n  down /opt/no\n",
		"opt/one": "source /etc/network/interfaces\niface z inet manual\n  post-up /opt/g\n", "etc/network/more/z": "iface z inet manual\n  pre-down /opt/h\n",
	}), nil)
	var programs []string
	for _, e := range found.Entries {
		for _, p := range e.Programs {
			programs = append(programs, p.Path)
		}
		if e.Kind != startup.NetworkScript || !*e.Enabled || e.User != "root" {
			t.Errorf("%+v", e)
		}
	}
	slices.Sort(programs)
	if diff := cmp.Diff(strings.Fields("/opt/a /opt/b /opt/c /opt/d /opt/e /opt/f /opt/g /opt/h"), programs); diff != "" || len(found.Unread) != 0 {
		t.Errorf("%s, unread %v", diff, found.Unread)
	}
	for _, pattern := range []string{"$HOME/x", "~/x", "/opt/*/x"} {
		found := surveyed(t, testenv.Plant(t, map[string]string{"etc/passwd": "", "etc/network/interfaces": "source " + pattern + "\n"}), nil)
		if len(found.Unread) != 1 || !errors.Is(found.Unread[0].Err, errPattern) {
			t.Errorf("%s: unread %v", pattern, found.Unread)
		}
	}
}
