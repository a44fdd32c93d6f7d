// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/internal/updates"
)

// ownFiles puts a private layer over the directories that package managers write
// to. What is written there is gone with the mount namespace of the test.
func ownFiles(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	must(t, syscall.Mount("none", "/mnt", "tmpfs", 0, ""))
	for _, name := range []string{"etc", "var"} {
		upper, work := "/mnt/"+name+"/upper", "/mnt/"+name+"/work"
		must(t, os.MkdirAll(upper, 0o755))
		must(t, os.MkdirAll(work, 0o755))
		must(t, syscall.Mount("overlay", "/"+name, "overlay", 0, "lowerdir=/"+name+",upperdir="+upper+",workdir="+work))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file with its directories.
func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

// empty leaves the directory and nothing in it.
func empty(t *testing.T, path string) {
	t.Helper()
	must(t, os.RemoveAll(path))
	must(t, os.MkdirAll(path, 0o755))
}

// command runs a program that prepares the test.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// as runs programs as an unprivileged user.
type as struct{ id int }

func (a as) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	id := fmt.Sprint(a.id)
	c.Args = append([]string{"--reuid", id, "--regid", id, "--clear-groups", c.Path}, c.Args...)
	c.Path = "/usr/bin/setpriv"
	return sysexec.Host{}.Run(ctx, c)
}

func pendingHere(t *testing.T) updates.Pending {
	t.Helper()
	p, err := NewUpdates("/", sysexec.Host{}).Pending(t.Context())
	must(t, err)
	return p
}

func failsHere(t *testing.T, name string, code fault.Code, says, fix string) {
	t.Helper()
	_, err := NewUpdates("/", sysexec.Host{}).Pending(t.Context())
	expectFault(t, name, err, code, says, fix)
}

// candidates reads a list as "name current candidate".
func candidates(list []updates.Package) []string {
	got := []string{}
	for _, p := range list {
		got = append(got, p.Name+" "+p.Current+" "+p.Candidate)
	}
	slices.Sort(got)
	return got
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const (
	archive  = "/mnt/archive" // with a directory for each suite
	listFile = "/etc/apt/sources.list"
)

// publish writes a flat archive of one suite, sources.list(5): each package is
// "name version" and the rest of its fields.
func publish(t *testing.T, label, suite string, packages ...string) {
	t.Helper()
	index := ""
	for _, p := range packages {
		name, rest, _ := strings.Cut(p, " ")
		version, fields, _ := strings.Cut(rest, " ")
		index += fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: x <x@example.org>\nFilename: ./%s.deb\nSize: 1\nSHA256: %064d\nDescription: x\n", name, version, name, 0)
		if fields != "" {
			index += fields + "\n"
		}
		index += "\n"
	}
	write(t, filepath.Join(archive, suite, "Packages"), index)
	write(t, filepath.Join(archive, suite, "Release"), fmt.Sprintf(
		"Origin: Test\nLabel: %s\nSuite: %s\nVersion: 12\nCodename: test\nDate: Sat, 21 Nov 2026 10:00:00 UTC\nArchitectures: all amd64 arm64\nSHA256:\n %x %d Packages\n",
		label, suite, sha256.Sum256([]byte(index)), len(index)))
}

// install writes what dpkg knows as installed: each package is "name version"
// and its selection where that is not install.
func install(t *testing.T, packages ...string) {
	t.Helper()
	status := ""
	for _, p := range packages {
		f := strings.Fields(p + " install")
		status += fmt.Sprintf("Package: %s\nStatus: %s ok installed\nMaintainer: x <x@example.org>\nArchitecture: all\nVersion: %s\nDescription: x\n\n", f[0], f[2], f[1])
	}
	write(t, "/"+dpkgStatus, status)
}

func aptMachine(t *testing.T) {
	t.Helper()
	ownFiles(t)
	for _, dir := range []string{"/etc/apt", "/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt"} {
		empty(t, dir)
	}
	// In the overlay the kernel shows other file numbers in /proc/locks than stat does.
	must(t, syscall.Mount("none", "/var/lib/dpkg", "tmpfs", 0, ""))
	for _, dir := range []string{"/etc/apt/apt.conf.d", "/etc/apt/preferences.d", "/var/lib/dpkg/updates", "/var/lib/dpkg/info", "/var/lib/apt/lists/partial", "/var/cache/apt/archives/partial"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	write(t, "/etc/machine-id", "00000000000000000000000000000001\n")
	write(t, listFile, "deb [trusted=yes] file://"+archive+"/stable ./\ndeb [trusted=yes] file://"+archive+"/stable-security ./\n")
	install(t, "plain 1.0", "secure 1.0", "both 1.0", "held 1.0 hold", "phased 1.0", "current 3.0", "needsnew 1.0", "blocked 1.0", "leaky 1.0 hold")
	publish(t, "Debian", "stable", "plain 1.1", "both 1.2", "held 2.0", "phased 1.5 Phased-Update-Percentage: 0", "current 3.0",
		"needsnew 2.0 Depends: brandnew", "brandnew 1.0", "blocked 2.0 Depends: nowhere", "leaky 3.0")
	publish(t, "Debian-Security", "stable-security", "secure 1.0+deb12u1", "both 1.2", "leaky 2.0")
}

func TestAptOnAMachineOfItsOwn(t *testing.T) {
	testenv.Program(t, "apt-get", "apt")
	if !testenv.Isolated(t) {
		return
	}
	aptMachine(t)
	t.Run("lists never fetched", func(t *testing.T) {
		p := pendingHere(t)
		if p.Unknown == nil || !strings.Contains(p.Unknown.Error(), "sudo apt-get update") || p.Updates != nil {
			t.Errorf("%+v", p)
		}
	})
	began := time.Now().Add(-time.Second)
	command(t, "apt-get", "update", "-q")
	want := updates.Pending{
		Manager: "apt", Security: []string{"both", "secure"}, Extra: &updates.Extra{Installs: 1},
		Updates: []updates.Package{
			{Name: "both", Current: "1.0", Candidate: "1.2", Security: new(true), Origin: "Debian:12/stable, Debian-Security:12/stable-security"},
			{Name: "needsnew", Current: "1.0", Candidate: "2.0", Security: new(false), Origin: "Debian:12/stable"},
			{Name: "plain", Current: "1.0", Candidate: "1.1", Security: new(false), Origin: "Debian:12/stable"},
			{Name: "secure", Current: "1.0", Candidate: "1.0+deb12u1", Security: new(true), Origin: "Debian-Security:12/stable-security"},
		},
		Withheld: []updates.Withheld{
			{Name: "blocked", Current: "1.0", Candidate: "2.0", Reason: updates.KeptBack, Security: new(false)}, {Name: "held", Current: "1.0", Candidate: "2.0", Reason: updates.Held, Security: new(false)},
			{Name: "leaky", Current: "1.0", Candidate: "3.0", Reason: updates.Held, Security: new(true)}, {Name: "phased", Current: "1.0", Candidate: "1.5", Reason: updates.Phased, Security: new(false)},
		},
	}
	sorted := func(p updates.Pending) updates.Pending {
		slices.SortFunc(p.Withheld, func(a, b updates.Withheld) int { return strings.Compare(a.Name, b.Name) })
		p.Refreshed = time.Time{}
		return p
	}
	t.Run("security, held and phased", func(t *testing.T) {
		p := pendingHere(t)
		if p.Refreshed.Before(began) || p.Refreshed.After(time.Now()) {
			t.Errorf("refreshed %v, after %v", p.Refreshed, began)
		}
		expect(t, "pending", want, sorted(p))
	})
	t.Run("without root", func(t *testing.T) {
		p, err := NewUpdates("/", as{testenv.Nobody}).Pending(t.Context())
		must(t, err)
		expect(t, "pending", want, sorted(p))
	})
	t.Run("stamps of the timers count", func(t *testing.T) {
		stamp := "/var/lib/apt/periodic/update-success-stamp"
		write(t, stamp, "")
		later := time.Now().Add(time.Hour).Truncate(time.Second)
		must(t, os.Chtimes(stamp, later, later))
		if p := pendingHere(t); !p.Refreshed.Equal(later) {
			t.Errorf("refreshed %v, want %v", p.Refreshed, later)
		}
		must(t, os.Remove(stamp))
	})
	t.Run("while somebody holds the lock", func(t *testing.T) {
		lock, err := os.OpenFile("/var/lib/dpkg/lock-frontend", os.O_CREATE|os.O_RDWR, 0o640)
		must(t, err)
		must(t, syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
		if p := pendingHere(t); !p.Busy || len(p.Updates) != 4 {
			t.Errorf("%+v", p)
		}
		must(t, lock.Close())
		if p := pendingHere(t); p.Busy {
			t.Error("busy without a lock")
		}
	})
	t.Run("no security archive", func(t *testing.T) {
		sources, err := os.ReadFile(listFile)
		must(t, err)
		first, _, _ := strings.Cut(string(sources), "\n")
		write(t, listFile, first+"\n")
		command(t, "apt-get", "update", "-q")
		p := pendingHere(t)
		if p.Security != nil || len(p.Updates) != 3 || p.Updates[0].Security != nil || len(p.Gaps) != 1 || p.Gaps[0].Field != "security_updates" || !errors.Is(p.Doubt, errNoSecurityArchive) {
			t.Errorf("%+v", p)
		}
		write(t, listFile, string(sources))
		command(t, "apt-get", "update", "-q")
	})
	aptFaults(t)
	t.Run("up to date", func(t *testing.T) {
		install(t, "plain 1.1", "secure 1.0+deb12u1")
		p := pendingHere(t)
		if p.Unknown != nil || len(p.Updates)+len(p.Withheld)+len(p.Security) != 0 || p.Updates == nil || p.Withheld == nil || p.Security == nil {
			t.Errorf("%+v", p)
		}
	})
}

// aptFaults damages one thing after another and repairs it.
func aptFaults(t *testing.T) {
	lists, err := filepath.Glob("/var/lib/apt/lists/*stable_*Packages")
	if err != nil || len(lists) != 1 {
		t.Fatalf("lists %v, %v", lists, err)
	}
	list := lists[0]
	good, err := os.ReadFile(list)
	must(t, err)
	must(t, os.Remove(list)) // a link into the archive
	status, err := os.ReadFile("/" + dpkgStatus)
	must(t, err)
	sources, err := os.ReadFile(listFile)
	must(t, err)
	for _, c := range []struct {
		name, file, content string
		good                []byte
		says, fix           string
	}{
		{"a list of noise", list, "\x00\x01\xff noise\n\n", good, "package lists are damaged: ", "apt-get update"},
		{"a list without names", list, strings.ReplaceAll(string(good), "Package:", "Pakage:"), good, filepath.Base(list), "apt-get update"},
		{"a list that was cut", list, string(good[:strings.Index(string(good), "Version")+3]), good, "package lists are damaged: ", "apt-get update"},
		{"a status file of noise", "/" + dpkgStatus, "\x00\xff", status, "installed packages is damaged: ", "dpkg.status"},
		{"a status file of nothing installed", "/" + dpkgStatus, "Package: x\n\n", status, "names none: it is damaged", "status-old"},
		{"sources that mean nothing", listFile, "deb nothing\n", sources, "list of sources: Malformed entry 1", "/etc/apt"},
		{"unmet dependencies", "/" + dpkgStatus, string(status) + "Package: broken\nStatus: install ok installed\nMaintainer: x\nArchitecture: all\nVersion: 1\nDepends: nowhere\nDescription: x\n\n", status, "lack what they depend on", "--fix-broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, c.file, c.content)
			failsHere(t, c.name, fault.Unavailable, c.says, c.fix)
			write(t, c.file, string(c.good))
		})
	}
	t.Run("a list that only root may read", func(t *testing.T) {
		write(t, list, string(good))
		must(t, os.Chmod(list, 0))
		_, err := NewUpdates("/", as{testenv.Nobody}).Pending(t.Context())
		expectFault(t, "unreadable", err, fault.PermissionDenied, "without root", "sudo sentinel --check-updates")
		must(t, os.Chmod(list, 0o644))
	})
}
