// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
	"sentinel/internal/updates"
)

var update = flag.Bool("update", false, "rewrite golden files")

// refreshed is when the lists of the made-up machines were fetched.
var refreshed = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// made returns a machine on which everything was written at that time.
func made(t *testing.T, files ...string) string {
	t.Helper()
	content := map[string]string{
		"proc/sys/kernel/osrelease": "6.8.0-63-generic\n", "run/reboot-required": "", "run/reboot-required.pkgs": "linux-image-6.8.0-64-generic\nlibc6\nlibc6\n",
		"etc/os-release": "PRETTY_NAME=\"Test Linux 1.2\"\n",
	}
	for _, f := range files {
		content[f] = "x"
	}
	if _, apt := content[dpkgStatus]; apt {
		content[dpkgStatus] = "Package: vim\nStatus: hold ok installed\nArchitecture: amd64\n"
	}
	root := testenv.Plant(t, content)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, refreshed, refreshed))
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func transcripts(names ...string) []string {
	for i, n := range names {
		names[i] = filepath.Join("testdata", "exec", n+".txtar")
	}
	return names
}

func TestDocumentOfEachManager(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		runs  []string
	}{
		"apt":    {[]string{"usr/bin/apt-get", dpkgStatus, aptLists + "/deb.example.org_dists_noble-security_Packages"}, []string{"apt-ubuntu", "apt-policy", "apt-archives"}},
		"dnf":    {[]string{"usr/bin/dnf5", "usr/bin/dnf", "usr/lib/sysimage/rpm/x", "var/cache/libdnf5/updates-1/repodata/repomd.xml", "var/cache/libdnf5/updates-1/repodata/1-updateinfo.xml.zst"}, []string{"dnf5", "dnf5-security", "rpm"}},
		"zypper": {[]string{"usr/bin/zypper", "usr/bin/dnf", "var/lib/rpm/x", "etc/products.d/x", "var/cache/zypp/raw/oss/repodata/repomd.xml", "var/cache/zypp/raw/oss/repodata/1-updateinfo.xml.gz"}, []string{"zypper", "zypper-patches"}},
		"pacman": {[]string{"usr/bin/pacman", "var/lib/pacman/local/x", "var/lib/pacman/sync/core.db", "var/lib/pacman/db.lck"}, []string{"pacman"}},
		"apk":    {[]string{"sbin/apk", "lib/apk/db/installed", "var/cache/apk/APKINDEX.1.tar.gz"}, []string{"apk"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := NewUpdates(made(t, c.files...), replay.New(t, transcripts(c.runs...)...))
			r, err := updates.Check(t.Context(), u, updates.Options{Limit: updates.DefaultLimit, Now: refreshed.Add(26 * time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "updates", name+".json"), r)
		})
	}
}

func golden(t *testing.T, file string, v any) {
	t.Helper()
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, got.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs; if the change is meant, run: make golden\n got %s\nwant %s", file, got.Bytes(), want)
	}
}

func TestManagersThatCannotAnswer(t *testing.T) {
	alpine := []string{"sbin/apk", "lib/apk/db/installed", "var/cache/apk/APKINDEX.1.tar.gz"}
	for name, c := range map[string]struct {
		files, runs []string
		code        fault.Code
		says, fix   string
	}{
		"no manager":              {nil, nil, fault.Unsupported, "No package manager", "tools of this distribution"},
		"the program alone":       {[]string{"usr/bin/apt-get", "usr/bin/dnf", "usr/bin/zypper", "usr/bin/pacman", "sbin/apk"}, nil, fault.Unsupported, "No package manager", ""},
		"apk whose lock is held":  {alpine, []string{"apk-locked"}, fault.Unavailable, "Another program is using apk", "Wait"},
		"apk before it had lists": {alpine, []string{"apk-old"}, fault.Unavailable, "apk cannot say which updates there are: apk: unrecognized command", ""},
		"apk with a bad index":    {alpine, []string{"apk-damaged"}, fault.Unavailable, "lists are damaged: opening /var/cache/apk/APKINDEX", "apk update"},
	} {
		_, err := NewUpdates(made(t, c.files...), replay.New(t, transcripts(c.runs...)...)).Pending(t.Context())
		expectFault(t, name, err, c.code, c.says, c.fix)
	}
}

