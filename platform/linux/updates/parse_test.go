// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/lockfile"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/internal/updates"
)

const simulated = `NOTE: This is only a simulation!
      apt-get needs root privileges for real execution.
Reading package lists...
Building dependency tree...
Calculating upgrade...
The following packages were automatically installed and are no longer required:
   orphan (1.0)
Use 'apt autoremove' to remove it.
The following packages will be REMOVED:
   oldlib (1.0)
   oldconf* (1.0)
The following NEW packages will be installed:
   newlib (2.0)
The following packages have been kept back:
   vim (2:9.0-1 => 2:9.1-1)
   gimp
The following upgrades have been deferred due to phasing:
   curl (8.0-1 => 8.1-1)
The following packages will be upgraded:
   bash (5.2-1 => 5.2-2)
   libc6:i386 (2.36-9 => 2.36-10)
The following packages will be DOWNGRADED:
   pinned (3.0 => 2.0)
2 upgraded, 1 newly installed, 1 downgraded, 2 to remove and 3 not upgraded.
`

// parseAptPlan reads what apt prints, line by line as it is read while apt runs.
func parseAptPlan(out []byte) *aptPlan {
	plan := &aptPlan{updates: []updates.Package{}}
	(&sysexec.Lines{Longest: longestRow, Line: plan.read}).Add(out)
	return plan
}

func TestPlanOfApt(t *testing.T) {
	want := aptPlan{
		updates: []updates.Package{
			{Name: "bash", Current: "5.2-1", Candidate: "5.2-2"}, {Name: "libc6:i386", Current: "2.36-9", Candidate: "2.36-10"}, {Name: "pinned", Current: "3.0", Candidate: "2.0"},
		},
		extra: updates.Extra{Installs: 1, Removes: 2},
		kept: []updates.Withheld{
			{Name: "vim", Current: "2:9.0-1", Candidate: "2:9.1-1", Reason: updates.KeptBack}, {Name: "gimp", Reason: updates.KeptBack},
		},
		phased: []updates.Withheld{{Name: "curl", Current: "8.0-1", Candidate: "8.1-1", Reason: updates.Phased}},
	}
	// What follows is the same again, step by step, and is not read.
	got := parseAptPlan([]byte(simulated + "Inst bash [5.2-1] (5.2-2 Debian:12/stable [amd64])\nThe following packages will be upgraded:\n   again (1 => 2)\n"))
	if diff := cmp.Diff(want, *got, cmp.AllowUnexported(aptPlan{}), cmpopts.IgnoreFields(aptPlan{}, "heading", "sums", "size")); diff != "" || !got.whole() {
		t.Errorf("plan, %v (-want +got):\n%s", got.whole(), diff)
	}
}

func TestAPlanOfAptIsWholeOrNone(t *testing.T) {
	for _, change := range [][2]string{
		{"2 upgraded", "3 upgraded"}, {"1 newly", "0 newly"}, {"1 downgraded, ", ""}, {"2 to remove", "1 to remove"},
		{"   bash (5.2-1 => 5.2-2)\n", ""}, {"packages will be upgraded:", "updates:"}, {"(5.2-1 => 5.2-2)", ""}, {" not upgraded.", " left."},
	} {
		plan := parseAptPlan([]byte(strings.Replace(simulated, change[0], change[1], 1)))
		if plan.whole() {
			t.Errorf("whole although %q is %q", change[0], change[1])
		}
	}
	for line, whole := range map[string]bool{
		"0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n":                 true,
		"0 upgraded, 0 newly installed, 1 reinstalled, 0 to remove and 12 not upgraded.\n": true,
		"": false, "Upgrading: 0, Installing: 0, Removing: 0, Not Upgrading: 0\n": false,
	} {
		if plan := parseAptPlan([]byte(line)); plan.whole() != whole {
			t.Errorf("%q: %v", line, plan.whole())
		}
	}
}

