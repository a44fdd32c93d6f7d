// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/internal/updates"
)

const rpms = "/mnt/rpms"

// rpmMachine is a machine of packages of rpm: plain and secure are installed in
// version 1.0, and a repository has version 1.1 of each, of which an advisory is about the
// second.
func rpmMachine(t *testing.T) {
	t.Helper()
	ownFiles(t)
	empty(t, "/var/lib/dpkg")
	empty(t, "/var/lib/rpm")
	write(t, "/etc/rpm/macros", "%_dbpath /var/lib/rpm\n") // Debian has that of each user
	for _, version := range []string{"1.0", "1.1"} {
		for name, epoch := range map[string]int{"plain": 0, "secure": 2} {
			spec := filepath.Join(rpms, name+".spec")
			write(t, spec, fmt.Sprintf("Name: %s\nVersion: %s\nRelease: 1\nEpoch: %d\nSummary: x\nLicense: x\nBuildArch: noarch\n%%description\nx\n%%files\n", name, version, epoch))
			command(t, "rpmbuild", "--quiet", "--define", "_topdir "+rpms+"/build", "--define", "_rpmdir "+rpms+"/"+version, "-bb", spec)
		}
	}
	old, err := filepath.Glob(rpms + "/1.0/noarch/*.rpm")
	must(t, err)
	command(t, "rpm", append([]string{"-i", "--force-debian", "--nodeps"}, old...)...)
	repository(t, rpms+"/1.1", "secure")
}

func repository(t *testing.T, dir, secure string) {
	t.Helper()
	command(t, "createrepo_c", "-q", dir)
	write(t, rpms+"/updateinfo.xml", `<updates><update from="x@example.org" status="stable" type="security" version="1"><id>TEST-2026:1</id><title>t</title>`+
		`<issued date="2026-11-01 00:00:00"/><severity>Important</severity><references/><description>d</description><pkglist><collection short="x"><name>x</name>`+
		`<package name="`+secure+`" version="1.1" release="1" epoch="2" arch="noarch" src="x.src.rpm"><filename>x.rpm</filename></package></collection></pkglist></update></updates>`)
	command(t, "modifyrepo_c", rpms+"/updateinfo.xml", dir+"/repodata")
	for _, file := range []string{"/etc/yum.repos.d/local.repo", "/etc/zypp/repos.d/local.repo"} {
		empty(t, filepath.Dir(file))
		write(t, file, "[local]\nname=Local ü\nbaseurl=file://"+dir+"\ngpgcheck=0\nenabled=1\nautorefresh=0\n")
	}
}

// duringRPM installs a package with rpm, and calls f before that goes on.
func duringRPM(t *testing.T, f func()) {
	t.Helper()
	testenv.HangGuard(t)
	const gate = rpms + "/gate"
	must(t, syscall.Mkfifo(gate, 0o600))
	write(t, rpms+"/slow.spec", "Name: slow\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n%description\nx\n%pre\nread x < "+gate+"\n%files\n")
	command(t, "rpmbuild", "--quiet", "--define", "_topdir "+rpms+"/build", "--define", "_rpmdir "+rpms+"/slow", "-bb", rpms+"/slow.spec")
	c := exec.Command("rpm", "-i", "--force-debian", "--nodeps", rpms+"/slow/noarch/slow-1-1.noarch.rpm")
	must(t, c.Start())
	w, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits until the package is being installed
	must(t, err)
	f()
	must(t, w.Close())
	c.Wait() // read has found no line
}

func busyDuringRPM(t *testing.T) {
	if p := pendingHere(t); p.Busy {
		t.Error("busy before")
	}
	duringRPM(t, func() {
		if p := pendingHere(t); !p.Busy || len(p.Updates) != 2 {
			t.Errorf("%+v", p)
		}
	})
	if p := pendingHere(t); p.Busy {
		t.Error("busy afterwards")
	}
}

// spoil overwrites every file whose name fits.
func spoil(t *testing.T, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", p, files, err)
		}
		for _, f := range files {
			write(t, f, "\x00\xff noise")
		}
	}
}