func expectFault(t *testing.T, name string, err error, code fault.Code, says, fix string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || !strings.Contains(f.Message, says) || !strings.Contains(f.Fix, fix) {
		t.Errorf("%s: %#v; want %s, %q, %q", name, err, code, says, fix)
	}
}

func TestListsThatWereNeverFetchedAreNotNothing(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		runs  []string
		fix   string
	}{
		"zypper": {[]string{"usr/bin/zypper", "etc/zypp/repos.d/oss.repo"}, nil, "sudo zypper refresh"},
		"pacman": {[]string{"usr/bin/pacman", "var/lib/pacman/local/x"}, nil, "sudo pacman -Sy"},
		"apk":    {[]string{"usr/bin/apk", "usr/lib/apk/db/installed"}, nil, "sudo apk update"},
	} {
		p, err := NewUpdates(made(t, c.files...), replay.New(t, c.runs...)).Pending(t.Context())
		if err != nil || p.Unknown == nil || !strings.Contains(p.Unknown.Error(), c.fix) || p.Manager != name {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestFloodOfOutputIsRefused(t *testing.T) {
	root := made(t, "sbin/apk", "lib/apk/db/installed", "var/cache/apk/APKINDEX.1.tar.gz")
	_, err := NewUpdates(root, flood{}).Pending(t.Context())
	expectFault(t, "flood", err, fault.Unavailable, "apk printed more than", "by hand")
}

// slow is a machine on which one program does not answer in time.
type slow struct {
	program string
	sysexec.Runner
}

func (s slow) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path == s.program || slices.Contains(c.Args, s.program) {
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, context.DeadlineExceeded)
	}
	return s.Runner.Run(ctx, c)
}