const policies = `curl:
  Installed: 8.0-1
  Candidate: 8.1-1
  Version table:
     8.1-1 500 (phased 10%)
        500 https://deb.example.org stable/main amd64 Packages
     8.0-2 500
        990 https://deb.example.org stable-security/main amd64 Packages
 *** 8.0-1 100
        500 https://deb.example.org older/main amd64 Packages
        100 /var/lib/dpkg/status
gimp:i386:
  Installed: 2
  Candidate: 3
  Version table:
     4 1 (phased 0%)
     3 500
 *** 2 100
     1 500
        500 https://deb.example.org older/main amd64 Packages
`

func TestPolicyOfAptNamesPhasedCandidatesAndWhereVersionsAre(t *testing.T) {
	const stable, security, older = "https://deb.example.org stable/main amd64 Packages", "https://deb.example.org stable-security/main amd64 Packages", "https://deb.example.org older/main amd64 Packages"
	want := map[string]aptPolicy{
		"curl": {"8.1-1", []aptVersion{
			{version: "8.1-1", phased: true, archives: []string{stable}}, {version: "8.0-2", archives: []string{security}},
			{version: "8.0-1", installed: true, archives: []string{older, "/var/lib/dpkg/status"}},
		}},
		"gimp:i386": {"3", []aptVersion{{version: "4", phased: true}, {version: "3"}, {version: "2", installed: true}, {version: "1", archives: []string{older}}}},
	}
	got := parseAptPolicy([]byte(policies))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(aptPolicy{}, aptVersion{})); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if curl, gimp := got["curl"], got["gimp:i386"]; !curl.candidatePhased() || gimp.candidatePhased() ||
		!slices.Equal(curl.newer(), []string{stable, security}) || gimp.newer() != nil {
		t.Errorf("%v %v", curl.newer(), gimp.newer())
	}
}

const archives = `Package files:
 100 /var/lib/dpkg/status
     release a=now
 500 https://deb.example.org stable-security/main amd64 Packages
     release v=12,o=Debian,a=stable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
     origin deb.example.org
 500 https://deb.example.org stable/main amd64 Packages
     release v=12.15,o=Debian,a=stable,n=bookworm,l=Debian,c=main,b=amd64
     origin deb.example.org
 500 https://esm.example.org jammy-infra-security/main amd64 Packages
     release v=22.04,o=UbuntuESM,a=jammy-infra-security,n=jammy,l=UbuntuESM,c=main,b=amd64
     origin esm.example.org
 500 https://acme.example.org stable/main amd64 Packages
     release o=Acme, Inc. (EU),a=stable,l=Security Tools, by Acme,c=main
     origin acme.example.org
 500 https://old.example.org oldstable/main amd64 Packages
     release v=10,o=Debian,a=oldstable,l=Debian-Security,c=main
     origin old.example.org
 500 https://bare.example.org ./ Packages
     release c=
     origin bare.example.org
 500 https://plain.example.org ./ Packages
     release a=security,c=
     origin plain.example.org
 500 file:/srv/security ./ Packages
     release l=Debian-Security,c=
 500 file:/srv/stable-security ./ Packages
Pinned packages:
     vim -> 2 with priority 990
`

func TestArchivesOfAptAreJudgedByTheirRelease(t *testing.T) {
	want := map[string]aptArchive{
		"https://deb.example.org stable-security/main amd64 Packages":      {"Debian-Security:12/stable-security", true},
		"https://deb.example.org stable/main amd64 Packages":               {"Debian:12.15/stable", false},
		"https://esm.example.org jammy-infra-security/main amd64 Packages": {"UbuntuESM:22.04/jammy-infra-security", true},
		"https://acme.example.org stable/main amd64 Packages":              {"Security Tools, by Acme:stable", false},
		"https://old.example.org oldstable/main amd64 Packages":            {"Debian-Security:10/oldstable", true},
		"https://bare.example.org ./ Packages":                             {"bare.example.org", false},
		"https://plain.example.org ./ Packages":                            {"security", true},
		"file:/srv/security ./ Packages":                                   {"Debian-Security:localhost", true},
		"file:/srv/stable-security ./ Packages":                            {"localhost", false},
	}
	if diff := cmp.Diff(want, parseAptArchives([]byte(archives)), cmp.AllowUnexported(aptArchive{})); diff != "" {
		t.Errorf("archives (-want +got):\n%s", diff)
	}
}