func TestDNFOnAMachineOfItsOwn(t *testing.T) {
	testenv.Program(t, "dnf", "dnf")
	testenv.Program(t, "createrepo_c", "createrepo-c")
	testenv.Program(t, "rpmbuild", "rpm")
	if !testenv.Isolated(t) {
		return
	}
	rpmMachine(t)
	must(t, os.RemoveAll("/etc/zypp"))
	empty(t, "/var/cache/dnf")
	t.Run("lists never fetched", func(t *testing.T) {
		if p := pendingHere(t); p.Manager != "dnf" || p.Unknown == nil || !strings.Contains(p.Unknown.Error(), "sudo dnf makecache") {
			t.Errorf("%+v", p)
		}
	})
	began := time.Now().Truncate(time.Second)
	command(t, "dnf", "-q", "makecache")
	for who, runner := range map[string]sysexec.Runner{"root": sysexec.Host{}, "nobody": as{testenv.Nobody}} {
		t.Run("as "+who, func(t *testing.T) {
			p, err := NewUpdates("/", runner).Pending(t.Context())
			must(t, err)
			slices.SortFunc(p.Updates, func(a, b updates.Package) int { return strings.Compare(a.Name, b.Name) })
			expect(t, "updates", []updates.Package{
				{Name: "plain.noarch", Current: "1.0-1", Candidate: "1.1-1", Security: new(false), Origin: "local"},
				{Name: "secure.noarch", Current: "2:1.0-1", Candidate: "2:1.1-1", Security: new(true), Origin: "local"},
			}, p.Updates)
			expect(t, "security", []string{"secure.noarch"}, p.Security)
			if p.Refreshed.Before(began) || p.Refreshed.After(time.Now()) {
				t.Errorf("refreshed %v", p.Refreshed)
			}
		})
	}
	t.Run("while rpm installs", busyDuringRPM)
	t.Run("left out", func(t *testing.T) {
		const file = "/etc/yum.repos.d/local.repo"
		before, err := os.ReadFile(file)
		must(t, err)
		write(t, file, string(before)+"excludepkgs = secure\n")
		p := pendingHere(t)
		expect(t, "updates", []string{"plain.noarch 1.0-1 1.1-1"}, candidates(p.Updates))
		expect(t, "withheld", []updates.Withheld{{Name: "secure.noarch", Current: "2:1.0-1", Candidate: "2:1.1-1", Reason: updates.Held, Security: new(true)}}, p.Withheld)
		write(t, file, string(before))
		expect(t, "withheld without that", []updates.Withheld{}, pendingHere(t).Withheld)
	})
	t.Run("locked", func(t *testing.T) {
		const lock = "/var/cache/dnf/metadata_lock.pid"
		write(t, lock, strconv.Itoa(os.Getpid()))
		failsHere(t, "locked", fault.Unavailable, "Another program is using dnf", "Wait")
		must(t, os.Remove(lock))
	})
	t.Run("no advisories", func(t *testing.T) {
		command(t, "createrepo_c", "-q", rpms+"/1.1")
		empty(t, "/var/cache/dnf")
		command(t, "dnf", "-q", "makecache")
		p := pendingHere(t)
		if p.Security != nil || len(p.Updates) != 2 || p.Updates[0].Security != nil || len(p.Gaps) == 0 || p.Gaps[0].Field != "security_updates" {
			t.Errorf("%+v", p)
		}
		repository(t, rpms+"/1.1", "secure")
		must(t, os.RemoveAll("/etc/zypp"))
		empty(t, "/var/cache/dnf")
		command(t, "dnf", "-q", "makecache")
	})
	t.Run("damaged lists", func(t *testing.T) {
		spoil(t, "/var/cache/dnf/*/repodata/*primary.xml*", "/var/cache/dnf/*.solv*")
		failsHere(t, "damaged", fault.Unavailable, "lists are damaged: dnf leaves out local", "dnf clean metadata")
		empty(t, "/var/cache/dnf")
		command(t, "dnf", "-q", "makecache")
	})
	t.Run("damaged database", func(t *testing.T) {
		databases, err := os.ReadDir("/var/lib/rpm")
		must(t, err)
		must(t, exec.Command("cp", "-a", "/var/lib/rpm", "/mnt/rpmdb").Run())
		for _, d := range databases {
			spoil(t, "/var/lib/rpm/"+d.Name())
		}
		failsHere(t, "damaged", fault.Unavailable, "installed packages is damaged", "rpm --rebuilddb")
		must(t, os.RemoveAll("/var/lib/rpm"))
		must(t, exec.Command("cp", "-a", "/mnt/rpmdb", "/var/lib/rpm").Run())
	})
	t.Run("up to date", func(t *testing.T) {
		now, err := filepath.Glob(rpms + "/1.1/noarch/*.rpm")
		must(t, err)
		command(t, "rpm", append([]string{"-U", "--force-debian", "--nodeps"}, now...)...)
		if p := pendingHere(t); p.Unknown != nil || len(p.Updates) != 0 || p.Security == nil || len(p.Security) != 0 {
			t.Errorf("%+v", p)
		}
	})
}

