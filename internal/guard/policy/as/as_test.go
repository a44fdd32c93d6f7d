// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathsThatLeadElsewhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, outside := filepath.Join(dir, "project"), filepath.Join(dir, "outside")
	for _, d := range []string{project + "/src", outside + "/deep"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"out": outside, "up": "..", "rel": "../outside/deep", "loop": "loop", "src/in": project, "gone": outside + "/new", "file": "plain",
	} {
		if err := os.Symlink(target, filepath.Join(project, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(project+"/plain", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := Paths{Home: outside, Dir: project}
	below, err := p.Literal(project)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text   string
		inside bool // every reading
	}{
		{project, true},
		{project + "/src/new/file.go", true},
		{"src/a.go", true},
		{"./src/../src//a.go", true},
		{project + "/src/in/src/x", true},
		{project + "/plain/below", true}, // no directory: leads nowhere else
		{"file:" + project + "/src", true},
		{"file://localhost" + project, true},
		{project + "/100%", true},
		{project + "/a%20b", true},
		{project + "/v1..2/...", true},
		{dir + "/project2", false},
		{"../outside", false},
		{project + "/../outside", false},
		{project + "/out", false},
		{project + "/out/x", false},
		{project + "/gone/x", false},
		{project + "/up/x", false},
		{project + "/rel/../x", false},        // the kernel: outside/x
		{project + "/src/../out/../x", false}, // the kernel: dir/x
		{"~", false},
		{"~/x", false},
		{"file:///etc/passwd", false},
		{"FILE:/etc/passwd", false},
		{project + "/%2e%2e/outside", false},
		{project + "/%2E./outside", false},
		{project + "/%252e%252e/outside", false},
		{project + "%2f..%2foutside", false},
		{project + `\..\outside`, false},
		{project + "/%5c..%5c..", false},
		{project + "/.. /outside", false},
		{project + "/..%20/outside", false},
		{"/", false},
		{"new/../../outside", false},
		{"new/../../../../../../../../../../etc/passwd", false},
		{"$HOME/x", false},
		{"${HOME}/x", false},
		{"$HOME", false},
		{"$PWD/x", true},
		{"src/$postId.tsx", true},
		{"$postId/x", true},
		{".$NOSUCH./outside", false},
		{"src/$X/../../outside", false},
		{"src/${x}/../../outside", false},
		{"~backup.txt~", true},
		{"~$letter.docx", true},
		{" /etc/passwd", false},
		{"/etc/passwd\n", false},
		{"\t/etc/passwd", false},
		{`"/etc/passwd"`, false},
		{"' /etc/passwd'", false},
		{`it's`, true},
		{"' '", true},
		{project + "/%u002e%u002e/outside", false},
		{project + "/100%u", true},
		{project + "/%C3%A9", true},
	} {
		places, err := p.Read(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		inside := !slices.ContainsFunc(places, func(at Place) bool { return !at.Below(below) })
		if inside != c.inside {
			t.Errorf("%q is inside: %v, want %v; it may be %v", c.text, inside, c.inside, places)
		}
	}
	for _, text := range []string{
		"", "a\x00b", "a%00b", "$SOMEWHERE/x", "${somewhere}x", project + "/%c0%ae%c0%ae/x", project + "/%e0%80%ae/x", project + "/%f0%80%80%ae/x", "~bob", "~bob.x/y", "~root/x", project + "/loop", "file://elsewhere/x", "%2525252525252e", strings.Repeat("a/", maxPath),
	} {
		if places, err := p.Read(text); err == nil {
			t.Errorf("%.40q is read as %v", text, places)
		}
	}
	if _, err := (Paths{}).Read("relative"); err == nil {
		t.Error("a relative path is read without a directory")
	}
}

// A file has more names than one: a hard link is another, and so is a bind mount of its folder.
func TestPlacesAreFilesAndNotNames(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := Paths{Dir: dir}
	if err := errors.Join(os.WriteFile(dir+"/secret", nil, 0o600), os.Link(dir+"/secret", dir+"/other"), os.WriteFile(dir+"/third", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	secret, err := p.Literal(dir + "/secret")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"secret": true, "other": true, "other/x": true, "third": false, "fourth": false, "secretly": false} {
		at, err := p.Literal(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.Below(secret); got != want {
			t.Errorf("%s is below: %v", name, got)
		}
		if got := at.Is(secret); got != (want && name != "other/x") {
			t.Errorf("%s is the same: %v", name, got)
		}
	}
}

// What /proc/self leads to is another place for the server than for who looks.
func TestPathsThroughAProcess(t *testing.T) {
	for _, text := range []string{"/proc/self/root/etc/passwd", "/proc/thread-self/cwd/x", "/dev/fd/0", "/proc/self/exe"} {
		if _, err := os.Lstat("/proc/self/root"); err != nil {
			break // no system with such links
		}
		if places, err := (Paths{Dir: "/"}).Read(text); err == nil {
			t.Errorf("%q is read as %v", text, places)
		}
	}
	if _, err := (Paths{Dir: "/"}).Read("/proc/self/status"); err != nil {
		t.Error(err)
	}
}

func TestPathsWhereCaseCountsForNothing(t *testing.T) {
	for _, folds := range []bool{true, false} {
		p := Paths{Dir: "/", folds: func(string) bool { return folds }}
		places, err := p.Read("/NoWhere/\u017fECRET/x")
		if err != nil || len(places) != 1 {
			t.Fatal(places, err)
		}
		if got := places[0].Below(Place{Path: "/nowhere/Secret"}); got != folds {
			t.Errorf("folds %v: below %v", folds, got)
		}
		if places[0].Below(Place{Path: "/nowhere/secre"}) {
			t.Error("a name that goes on is taken for the directory")
		}
		if composed := (Place{Path: "/caf\u00e9", Fold: folds}); composed.Is(Place{Path: "/cafe\u0301"}) != folds {
			t.Errorf("folds %v: two spellings of one letter", folds)
		}
	}
	if foldsCase("/proc/self") {
		t.Error("procfs folds no case")
	}
}

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // nil: not readable
	}{
		{"example.org", []string{"example.org"}},
		{"EXAMPLE.Org.", []string{"example.org"}},
		{"example.org:8080", []string{"example.org"}},
		{"https://user@example.org/x", []string{"example.org"}},
		{"127.0.0.1", []string{"127.0.0.1"}},
		{"2130706433", []string{"127.0.0.1"}},
		{"0x7f000001", []string{"127.0.0.1"}},
		{"0x7F.1", []string{"127.0.0.1"}},
		{"127.1", []string{"127.0.0.1"}},
		{"127.0.1", []string{"127.0.0.1"}},
		{"0177.0.0.1", []string{"127.0.0.1", "177.0.0.1"}},
		{"010.8.8.8", []string{"8.8.8.8", "10.8.8.8"}},
		{"017700000001", []string{"127.0.0.1"}},
		{"0", []string{"0.0.0.0", "127.0.0.1"}},
		{"127.0.0.1.", []string{"127.0.0.1"}},
		{"[::ffff:127.0.0.1]", []string{"127.0.0.1"}},
		{"::ffff:7f00:1", []string{"127.0.0.1"}},
		{"::127.0.0.1", []string{"::7f00:1", "127.0.0.1"}},
		{"64:ff9b::7f00:1", []string{"64:ff9b::7f00:1", "127.0.0.1"}},
		{"2002:7f00:1::", []string{"2002:7f00:1::", "127.0.0.1"}},
		{"::", []string{"::", "::1", "127.0.0.1"}},
		{"[0:0:0:0:0:0:0:1]:80", []string{"::1"}},
		{"fe80::1%eth0", []string{"fe80::1"}},
		{"http://[fe80::1%25eth0]/", []string{"fe80::1"}},
		{"\uff45xample\u3002org", []string{"example.org"}},
		{"\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", []string{"127.0.0.1"}},
		{"ex\u0430mple.org", []string{"xn--exmple-4nf.org"}}, // Cyrillic
		{"fa\u00df.de", []string{"xn--fa-hia.de", "fass.de"}},
		{"exa\u00admple.org", []string{"example.org"}}, // soft hyphen
		{"%65xample.org", []string{"example.org"}},
		{"a_b.example.org", []string{"a_b.example.org"}},
		{"a@b", []string{"b"}}, {"a/b", []string{"a"}}, {"//a/b", []string{"a"}}, {"a:80/b?c d", []string{"a"}}, {"https://a/b c", []string{"a"}}, {`https://a/b\c`, []string{"a"}}, {"localhost:80/x", []string{"localhost"}},
		{"[::ffff:0:127.0.0.1]", []string{"::ffff:0:7f00:1", "127.0.0.1"}},
		{"64:ff9b:1::7f00:1", []string{"64:ff9b:1::7f00:1", "127.0.0.1"}},
		{"2001:0:1:2:3:4:80ff:fffe", []string{"2001:0:1:2:3:4:80ff:fffe", "127.0.0.1"}},
		{"fe80::5efe:127.0.0.1", []string{"fe80::5efe:7f00:1", "127.0.0.1"}},
		{"2001:db8::1", []string{"2001:db8::1"}},
		{"127.0.0.256", nil}, {"1.2.3.4.5", nil}, {"256.256.256.256", nil}, {"4294967296", nil}, {"", nil}, {".", nil}, {"a..b", nil}, {"a.org..", nil},
		{"a b", nil}, {"a\tb", nil}, {`a\b`, nil}, {"[::1", nil}, {"[example.org]", nil}, {"http:a", nil}, {"http:/a", nil}, {"http:///a", nil}, {`http:\\a`, nil}, {"a:1:2", nil}, {"a:x", nil}, {"::1:80:x", nil}, {"%2565xample.org", nil},
	} {
		got, err := Host(c.text)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestSites(t *testing.T) {
	for _, c := range []struct {
		site, host string
		want       bool
	}{
		{"10.0.0.0/8", "10.1.2.3", true}, {"10.0.0.0/8", "0xa010203", true}, {"10.0.0.0/8", "11.0.0.1", false},
		{"127.0.0.0/8", "localhost", true}, {"127.0.0.0/8", "a.localhost.", true}, {"localhost", "::1", true}, {"localhost", "127.9.9.9", true},
		{"127.0.0.0/8", "localhost.localdomain", true}, {"::1/128", "ip6-loopback", true}, {"127.0.0.0/8", "localhost.example.org", false},
		{"localhost", "example.org", false}, {"192.0.2.1", "::ffff:192.0.2.1", true}, {"::1/128", "localhost", true},
		{"example.org", "example.org", true}, {"example.org", "a.example.org", true}, {"example.org", "notexample.org", false},
		{"example.org", "example.org.evil.net", false}, {"*.example.org", "example.org", false}, {"*.example.org", "a.b.example.org", true},
		{"example.org", "ex\u0430mple.org", false}, {"example.org", "192.0.2.1", false},
	} {
		site, err := ParseSite(c.site)
		if err != nil {
			t.Fatal(c.site, err)
		}
		hosts, err := Host(c.host)
		if err != nil {
			t.Fatal(c.host, err)
		}
		if got := site.Has(hosts[0]); got != c.want {
			t.Errorf("%s has %s: %v", c.site, c.host, got)
		}
	}
	for _, bad := range []string{"", "a b", "*.", "300.1.1.1", "fa\u00df..de"} {
		if site, err := ParseSite(bad); err == nil {
			t.Errorf("%q is the site %v", bad, site)
		}
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // the readings, one a line; "" when it is not readable
	}{
		{"HTTPS://Example.ORG:443/a/../b?q#f", "https://example.org/b?q"},
		{"http://example.org", "http://example.org/"},
		{"http://example.org:8080/x/", "http://example.org:8080/x/"},
		{"https://good.example@evil.example/", "https://evil.example/"},
		{"https://good.example:pw@evil.example/", "https://evil.example/"},
		{"https://evil.example#@good.example/", "https://evil.example/"},
		{"https://evil.example?@good.example/", "https://evil.example/?@good.example/"},
		{"https://2130706433/x", "https://127.0.0.1/x"},
		{"https://[::ffff:192.0.2.1]/", "https://192.0.2.1/"},
		{"https://[::1]:8443/", "https://[::1]:8443/"},
		{"https://example.org/a/%2e%2e/b", "https://example.org/a/%2e%2e/b\nhttps://example.org/b"},
		{"https://example.org/%252e%252e/b", "https://example.org/%252e%252e/b\nhttps://example.org/%2e%2e/b\nhttps://example.org/b"},
		{"https://example.org/a%5c..%5cb", "https://example.org/a%5c..%5cb\n" + `https://example.org/a\..\b` + "\nhttps://example.org/b"},
		{"https://exa\u00admple.org/", "https://example.org/"},
		{"file:///etc/passwd", "file:/etc/passwd"},
		{"file:////etc/./x/../passwd", "file:/etc/passwd\nfile://etc/passwd"},
		{"file://localhost/etc/passwd", "file:/etc/passwd"},
		{"https://example.org/a/..;x=1/b;y", "https://example.org/a/..;x=1/b;y\nhttps://example.org/b"},
		{"https://example.org/admin//..", "https://example.org/\nhttps://example.org/admin/"},
		{"https://example.org/a//b/./c/", "https://example.org/a/b/c/\nhttps://example.org/a//b/c/"},
		{"https://example.org/?q=a b\\c", "https://example.org/?q=a b\\c"},
		{"https://example.org/#a b", "https://example.org/"},
		{"https://example.org/%u0061", "https://example.org/%u0061\nhttps://example.org/a"},
		{"urn:isbn:0451450523", "urn:isbn:0451450523"},
		{"data:text/plain,%61", "data:text/plain,%61\ndata:text/plain,a"},
		{"mailto:a@example.org", "mailto:a@example.org"},
		{`https://evil.example\@good.example/`, ""}, {"https://a@b@c/", ""}, {"http:evil.example", ""}, {"http:/evil.example", ""}, {"http:///evil.example", ""},
		{"url:https://evil.example/", ""}, {"view-source:http:evil.example", ""}, {"jar:file:/x.jar!/", ""}, {"blob:https://evil.example/x", ""}, {"feed:x+y://evil.example", ""}, {"url:<https://evil.example>", ""},
		{"https://x/%c0%ae/", ""}, {"https://x/a b", ""}, {`https://x/a\b`, ""}, {"https://x y/", ""},
		{"//evil.example/", ""}, {"evil.example", ""}, {"ht\ntp://x/", ""}, {" http://x/", ""}, {"http://x/\x00", ""}, {"http://x/%00", ""}, {"http://x:99999/", ""},
		{"http://x:+80/", ""}, {"http://x:8a/", ""}, {"http://[::1/", ""}, {"", ""}, {"http://x/%2525252525", ""}, {"https://", ""}, {"1http://x/", ""},
	} {
		links, err := URL(c.text)
		var got []string
		for _, l := range links {
			got = append(got, l.String())
		}
		if strings.Join(got, "\n") != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q is read as %q, %v", c.text, got, err)
		}
	}
}

func TestAreas(t *testing.T) {
	for _, c := range []struct {
		area, url string
		want      bool // every reading
	}{
		{"https://example.org/api", "https://example.org/api", true},
		{"https://example.org/api", "https://example.org/api/x?y", true},
		{"https://example.org/api/", "https://example.org:443/api/x", true},
		{"https://example.org/api", "https://example.org/apis", false},
		{"https://example.org/api", "https://example.org/api/../x", false},
		{"https://example.org/api", "https://example.org/api/%2e%2e/x", false},
		{"https://example.org/api", "https://example.org/api/%252e%252e%252fx", false},
		{"https://example.org", "http://example.org/", false},
		{"https://example.org", "https://example.org:8443/", false},
		{"https://example.org", "https://example.org.evil.example/", false},
		{"https://example.org", "https://example.org@evil.example/", false},
		{"https://example.org", "https://a.example.org/", false},
		{"https://*.example.org", "https://a.example.org/", true},
		{"https://*.example.org", "https://example.org/", false},
		{"https://*.example.org", "https://aexample.org/", false},
		{"https://example.org", "https://ex\u0430mple.org/", false},
	} {
		area, err := ParseArea(c.area)
		if err != nil {
			t.Fatal(c.area, err)
		}
		links, err := URL(c.url)
		if err != nil {
			t.Fatal(c.url, err)
		}
		if got := !slices.ContainsFunc(links, func(l Link) bool { return !area.Has(l) }); got != c.want {
			t.Errorf("%s has %s: %v", c.area, c.url, got)
		}
	}
	for _, bad := range []string{"", "example.org", "https://", "https://x/?q", "data:x", "https://fa\u00df.de"} {
		if area, err := ParseArea(bad); err == nil {
			t.Errorf("%q is the area %v", bad, area)
		}
	}
}

func TestShells(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // the readings, one a line; "" when it is not readable
	}{
		{"git status", "git status"},
		{"  r'm' \"-r\"f \\/  ", "rm -rf /"},
		{"a;b&&c||d|e&f\ng", "a\nb\nc\nd\ne\nf\ng"},
		{"(a; b)", "a\nb"},
		{"a # b; rm", "a"},
		{"echo '# ; rm'", "echo # ; rm"},
		{"/bin/rm x", "/bin/rm x\nrm x"},
		{"LD_PRELOAD=x PATH=/tmp git log", "LD_PRELOAD=x PATH=/tmp git log\ngit log"},
		{"a=b", "a=b"},
		{"git log > ~/.bashrc 2>&1", "> ~/.bashrc\n>& 1\ngit log"},
		{"a 2 > f", "> f\na 2"},
		{"if a; then rm b; fi", "a\nrm b"},
		{"! rm x", "rm x"},
		{"a \\\n b", "a b"},
		{"ls *.go", "ls *.go"},
		{"sudo -u bob rm x", "sudo -u bob rm x\nbob rm x\nrm x\nx"},
		{"sh -c 'rm x; b'", "sh -c rm x; b\nrm x\nb\n-c rm x\nb"},
		{"env A=1 rm x", "env A=1 rm x\nA=1\nrm x\nrm\nx\nx\nA=1 rm x\nrm x"},
		{"env -S'rm x'", "env -Srm x\nrm x"},
		{"xargs rm", "xargs rm\nrm"},
		{"find . -name '*.go' -exec rm {} +", "find . -name *.go -exec rm {} +\nrm {} +"},
		{"find . -type f", "find . -type f"},
		{"git log -- rm", "git log -- rm"},
		{"git log HEAD@{1}..HEAD@{2}", "git log HEAD@{1}..HEAD@{2}"},
		{"echo {} {a} '{a,b}'", "echo {} {a} {a,b}"},
		{"{ ls a,b; }", "ls a,b"},
		{"[ a == b ]", "[ a == b ]"},
		{"A='x y' B=1 ls", "A=x y B=1 ls\nls"},
		{"busybox sh -c rm", "busybox sh -c rm\nsh -c rm\nrm\n-c rm\nrm"},
		{"rm${IFS}-rf${IFS}/", ""}, {"$(echo rm) x", ""}, {"`echo rm` x", ""}, {"echo \"$(rm x)\"", ""}, {"echo \"`rm`\"", ""}, {"$'\\x72m' x", ""}, {"$X", ""},
		{"cat <<E\nrm\nE", ""}, {"cat <(rm)", ""}, {"{rm,-rf,/}", ""}, {"{a..z}", ""}, {"/bin/r? x", ""}, {"sudo /bin/r? x", ""}, {"f() { rm x; }", ""},
		{"for i in a; do rm x; done", ""}, {"case x in x) rm;; esac", ""}, {"echo 'a", ""}, {"echo \"a", ""}, {"a\\", ""}, {"a\x00b", ""}, {"a '\x00'", ""}, {"a\rb", ""}, {"a >", ""},
		{". ./x", ""}, {"alias ls=rm", ""}, {"'alias' ls=rm", ""}, {`\. ./x`, ""}, {"builtin source x", ""}, {"hash -p /bin/rm ls", ""}, {"enable -f x y", ""},
		{"{'}',rm}", ""}, {"{\\},rm}", ""}, {`{"\"}",rm}`, ""}, {"{a}b,rm}", ""}, {"env {'A=}',rm}", ""}, {"{r..r}m x", ""}, {"=rm x", ""}, {"rm\u00a0x", ""}, {"rm\u2028x", ""},
		{"test -v 'a[$(rm)]'", ""}, {"let 'a[`rm`]=1'", ""}, {"printf -v 'a[$(rm)]' x", ""}, {"find *.x -exec ls", ""},
		{"eval 'r'm\" \\$x\"", ""}, {strings.Repeat("a ", maxShell), ""}, {strings.Repeat("sudo ", 20) + "rm", ""},
	} {
		commands, err := Shell(c.text)
		var got []string
		for _, command := range commands {
			got = append(got, command.String())
		}
		if strings.Join(got, "\n") != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%.60q is read as %q, %v", c.text, got, err)
		}
	}
	// Wherever rm hides, one reading begins with it.
	for _, text := range []string{
		"timeout -k 5 10 rm x", "nohup nice -n 5 rm x &", "sudo -- sh -c \"rm x\"", "bash -lc 'sudo rm x'", "eval r m; eval 'rm' x", "ssh host 'cd /; rm x'", "FOO=1 sudo -E BAR=2 /usr/bin/rm x",
		"true\nrm x", "echo a | xargs -I{} sh -c 'rm {}'", "env -i bash -c 'rm x'", "command rm x", "su -c 'rm x' bob", "\"/bin/\"rm x", "echo hi;rm x", "{ rm x; }", "time -p rm x", "exec rm x",
		"flock /tmp/l -c 'rm x'", "watch -n1 rm x", "trap 'rm x' EXIT", "/usr/bin/env rm x", "env --split-string='rm x'",
		"{x}>/tmp/f rm x", "noglob rm x", "- rm x", "repeat 3 rm x", "ltrace rm x", "/lib64/ld-linux-x86-64.so.2 /bin/rm x", "mksh -c 'rm x'", "bash5 -c 'rm x'", "docker run --rm -v /:/h img rm x",
		"docker exec c sh -c 'rm x'", "kubectl exec p -- rm x", "npm exec -c 'rm x'", "uv run rm x", "find . -ok rm {} ;", "fd -x rm", "git submodule foreach 'rm x'", "git bisect run rm x",
		"git rebase --exec='rm x' HEAD~3", "GIT_PAGER='rm x' git log", "env PAGER='rm x' man ls", "ssh -o ProxyCommand='rm x' h", "tmux new -d 'rm x'", "sg staff 'rm x'", "start-stop-daemon --exec /bin/rm", "mapfile -C 'rm x' -c 1 a",
	} {
		commands, err := Shell(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if !slices.ContainsFunc(commands, func(c Command) bool { return c.Begins(Command{"rm"}, false) }) {
			t.Errorf("%q is read as %v", text, commands)
		}
	}
}

// The judgement of a statement, and what it does.
func TestStatements(t *testing.T) {
	const most = 100
	for _, c := range []struct {
		text      string
		unbounded bool
		kinds     string // of all statements
	}{
		{"SELECT * FROM t", true, "SELECT"},
		{"select * from t limit 10", false, "SELECT"},
		{"SELECT * FROM t LIMIT 10;", false, "SELECT"},
		{"SELECT * FROM t LIMIT 100", false, "SELECT"},
		{"SELECT * FROM t LIMIT 101", true, "SELECT"},
		{"SELECT * FROM t LIMIT 5 OFFSET 1000", false, "SELECT"},
		{"SELECT * FROM t LIMIT 1000, 5", false, "SELECT"},
		{"SELECT * FROM t LIMIT 5, 1000", true, "SELECT"},
		{"SELECT * FROM t LIMIT ALL", true, "SELECT"},
		{"SELECT * FROM t LIMIT NULL", true, "SELECT"},
		{"SELECT * FROM t LIMIT 1e9", true, "SELECT"},
		{"SELECT * FROM t LIMIT -1", true, "SELECT"},
		{"SELECT * FROM t LIMIT 0x7fffffff", true, "SELECT"},
		{"SELECT * FROM t LIMIT 5+1000", true, "SELECT"},
		{"SELECT * FROM t LIMIT ?", true, "SELECT"},
		{"SELECT * FROM t LIMIT (SELECT 5)", true, "SELECT"},
		{"SELECT * FROM t LIMIT 99999999999999999999", true, "SELECT"},
		{"SELECT * FROM t LIMIT 5 BY c", true, "SELECT"},
		{"SELECT * FROM t -- LIMIT 5", true, "SELECT"},
		{"SELECT * FROM t /* LIMIT 5 */", true, "SELECT"},
		{"SELECT/**/*/**/FROM/**/t/**/LIMIT/**/5", false, "SELECT"},
		{"SELECT 'LIMIT 5' FROM t", true, "SELECT"},
		{"SELECT * FROM t WHERE a = 'it''s LIMIT 5'", true, "SELECT"},
		{`SELECT * FROM t WHERE "LIMIT" = 5`, true, "SELECT"},
		{"SELECT * FROM `t LIMIT 5`", true, "SELECT"},
		{"SELECT * FROM [t LIMIT 5]", true, "SELECT"},
		{"SELECT * FROM t WHERE a = $$ LIMIT 5 $$", true, "SELECT"},
		{"SELECT * FROM t WHERE a = $x$ LIMIT 5 $x$", true, "SELECT"},
		{"SELECT limits FROM t", true, "SELECT"},
		{"SELECT limit, 5 FROM t", true, "SELECT"},
		{"SELECT * FROM (SELECT * FROM t LIMIT 5) a, b", true, "SELECT"},
		{"SELECT * FROM t WHERE a IN (SELECT a FROM b LIMIT 5)", true, "SELECT"},
		{"SELECT * FROM (SELECT * FROM t LIMIT 5000) a LIMIT 5", false, "SELECT"},
		{"WITH x AS (SELECT * FROM t LIMIT 5) SELECT * FROM u", true, "SELECT"},
		{"WITH x AS (SELECT * FROM t) SELECT * FROM x LIMIT 5", false, "SELECT"},
		{"WITH x(a) AS (SELECT 1), y AS (SELECT 2) SELECT * FROM x LIMIT 5", false, "SELECT"},
		{"WITH x AS (SELECT 1) (SELECT * FROM x)", true, "SELECT"},
		{"WITH x AS (DELETE FROM t RETURNING *) SELECT count(*) FROM x", false, "DELETE SELECT"},
		{"SELECT * FROM t LIMIT 5; SELECT * FROM u", true, "SELECT"},
		{"SELECT * FROM t LIMIT 5 SELECT * FROM u", true, "SELECT"},
		{"SELECT * FROM t; SELECT 1", true, "SELECT"},
		{"SELECT * FROM a LIMIT 5 UNION ALL SELECT * FROM b", true, "SELECT"},
		{"SELECT * FROM a UNION ALL SELECT * FROM b LIMIT 5", false, "SELECT"},
		{"(SELECT * FROM a LIMIT 5) UNION ALL (SELECT * FROM b)", true, "SELECT"},
		{"(SELECT * FROM a LIMIT 5) UNION ALL (SELECT * FROM b LIMIT 5)", false, "SELECT"},
		{"(SELECT * FROM a) UNION (SELECT * FROM b) LIMIT 5", false, "SELECT"},
		{"SELECT TOP 5 * FROM a UNION ALL SELECT * FROM b", true, "SELECT"},
		{"SELECT * FROM b UNION ALL SELECT TOP 5 * FROM a", true, "SELECT"},
		{"SELECT TOP 5 * FROM t", false, "SELECT"},
		{"SELECT DISTINCT TOP (5) a FROM t", false, "SELECT"},
		{"SELECT TOP 5 PERCENT * FROM t", true, "SELECT"},
		{"SELECT TOP (5) WITH TIES * FROM t", true, "SELECT"},
		{"SELECT top FROM t", true, "SELECT"},
		{"SELECT * FROM t FETCH FIRST 5 ROWS ONLY", false, "SELECT"},
		{"SELECT * FROM t OFFSET 5 ROWS FETCH NEXT ROW ONLY", false, "SELECT"},
		{"SELECT * FROM t FETCH FIRST 5 PERCENT ROWS ONLY", true, "SELECT"},
		{"SELECT * FROM t FETCH FIRST 5 ROWS WITH TIES", true, "SELECT"},
		{"SELECT * FROM t LIMIT 5 FOR UPDATE", false, "SELECT"},
		{"SELECT count(*) FROM t", false, "SELECT"},
		{"SELECT COUNT(*) AS n, max(a) m FROM t WHERE b = 1", false, "SELECT"},
		{"SELECT count(*) FROM t GROUP BY a", true, "SELECT"},
		{"SELECT count(*), a FROM t", true, "SELECT"},
		{"SELECT max(a, b) FROM t", true, "SELECT"},
		{"SELECT count(*) OVER () FROM t", true, "SELECT"},
		{"SELECT count(*) FROM t UNION SELECT a FROM u", true, "SELECT"},
		{"SELECT string_agg(a, ',') FROM t", true, "SELECT"},
		{"SELECT 1", false, "SELECT"},
		{"SELECT version(), now()", false, "SELECT"},
		{"SELECT generate_series(1, 1000000)", true, "SELECT"},
		{"SELECT (SELECT a FROM t)", true, "SELECT"},
		{"TABLE t", true, "TABLE"},
		{"TABLE t LIMIT 5", false, "TABLE"},
		{"VALUES (1), (2)", false, "VALUES"},
		{"INSERT INTO t SELECT * FROM u", false, "INSERT SELECT"},
		{"INSERT INTO t VALUES (1) SELECT * FROM u", true, "INSERT SELECT"},
		{"INSERT INTO t VALUES (1) RETURNING *", true, "INSERT"},
		{"INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 1", false, "INSERT"},
		{"DELETE FROM t", false, "DELETE"},
		{"DELETE FROM t SELECT * FROM u", true, "DELETE SELECT"},
		{"SELECT 1 DROP TABLE t", false, "SELECT DROP"},
		{"SELECT 1; DROP TABLE t", false, "SELECT DROP"},
		{"DROP/**/TABLE t", false, "DROP"},
		{"dRoP TABLE t", false, "DROP"},
		{"SELECT 1 EXEC p", true, "SELECT EXEC"},
		{"SELECT TOP 5 * FROM t EXEC p", true, "SELECT EXEC"},
		{"SELECT TOP 5 * FROM t DELETE FROM u OUTPUT deleted.*", true, "SELECT DELETE"},
		{"SELECT load, copy FROM t ORDER BY call DESC LIMIT 5", false, "SELECT"},
		{"SELECT max(load) FROM t WHERE rename = 1", false, "SELECT"},
		{"SELECT a AS delete FROM t LIMIT 5", false, "SELECT"},
		{"WITH x AS (DELETE FROM t) SELECT 1", false, "DELETE SELECT"},
		{"PREPARE p AS DELETE FROM t", true, "PREPARE DELETE"},
		{"CREATE PROCEDURE p AS DROP TABLE t", false, "CREATE DROP"},
		{"CREATE RULE r AS ON INSERT TO t DO DELETE FROM u", false, "CREATE DELETE"},
		{"INSERT OR ROLLBACK INTO t SELECT 1", false, "INSERT SELECT"},
		{"INSERT INTO t SELECT * INTO u FROM v", false, "INSERT SELECT SELECT INTO"},
		{"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", false, "SELECT INSERT"},
		{"VACUUM INTO 'f'", false, "VACUUM"},
		{`SELECT * FROM t WHERE a = 'x\\' LIMIT 5`, false, "SELECT"},
		{`SELECT 'a\\\\', "b\\" FROM t LIMIT 5`, false, "SELECT"},
		{"EXECUTE p(1)", true, "EXECUTE"},
		{"MERGE INTO t USING s ON 1=1 WHEN MATCHED THEN DELETE", false, "MERGE DELETE"},
		{"IF 1=1 SELECT 1 ELSE SHUTDOWN", true, "IF SELECT SHUTDOWN"},
		{"SELECT replace(a, 'x', 'y') FROM t LIMIT 5", false, "SELECT"},
		{"SELECT t.update FROM t LIMIT 5", false, "SELECT"},
		{"SELECT * INTO u FROM t LIMIT 5", false, "SELECT SELECT INTO"},
		{"EXPLAIN ANALYZE DELETE FROM t", false, "EXPLAIN DELETE"},
		{"CREATE TABLE x AS SELECT * FROM t", false, "CREATE SELECT"},
		{"COPY t TO STDOUT", true, "COPY"},
		{"EXECUTE p", true, "EXECUTE"},
		{"\u017fELECT 1", true, "\u017fELECT"},
		{"SELECT a[1], ARRAY['x'] FROM t LIMIT 5", false, "SELECT"},
		{"SELECT $1, :name, @v FROM t LIMIT 5", false, "SELECT"},
		{"", false, ""},
		{" ; -- nothing\n", false, ""},
	} {
		statements, err := SQL(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		unbounded := slices.ContainsFunc(statements, func(s Statement) bool { return s.Unbounded(most) })
		var kinds []string
		for _, s := range statements {
			kinds = add(kinds, s.Kinds()...)
		}
		if unbounded != c.unbounded {
			t.Errorf("%q is unbounded: %v", c.text, unbounded)
		}
		if got := strings.Join(kinds, " "); got != c.kinds {
			t.Errorf("%q does %q, want %q", c.text, got, c.kinds)
		}
	}
}

func TestStatementsThatDatabasesReadDifferently(t *testing.T) {
	for _, text := range []string{
		"SELECT * FROM t /* /* */ LIMIT 5 */", "SELECT 1 /*!50000 UNION SELECT * FROM t */", "SELECT 1 /*M! x */", "SELECT * FROM t /* LIMIT 5", "SELECT * FROM t --LIMIT 5", "SELECT * FROM t # LIMIT 5",
		"EXEC('DROP TABLE t')", "EXEC (@x)", "EXECUTE IMMEDIATE 'DROP TABLE t'", "EXEC sp_executesql N'DROP TABLE t'", "DO 'BEGIN DROP TABLE t; END'", "DO LANGUAGE plpgsql 'x'", "PREPARE s FROM 'DROP TABLE t'", "PREPARE s FROM @q",
		"SELECT 1 EXEC('DROP TABLE t')", "SELECT q'[' LIMIT 5 -- ]' FROM t", `SELECT 'a\\\' FROM t LIMIT 5; -- '`,
		`SELECT 'a\' FROM t LIMIT 5; -- '`, `SELECT "a\" FROM t"`, "SELECT 'a", "SELECT \"a", "SELECT `a", "SELECT (1", "SELECT 1)", "SELECT [a", "SELECT (1; DROP TABLE t)", "SELECT [a;b]",
		"SELECT $$; DROP TABLE t; $$", "SELECT $x$ a", "SELECT 1\x00", "SELECT\u00a0*", "\\! rm", "SELECT 1 -- a\rDROP TABLE t", "SELECT 1 -- a\u2028DROP TABLE t", "SELECT [a'b] , 'c]' ", "SELECT \xff",
	} {
		if s, err := SQL(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}