func TestWhatOnlyAddsToThePlanMayFail(t *testing.T) {
	fedora := []string{"usr/bin/dnf5", "usr/lib/sysimage/rpm/x", "var/cache/libdnf5/updates-1/repodata/repomd.xml", "var/cache/libdnf5/updates-1/repodata/1-updateinfo.xml.zst"}
	suse := []string{"usr/bin/zypper", "etc/products.d/x", "var/cache/zypp/raw/oss/repodata/repomd.xml", "var/cache/zypp/raw/oss/repodata/1-updateinfo.xml.gz"}
	for name, c := range map[string]struct {
		program string
		files   []string
		runs    []string
		field   string
		rows    int // updates and what waits
	}{
		"phased packages of apt":     {"/usr/bin/apt-cache", []string{"usr/bin/apt-get", dpkgStatus, aptLists + "/a-security_Packages"}, []string{"apt-debian"}, "phased", 2},
		"installed versions":         {"/usr/bin/rpm", fedora, []string{"dnf5", "dnf5-security"}, "packages.current", 2},
		"security updates of dnf":    {"--security", fedora, []string{"dnf5", "rpm"}, "security_updates", 2},
		"security patches of zypper": {"list-patches", suse, []string{"zypper"}, "security_updates", 1},
	} {
		u := NewUpdates(made(t, c.files...), slow{c.program, replay.New(t, transcripts(c.runs...)...)})
		p, err := u.Pending(t.Context())
		if err != nil || len(p.Updates)+len(p.Withheld) != c.rows || len(p.Gaps) == 0 || p.Gaps[0].Field != c.field {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestManagerThatHangsIsATimeout(t *testing.T) {
	u := NewUpdates(made(t, "usr/bin/apt-get", dpkgStatus), slow{"/usr/bin/apt-get", flood{}})
	if _, err := u.Pending(t.Context()); fault.From(err).Code != fault.Timeout {
		t.Errorf("error %v", err)
	}
}

// simulating is an apt-get that goes on with every package for longer than anybody waits.
type simulating struct{}

func (simulating) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.OnStdout([]byte(simulated)) {
		return sysexec.Result{}, context.DeadlineExceeded
	}
	return sysexec.Result{}, nil
}

func TestNobodyWaitsForTheStepsOfAPlan(t *testing.T) {
	root := made(t, "usr/bin/apt-get", dpkgStatus, aptLists+"/a-security_Packages")
	p, err := NewUpdates(root, watched{new([]string), simulating{}}).Pending(t.Context())
	if err != nil || len(p.Updates) != 3 || p.Security != nil || !slices.ContainsFunc(p.Gaps, func(g answer.Gap) bool { return g.Field == "security_updates" }) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNothingLikeAnOptionReachesAptCache(t *testing.T) {
	var asked []string
	u := NewUpdates(made(t, "usr/bin/apt-get", dpkgStatus, aptLists+"/a-security_Packages"), watched{&asked, replay.New(t, transcripts("apt-debian")...)})
	if _, err := u.Pending(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/usr/bin/apt-cache policy -- gimp", "/usr/bin/apt-cache policy"}; !slices.Equal(asked, want) {
		t.Errorf("ran %q, want %q", asked, want)
	}
}

// watched notes what is asked of apt-cache, which says nothing.
type watched struct {
	asked *[]string
	sysexec.Runner
}

func (w watched) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path != "/usr/bin/apt-cache" {
		return w.Runner.Run(ctx, c)
	}
	*w.asked = append(*w.asked, strings.Join(append([]string{c.Path}, c.Args...), " "))
	return sysexec.Result{}, nil
}

func TestRebootSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  updates.Reboot
	}{
		"packages":      {map[string]string{"run/reboot-required": "", "run/reboot-required.pkgs": "libc6\ndbus\nlibc6\n"}, updates.Reboot{Due: true, Reason: "Updated packages ask for it: libc6, dbus."}},
		"many packages": {map[string]string{"run/reboot-required": "", "run/reboot-required.pkgs": "a b c d e f g h i j"}, updates.Reboot{Due: true, Reason: "Updated packages ask for it: a, b, c, d, e, f, g, h, and others."}},
		"the flag":      {map[string]string{"run/reboot-required": ""}, updates.Reboot{Due: true, Reason: "An updated package asks for it."}},
		"a newer kernel": {map[string]string{"boot/vmlinuz-6.1.0-9-amd64": "", "boot/vmlinuz-6.1.0-12-amd64": "", "boot/vmlinuz-6.1.0-10-amd64": ""},
			updates.Reboot{Due: true, Reason: "Kernel 6.1.0-12-amd64 is installed, 6.1.0-9-amd64 is running."}},
		"nothing": {map[string]string{"boot/vmlinuz-6.1.0-9-amd64": ""}, updates.Reboot{}},
	} {
		c.files["proc/sys/kernel/osrelease"] = "6.1.0-9-amd64\n"
		if got, err := NewUpdates(testenv.Plant(t, c.files), flood{}).Reboot(t.Context()); got != c.want || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestEveryManagerIsInTheList finds the managers by their method in the files of
// the package.
func TestEveryManagerIsInTheList(t *testing.T) {
	member, _ := reflect.TypeFor[updates.Report]().FieldByName("Manager")
	documented := strings.Split(member.Tag.Get("enum"), ",")
	listed := map[string]bool{}
	for _, m := range managers() {
		listed[reflect.TypeOf(m).Name()] = true
		if !slices.Contains(documented, m.name()) {
			t.Errorf("%s is not in the enum of updates.Report: %q", m.name(), documented)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "pending" {
				continue
			}
			found++
			if name, ok := f.Recv.List[0].Type.(*ast.Ident); !ok || !listed[name.Name] {
				t.Errorf("%s: a manager that is not in the list", file)
			}
		}
	}
	if found != len(listed) {
		t.Errorf("%d managers found, %d listed", found, len(listed))
	}
}

// flood is a machine on which every program prints without end.
type flood struct{}

func (flood) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, sysexec.ErrOutputTooLarge)
}