func TestZypperOnAMachineOfItsOwn(t *testing.T) {
	testenv.Program(t, "zypper", "zypper")
	testenv.Program(t, "createrepo_c", "createrepo-c")
	testenv.Program(t, "rpmbuild", "rpm")
	if !testenv.Isolated(t) {
		return
	}
	rpmMachine(t)
	empty(t, "/var/cache/zypp")
	t.Run("lists never fetched", func(t *testing.T) {
		if p := pendingHere(t); p.Manager != "zypper" || p.Unknown == nil || !strings.Contains(p.Unknown.Error(), "sudo zypper refresh") {
			t.Errorf("%+v", p)
		}
	})
	began := time.Now().Truncate(time.Second)
	command(t, "zypper", "--non-interactive", "refresh")
	for who, runner := range map[string]sysexec.Runner{"root": sysexec.Host{}, "nobody": as{testenv.Nobody}} {
		t.Run("as "+who, func(t *testing.T) {
			p, err := NewUpdates("/", runner).Pending(t.Context())
			must(t, err)
			expect(t, "updates", []string{"plain.noarch 1.0-1 1.1-1", "secure.noarch 2:1.0-1 2:1.1-1"}, candidates(p.Updates))
			expect(t, "security", []string{"TEST-2026:1"}, p.Security)
			if p.Refreshed.Before(began) || p.Refreshed.After(time.Now()) {
				t.Errorf("refreshed %v", p.Refreshed)
			}
		})
	}
	t.Run("while rpm installs", busyDuringRPM)
	t.Run("left out", func(t *testing.T) {
		expect(t, "withheld without a lock", []updates.Withheld{}, pendingHere(t).Withheld)
		command(t, "zypper", "--non-interactive", "addlock", "secure")
		p := pendingHere(t)
		expect(t, "updates", []string{"plain.noarch 1.0-1 1.1-1"}, candidates(p.Updates))
		expect(t, "withheld", []updates.Withheld{{Name: "secure.noarch", Current: "2:1.0-1", Candidate: "2:1.1-1", Reason: updates.Held}}, p.Withheld)
		expect(t, "security", []string{"TEST-2026:1"}, p.Security)
		command(t, "zypper", "--non-interactive", "removelock", "secure")
	})
	t.Run("locked", func(t *testing.T) {
		const lock = "/run/zypp.pid"
		must(t, exec.Command("mount", "-t", "tmpfs", "none", "/run").Run())
		write(t, lock, strconv.Itoa(os.Getpid()))
		failsHere(t, "locked", fault.Unavailable, "Another program is using zypper", "Wait")
		must(t, os.Remove(lock))
	})
	t.Run("lists not digested", func(t *testing.T) {
		empty(t, "/var/cache/zypp/solv")
		_, err := NewUpdates("/", as{testenv.Nobody}).Pending(t.Context())
		expectFault(t, "not digested", err, fault.PermissionDenied, "takes root", "sudo zypper refresh")
	})
	t.Run("damaged lists", func(t *testing.T) {
		empty(t, "/var/cache/zypp/solv")
		spoil(t, "/var/cache/zypp/raw/*/repodata/*primary.xml*")
		failsHere(t, "damaged", fault.Unavailable, "lists are damaged", "zypper refresh --force")
	})
}