func TestHoldsOfDpkg(t *testing.T) {
	status := "Package: vim\nStatus: hold ok installed\nArchitecture: amd64\nDescription: an editor\n Status: hold the line\n\n" +
		"Package: bash\nStatus: install ok installed\nArchitecture: amd64\n\nPackage: libc6\nStatus: hold ok installed\nPriority: optional\nArchitecture: i386\n"
	want := map[string]bool{"vim": true, "vim:amd64": true, "libc6": true, "libc6:i386": true}
	if diff := cmp.Diff(want, parseHeld([]byte(status))); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if got := parseHeld([]byte("Package: a\nStatus: install ok installed\n")); len(got) != 0 {
		t.Errorf("held %v", got)
	}
}

func TestOnlyNamesOfPackagesReachAnotherProgram(t *testing.T) {
	for name, want := range map[string]bool{
		"g++-12": true, "libc6:i386": true, "0ad": true, "xz": true, "": false, "a": false, "-o": false, "--help": false, "+x": false,
		"a b": false, "a/b": false, "a=1": false, "Ab": false, "a\n": false, "ä1": false, "a*": false,
	} {
		if got := isPackageName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestListOfDNF(t *testing.T) {
	want := []updates.Package{
		{Name: "audit.x86_64", Candidate: "2.7-1.fc25", Origin: "updates"},
		{Name: "a-name-that-is-too-long-for-its-column.noarch", Candidate: "1:2.0-1", Origin: "base"},
		{Name: "python3.11.x86_64", Candidate: "3.11.2-1.el9", Origin: "@commandline"},
	}
	for generation, out := range map[string]string{
		"4": "Last metadata expiration check: 0:07:38 ago on Sat Nov 21 20:46:13 2026.\n\n" +
			"audit.x86_64       2.7-1.fc25    updates\na-name-that-is-too-long-for-its-column.noarch\n                   1:2.0-1       base\n" +
			"python3.11.x86_64  3.11.2-1.el9  @commandline\nSecurity: kernel-core-6.1-1.x86_64 is an installed security update\n" +
			"Obsoleting Packages\nnew.x86_64  2-1  base\n    old.x86_64  1-1  @System\n",
		"5": "Updating and loading repositories:\nRepositories loaded.\nUpgrades\naudit.x86_64 2.7-1.fc25 updates\n" +
			"a-name-that-is-too-long-for-its-column.noarch 1:2.0-1 base\npython3.11.x86_64 3.11.2-1.el9 @commandline\n\n" +
			"Obsoleting packages\nnew.x86_64 2-1 base\n    old.x86_64 1-1 @System\n",
	} {
		if diff := cmp.Diff(want, parseDNF([]byte(out))); diff != "" {
			t.Errorf("dnf %s (-want +got):\n%s", generation, diff)
		}
	}
	if got := parseDNF([]byte("Error: Failed to download metadata for repo 'base': all mirrors were tried\n")); len(got) != 0 {
		t.Errorf("an error was taken for %v", got)
	}
}

func TestVersionInstalledLastIsTheCurrentOne(t *testing.T) {
	out := "100 kernel.x86_64 0:6.1-1\n300 kernel.x86_64 6.3-1\n200 kernel.x86_64 6.2-1\n5 bash.x86_64 1:5.2-1\nx gone.x86_64 1-1\nwarning: something\n"
	want := map[string]string{"kernel.x86_64": "6.3-1", "bash.x86_64": "1:5.2-1"}
	if diff := cmp.Diff(want, parseInstalled([]byte(out))); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
}

func TestListOfPacman(t *testing.T) {
	list, withheld := parsePacman([]byte("bash 5.2-1 -> 5.3-1\nlinux 6.1-1 -> 6.2-1 [ignored]\nerror: no such thing\n"))
	if diff := cmp.Diff([]updates.Package{{Name: "bash", Current: "5.2-1", Candidate: "5.3-1"}}, list); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]updates.Withheld{{Name: "linux", Current: "6.1-1", Candidate: "6.2-1", Reason: updates.Held}}, withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
}

func TestListOfAPK(t *testing.T) {
	out := "WARNING: opening a repository\nmusl-1.2.5-r23 x86_64 {musl} (MIT) [upgradable from: musl-1.2.5-r21]\n" +
		"ca-certificates-bundle-20260413-r0 x86_64 {ca-certificates} (MPL-2.0 AND MIT) [upgradable from: ca-certificates-bundle-20251003-r0]\n" +
		"zlib-1.3 x86_64 {zlib} (Zlib) [installed]\n"
	want := []updates.Package{
		{Name: "musl", Current: "1.2.5-r21", Candidate: "1.2.5-r23", Origin: "musl"},
		{Name: "ca-certificates-bundle", Current: "20251003-r0", Candidate: "20260413-r0", Origin: "ca-certificates"},
	}
	if diff := cmp.Diff(want, parseAPK([]byte(out))); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

const stream = `<?xml version='1.0'?>
<stream>
<progress id="2" name="Building repository &apos;OSS&apos; cache" done="1"/>
<message type="info">Loading repository data...</message>
<message type="error">Some of the repositories
have not been refreshed.</message>
<update-status version="0.6">
<update-list>
<update kind="package" name="at" edition="3.1.14-8.3.1" arch="x86_64" edition-old="3.1.14-7.3"><summary>x</summary><source url="https://download.example.org/" alias="Updates"/></update><update kind="package" name="x"/><update kind="patch" name="SUSE-2026-7" edition="1" arch="noarch" category="security"><summary>t</summary></update></update-list>
</update-status>
</stream>
`

func TestStreamOfZypper(t *testing.T) {
	a, err := parseZypper([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	want := []updates.Package{{Name: "at.x86_64", Current: "3.1.14-7.3", Candidate: "3.1.14-8.3.1", Origin: "Updates"}}
	if diff := cmp.Diff(want, a.packages()); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if len(a.updates) != 3 || a.updates[2].Name != "SUSE-2026-7" || a.errors != "Some of the repositories have not been refreshed.\n" {
		t.Errorf("%+v", a)
	}
	for _, bad := range []string{"", "no", "<stream>", stream[:len(stream)/2], "<a></a>", strings.TrimSuffix(stream, "</stream>\n")} {
		if _, err := parseZypper([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func lockedFiles(raw []byte) (files []string) {
	lockfile.EachLock(bytes.NewReader(raw), func(fields []string) bool {
		if isWriteLock(fields) {
			files = append(files, fields[5])
		}
		return true
	})
	return files
}

func TestLocksOfTheKernel(t *testing.T) {
	raw := "1: POSIX  ADVISORY  WRITE 115 fe:00:99 0 EOF\n2: POSIX  ADVISORY  READ 115 fe:00:98 0 EOF\n" +
		"3: FLOCK  ADVISORY  WRITE 1 fe:00:97 0 EOF\n1: -> POSIX  ADVISORY  WRITE 116 fe:00:96 0 EOF\n4: POSIX\n"
	if diff := cmp.Diff([]string{"fe:00:99"}, lockedFiles([]byte(raw))); diff != "" {
		t.Errorf("locked (-want +got):\n%s", diff)
	}
}

func TestErrorsThatAreRepeated(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"what now\nelse\n":                  "what now",
		"NOTE\nE: one\nW: no\nE: two\nE: 3": "one; two",
		"warning: x\nerror: could not open": "could not open",
	} {
		if got := errorLines(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// sound says that what was parsed can be shown: nothing without a name.
func sound(t *testing.T, list []updates.Package, withheld []updates.Withheld) {
	t.Helper()
	for _, p := range list {
		if p.Name == "" || p.Candidate == "" {
			t.Errorf("an update without a name or a version: %+v", p)
		}
	}
	for _, w := range withheld {
		if w.Name == "" || w.Reason == "" {
			t.Errorf("a package that waits without a name or a reason: %+v", w)
		}
	}
}

func FuzzPlanOfApt(f *testing.F) {
	f.Add([]byte(simulated))
	f.Add([]byte(policies))
	f.Add([]byte(archives))
	f.Add([]byte("The following packages will be upgraded:\n  ( => )\n (\n99999999999999999999 upgraded, 1 newly installed, 1 to remove and 0 not upgraded.\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		plan := parseAptPlan(out)
		plan.whole()
		sound(t, plan.updates, append(plan.kept, plan.phased...))
		parseAptPolicy(out)
		parseAptArchives(out)
		parseHeld(out)
		lockedFiles(out)
	})
}

func FuzzListsOfOtherManagers(f *testing.F) {
	f.Add([]byte("bash 5.2-1 -> 5.3-1\nlinux 6.1-1 -> 6.2-1 [ignored]\n"))
	f.Add([]byte("audit.x86_64 2.7-1 updates\nlong.noarch\n  1-1 base\nObsoleting packages\n"))
	f.Add([]byte("musl-1.2.5-r23 x86_64 {musl} (MIT) [upgradable from: musl-1.2.5-r21]\n"))
	f.Add([]byte("100 kernel.x86_64 0:6.1-1\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		sound(t, parseDNF(out), nil)
		sound(t, parseAPK(out), nil)
		list, withheld := parsePacman(out)
		sound(t, list, withheld)
		parseInstalled(out)
		errorLines(string(out))
	})
}

func FuzzStreamOfZypper(f *testing.F) {
	f.Add([]byte(stream))
	f.Add([]byte("<stream><update/><message>x"))
	f.Fuzz(func(t *testing.T, out []byte) {
		a, _ := parseZypper(out)
		sound(t, a.packages(), nil)
	})
}

// What dnf is set to leave out is listed by the options that its generation has for it.
func TestWhatDNFLeavesOut(t *testing.T) {
	for _, c := range []struct {
		name, program, file, text string
		args, locked              []string
	}{
		{"nothing", "dnf", "etc/dnf/dnf.conf", "[main]\n#exclude=x\nbest=True\n", nil, nil},
		{"dnf 4", "dnf", "etc/dnf/dnf.conf", "[main]\nexclude = openssl*\n", []string{"--setopt=disable_excludes=all"}, nil},
		{"of a repository", "dnf5", "etc/yum.repos.d/a.repo", "[a]\nexcludepkgs=x\n", []string{"--setopt=disable_excludes=*"}, nil},
		{"all but", "dnf5", "etc/dnf/libdnf5.conf.d/a.conf", "[main]\nincludepkgs=x\n", []string{"--setopt=disable_excludes=*"}, nil},
		{"locked versions", "dnf", versionLock, "# x\n\nopenssl-0:3.0-1.*\n", []string{"--disableplugin=versionlock"}, nil},
		{"no locked version", "dnf", versionLock, "# x\n", nil, nil},
		{"locked versions of dnf5", "dnf5", versionLock5, "version = \"1.0\"\n[[packages]]\nname = \"openssl\"\n[[packages.conditions]]\nkey = \"evr\"\n", nil, []string{"openssl"}},
	} {
		m := machine{root: testenv.Plant(t, map[string]string{"usr/bin/" + c.program: "", c.file: c.text})}
		args, locked, err := dnf{}.leftIn(m)
		if err != nil || !slices.Equal(args, c.args) || !slices.Equal(locked, c.locked) {
			t.Errorf("%s: %q, %q, %v", c.name, args, locked, err)
		}
	}
}