// pacmanPackage is an entry of a database of pacman.
func pacmanPackage(name, version string) string {
	return fmt.Sprintf("%%FILENAME%%\n%s-%s-any.pkg.tar.zst\n\n%%NAME%%\n%s\n\n%%VERSION%%\n%s\n\n%%DESC%%\nx\n\n%%ARCH%%\nany\n\n%%CSIZE%%\n1\n\n%%ISIZE%%\n1\n\n%%BUILDDATE%%\n1\n\n", name, version, name, version)
}

// synchronise writes the database of a repository as pacman -Sy fetches it.
func synchronise(t *testing.T, repository string, packages ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	files := tar.NewWriter(compressed)
	for _, p := range packages {
		name, version, _ := strings.Cut(p, " ")
		content := pacmanPackage(name, version)
		must(t, files.WriteHeader(&tar.Header{Name: name + "-" + version + "/desc", Mode: 0o644, Size: int64(len(content))}))
		_, err := files.Write([]byte(content))
		must(t, err)
	}
	must(t, files.Close())
	must(t, compressed.Close())
	write(t, "/var/lib/pacman/sync/"+repository+".db", b.String())
	return b.Bytes()
}

func TestPacmanOnAMachineOfItsOwn(t *testing.T) {
	testenv.Program(t, "pacman", "pacman-package-manager")
	if !testenv.Isolated(t) {
		return
	}
	ownFiles(t)
	empty(t, "/var/lib/dpkg")
	empty(t, "/var/lib/rpm")
	must(t, os.RemoveAll("/var/lib/rpm"))
	must(t, os.RemoveAll("/etc/zypp"))
	empty(t, "/var/lib/pacman/sync")
	write(t, "/etc/pacman.conf", "[options]\nArchitecture = auto\nSigLevel = Never\nIgnorePkg = held\n[core]\nServer = file:///nowhere\n")
	write(t, "/var/lib/pacman/local/ALPM_DB_VERSION", "9\n")
	for _, p := range []string{"plain 1.0-1", "held 1.0-1", "current 3-1"} {
		name, version, _ := strings.Cut(p, " ")
		write(t, "/var/lib/pacman/local/"+name+"-"+version+"/desc", pacmanPackage(name, version))
		write(t, "/var/lib/pacman/local/"+name+"-"+version+"/files", "%FILES%\n")
	}
	t.Run("lists never fetched", func(t *testing.T) {
		if p := pendingHere(t); p.Manager != "pacman" || p.Unknown == nil {
			t.Errorf("%+v", p)
		}
	})
	began := time.Now().Truncate(time.Second)
	whole := synchronise(t, "core", "plain 1.1-1", "held 2.0-1", "current 3-1")
	t.Run("one newer, one ignored", func(t *testing.T) {
		p, err := NewUpdates("/", as{testenv.Nobody}).Pending(t.Context())
		must(t, err)
		expect(t, "updates", []updates.Package{{Name: "plain", Current: "1.0-1", Candidate: "1.1-1"}}, p.Updates)
		expect(t, "withheld", []updates.Withheld{{Name: "held", Current: "1.0-1", Candidate: "2.0-1", Reason: updates.Held}}, p.Withheld)
		if p.Security != nil || p.Busy || p.Refreshed.Before(began) {
			t.Errorf("%+v", p)
		}
	})
	t.Run("locked", func(t *testing.T) {
		write(t, "/var/lib/pacman/db.lck", "")
		if p := pendingHere(t); !p.Busy || len(p.Updates) != 1 {
			t.Errorf("%+v", p)
		}
		must(t, os.Remove("/var/lib/pacman/db.lck"))
	})
	for name, content := range map[string]string{"noise": "\x00\xff noise", "cut": string(whole[:len(whole)/2])} {
		t.Run("damaged list: "+name, func(t *testing.T) {
			write(t, "/var/lib/pacman/sync/core.db", content)
			failsHere(t, name, fault.Unavailable, "lists are damaged: ", "pacman -Syy")
		})
	}
	t.Run("up to date", func(t *testing.T) {
		synchronise(t, "core", "plain 1.0-1", "current 3-1")
		if p := pendingHere(t); p.Unknown != nil || p.Updates == nil || len(p.Updates)+len(p.Withheld) != 0 {
			t.Errorf("%+v", p)
		}
	})
}
