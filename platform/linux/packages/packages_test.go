// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

const (
	md5Empty  = "d41d8cd98f00b204e9800998ecf8427e"
	shaEmpty  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	sha1Empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
)

func TestParsersOfPackageData(t *testing.T) {
	moved := parseDiversions([]byte("/bin/a\n/bin/a.distrib\npkg\n/bin/b\n/bin/b.old\n:\n/cut\n"))
	if diff := cmp.Diff(map[string]string{"/bin/a.distrib": "/bin/a", "/bin/b.old": "/bin/b"}, moved); diff != "" {
		t.Error(diff)
	}
	overrides := parseOverrides([]byte("root crontab 2755 /usr/bin/crontab\nroot root 0755 /usr/bin/plain\nroot mail 4755 /usr/lib/a b\nroot root x /y\nshort\n"))
	if diff := cmp.Diff(map[string]int{"/usr/bin/crontab": 0o2755, "/usr/bin/plain": 0o755, "/usr/lib/a b": 0o4755}, overrides); diff != "" {
		t.Error(diff)
	}
	sums := parseSums([]byte(md5Empty + "  usr/bin/a b\nnonsense\n" + md5Empty + " one blank\nXX  usr/bin/x\n"))
	if diff := cmp.Diff(map[string]string{"/usr/bin/a b": md5Empty}, sums); diff != "" {
		t.Error(diff)
	}
	versions := map[string]string{"bash": "", "gone": ""}
	parseVersions([]byte("Package: bash\nStatus: install ok installed\nVersion: 5.2-1\nDescription: x\n Version: 9\n\nPackage: other\nVersion: 1\n"), versions)
	if diff := cmp.Diff(map[string]string{"bash": "5.2-1", "gone": ""}, versions); diff != "" {
		t.Error(diff)
	}
	apk := map[string]File{}
	parseApk([]byte("P:a\nV:1-r0\nF:usr/bin\nR:su\na:0:0:4755\nZ:Q12jmj7l5rSw0yVb/vlWAYkK/YBwk=\nR:ls\n\nP:b\nF:\nR:init\nF:etc\nM:0:0:1777\nR:x\na:0:0:bad\nZ:Q1bad\n"),
		func(name string, of File) { apk[name] = of })
	if diff := cmp.Diff(map[string]File{
		"/usr/bin/su": {Package: "a", Version: "1-r0", Mode: 0o4755, Digest: sha1Empty}, "/usr/bin/ls": {Package: "a", Version: "1-r0", Mode: 0o755},
		"/init": {Package: "b", Mode: 0o755}, "/etc/x": {Package: "b", Mode: 0o755},
	}, apk); diff != "" {
		t.Error(diff)
	}
	rpm := parseRPM([]byte("0104755 (" + shaEmpty + ") util-linux 2.40-1 /usr/bin/su\n0100755 () a 1-1 /usr/bin/a b\nfile /x is not owned by any package\n040755 () a 1-1 relative\n"))
	if diff := cmp.Diff(map[string]File{
		"/usr/bin/su": {Package: "util-linux", Version: "2.40-1", Mode: 0o104755, Digest: shaEmpty}, "/usr/bin/a b": {Package: "a", Version: "1-1", Mode: 0o100755},
	}, rpm); diff != "" {
		t.Error(diff)
	}
}

// rpmRunner is an rpm that is asked for the owners of files, and then for the files of util-linux.
type rpmRunner struct {
	t           *testing.T
	owners, out string
	end         int
}

func (r rpmRunner) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	switch {
	case c.Path == "/usr/bin/rpm" && slices.Equal(c.Args, []string{"-q", "--qf", rpmOwner, "-f", "/usr/bin/su", "/usr/bin/-x"}) && c.Timeout > 0:
		return sysexec.Result{Stdout: []byte(r.owners), Exit: r.end}, nil
	case c.Path == "/usr/bin/rpm" && slices.Equal(c.Args, []string{"-q", "--qf", rpmForm, "util-linux-2-1.x86_64"}) && c.Timeout > 0:
		return sysexec.Result{Stdout: []byte(r.out)}, nil
	}
	r.t.Errorf("runs %s %q", c.Path, c.Args)
	return sysexec.Result{}, nil
}

func TestFilesAreThoseOfTheirPackages(t *testing.T) {
	paths := []string{"/usr/bin/su", "/usr/bin/-x"}
	rpm := func(owners, out string, end int) sysexec.Runner { return rpmRunner{t, owners, out, end} }
	for name, c := range map[string]struct {
		files  map[string]string
		runner sysexec.Runner
		want   map[string]File
		err    error
	}{
		"dpkg": {map[string]string{
			"var/lib/dpkg/status":                   "Package: util-linux\nVersion: 2.40\n",
			"var/lib/dpkg/info/util-linux.list":     "/.\n/bin\n/bin/su\n",
			"var/lib/dpkg/info/util-linux.md5sums":  md5Empty + "  bin/su\n",
			"var/lib/dpkg/info/util-linux.postinst": "/usr/bin/-x\n",
		}, nil, map[string]File{"/usr/bin/su": {Package: "util-linux", Version: "2.40", Digest: md5Empty, Mode: -1}}, nil},
		"dpkg, diverted, of an architecture, with an override": {map[string]string{
			"var/lib/dpkg/status":                "x\n",
			"var/lib/dpkg/diversions":            "/usr/bin/sudo\n/usr/bin/su\nother\n",
			"var/lib/dpkg/info/login:amd64.list": "/usr/bin/sudo\n",
			"var/lib/dpkg/statoverride":          "root root 4755 /usr/bin/-x\n",
		}, nil, map[string]File{"/usr/bin/su": {Package: "login", Mode: -1}, "/usr/bin/-x": {Mode: 0o4755, Override: true}}, nil},
		"dpkg beside another manager": {map[string]string{"var/lib/dpkg/status": "", "lib/apk/db/installed": "P:busybox\nF:usr/bin\nR:su\n"},
			nil, map[string]File{"/usr/bin/su": {Package: "busybox", Mode: 0o755}}, nil},
		"apk": {map[string]string{"lib/apk/db/installed": "P:busybox\nV:1.37-r1\nF:bin\nR:su\na:0:0:4755\n"},
			nil, map[string]File{"/usr/bin/su": {Package: "busybox", Version: "1.37-r1", Mode: 0o4755}}, nil},
		"pacman": {map[string]string{"var/lib/pacman/local/util-linux-2.40-1/files": "%FILES%\nusr/bin/\nusr/bin/su\n", "var/lib/pacman/local/ALPM_DB_VERSION": "9\n"},
			nil, map[string]File{"/usr/bin/su": {Package: "util-linux", Version: "2.40-1", Mode: -1}}, nil},
		"rpm": {map[string]string{"var/lib/rpm/rpmdb.sqlite": ""}, rpm("util-linux-2-1.x86_64\nutil-linux-2-1.x86_64\nfile /usr/bin/-x is not owned by any package\n-x\n", "0104755 () util-linux 2-1 /usr/bin/su\n0100755 () util-linux 2-1 /usr/bin/other\n", 1),
			map[string]File{"/usr/bin/su": {Package: "util-linux", Version: "2-1", Mode: 0o104755}}, nil},
		"rpm whose data base cannot be read": {map[string]string{"var/lib/rpm/rpmdb.sqlite": ""}, rpm("", "", 1), map[string]File{}, errNoAnswer},
		"rpm that owns none of them":         {map[string]string{"var/lib/rpm/rpmdb.sqlite": ""}, rpm("file /usr/bin/su is not owned by any package\nfile /usr/bin/-x is not owned by any package\n", "", 1), map[string]File{}, nil},
		"rpm of another system":              {map[string]string{"var/lib/rpm/rpmdb.sqlite": ""}, nil, map[string]File{}, errNotLive},
		"no manager":                         {nil, nil, nil, ErrNoManager},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Finder{testenv.Plant(t, c.files), c.runner}.Files(t.Context(), paths)
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// echoingRPM owns one file, and says of every other that it does not.
type echoingRPM struct {
	runs, longest int
}

func (r *echoingRPM) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	r.runs++
	size := 0
	var out strings.Builder
	for _, a := range c.Args[3:] {
		size += len(a) + 1
		switch {
		case a == "-f":
		case a == "/usr/bin/su":
			out.WriteString("util-linux-2-1.x86_64\n")
		case strings.HasPrefix(a, "/"):
			out.WriteString("file " + a + " is not owned by any package\n")
		case a == "util-linux-2-1.x86_64":
			out.WriteString("0104755 () util-linux 2-1 /usr/bin/su\n")
		default:
			return sysexec.Result{}, errors.New("unknown package " + a)
		}
	}
	r.longest = max(r.longest, size)
	return sysexec.Result{Stdout: []byte(out.String()), Exit: 1}, nil
}

// The name of a file makes no other one a package's, and many long names keep rpm from nothing.
func TestNobodyForgesWhatRPMSays(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/lib/rpm/rpmdb.sqlite": ""})
	const planted = "/home/eve/miner"
	paths := []string{planted, "/home/eve/x\n0104755 () util-linux 2-1 " + planted + "\ny", "/home/eve/x\nevil-1-1.x86_64\ny", "-q", "/usr/bin/su"}
	for i := range 2000 {
		paths = append(paths, fmt.Sprintf("/home/eve/%d%s", i, strings.Repeat("x", 4000)))
	}
	rpm := &echoingRPM{}
	got, err := Finder{root, rpm}.Files(t.Context(), paths)
	if diff := cmp.Diff(map[string]File{"/usr/bin/su": {Package: "util-linux", Version: "2-1", Mode: 0o104755}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if rpm.longest > 1<<20 || rpm.runs != 12 {
		t.Errorf("%d runs, of %d bytes at most", rpm.runs, rpm.longest)
	}
}

func TestContentIsComparedByItsDigest(t *testing.T) {
	for _, digest := range []string{md5Empty, sha1Empty, shaEmpty} {
		f := File{Digest: digest}
		if same, err := f.Same(strings.NewReader("")); !same || err != nil {
			t.Errorf("%s: %v, %v", digest, same, err)
		}
		if same, err := f.Same(strings.NewReader("x")); same || err != nil {
			t.Errorf("another content: %v, %v", same, err)
		}
	}
	if _, err := (File{}).Same(strings.NewReader("")); !errors.Is(err, errNoDigest) {
		t.Errorf("without a digest: %v", err)
	}
}

// dpkg itself is asked about a program of this machine, which is as it was packaged.
func TestDpkgAgrees(t *testing.T) {
	_, err := exec.LookPath("dpkg-query")
	testenv.Need(t, err == nil, "no dpkg here")
	path, err := filepath.EvalSymlinks("/bin/ls")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", "coreutils").Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Finder{Root: "/"}.Files(t.Context(), []string{path, "/usr/bin/of-no-package"})
	if err != nil || len(got) != 1 || got[path].Package != "coreutils" || got[path].Version != string(out) {
		t.Fatalf("%+v, %v, want coreutils %s", got, err, out)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if same, err := got[path].Same(f); !same || err != nil {
		t.Errorf("%s is as packaged: %v, %v", path, same, err)
	}
}

// What the parsers find stands in their input.
func FuzzPackageData(f *testing.F) {
	f.Add("root root 4755 /x\n/a\n/b\n:\n")
	f.Add("P:a\nV:1\nF:bin\nR:su\na:0:0:4755\n0104755 () a 1 /usr/bin/su\n" + md5Empty + "  x\n")
	f.Fuzz(func(t *testing.T, text string) {
		raw := []byte(text)
		for _, name := range append(slices.Collect(maps.Keys(parseOverrides(raw))), slices.Collect(maps.Values(parseDiversions(raw)))...) {
			if !strings.Contains(text, name) {
				t.Errorf("made up %q", name)
			}
		}
		parseApk(raw, func(name string, of File) {
			if !strings.HasPrefix(name, "/") || of.Mode&^0o7777 != 0 || !strings.Contains(text, of.Package) {
				t.Errorf("%q is %+v", name, of)
			}
		})
		for name, of := range parseRPM(raw) {
			if !strings.HasPrefix(name, "/") || !strings.Contains(text, of.Package) || !strings.Contains(text, of.Digest) {
				t.Errorf("made up %q %+v", name, of)
			}
		}
		for _, digest := range parseSums(raw) {
			if !isDigest(digest) || !strings.Contains(text, digest) {
				t.Errorf("made up %q", digest)
			}
		}
		parseVersions(raw, map[string]string{"a": ""})
	})
}

func planted(t *testing.T, files map[string]string, paths ...string) map[string]File {
	t.Helper()
	known, err := Finder{Root: testenv.Plant(t, files)}.Files(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// digestOne is the MD5 sum of "one\n".
const digestOne = "5bbf5a52328e7439ae6e719dfe712200"

func TestConfigurationFilesOfDpkgHaveTheirDigests(t *testing.T) {
	known := planted(t, map[string]string{
		"var/lib/dpkg/status":         "Package: cron\nVersion: 3-1\nConffiles:\n /etc/own " + digestOne + "\n /etc/gone " + digestOne + " obsolete\n /etc/fresh newconffile\nDescription: x\n /etc/no " + digestOne + "\n",
		"var/lib/dpkg/info/cron.list": "/etc/own\n/etc/gone\n/etc/fresh\n/etc/no\n",
	}, "/etc/own", "/etc/gone", "/etc/fresh", "/etc/no")
	plain := File{Package: "cron", Version: "3-1", Mode: -1}
	own := plain
	own.Digest = digestOne
	if diff := cmp.Diff(map[string]File{"/etc/own": own, "/etc/gone": plain, "/etc/fresh": plain, "/etc/no": plain}, known); diff != "" {
		t.Error(diff)
	}
}

func TestPacmanHasDigestsPacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	digest := strings.Repeat("ab", 32)
	if _, err := w.Write([]byte("#mtree\n/set type=file\n./etc/a\\040b time=1.0 size=4 sha256digest=" + digest + "\n./etc type=dir\n./usr/bin/su sha256digest=short\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	known := planted(t, map[string]string{
		"var/lib/pacman/local/x-tools-4.1-2/files": "%FILES%\nusr/bin/su\netc/a b\n", "var/lib/pacman/local/x-tools-4.1-2/mtree": packed.String(),
		"var/lib/pacman/local/broken-1-1/files": "%FILES%\nusr/bin/other\n", "var/lib/pacman/local/broken-1-1/mtree": "no gzip",
	}, "/usr/bin/su", "/etc/a b", "/usr/bin/other")
	tools := File{Package: "x-tools", Version: "4.1-2", Mode: -1}
	with := tools
	with.Digest = digest
	if diff := cmp.Diff(map[string]File{"/usr/bin/su": tools, "/etc/a b": with, "/usr/bin/other": {Package: "broken", Version: "1-1", Mode: -1}}, known); diff != "" {
		t.Error(diff)
	}
}

// Fedora made /usr/sbin a link; its packages name programs there all the same.
func TestProgramsAreFoundWhereSbinIsALink(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"lib/apk/db/installed": "P:cronie\nF:usr/sbin\nR:crond\n", "usr/bin/crond": ""})
	if err := os.Symlink("bin", filepath.Join(root, "usr/sbin")); err != nil {
		t.Fatal(err)
	}
	if known, err := (Finder{Root: root}).Files(t.Context(), []string{"/usr/bin/crond"}); err != nil || known["/usr/bin/crond"].Package != "cronie" {
		t.Errorf("%v, %v", known, err)
	}
}

// One file may be asked for by two names, as where a unit and a script of cron start it.
func TestAFileIsFoundByEachOfItsNames(t *testing.T) {
	paths := []string{"/bin/su", "/usr/bin/su"}
	for manager, files := range map[string]map[string]string{
		"dpkg":   {"var/lib/dpkg/status": "x\n", "var/lib/dpkg/statoverride": "root root 4755 /bin/su\n", "var/lib/dpkg/info/login.list": "/bin/su\n"},
		"apk":    {"lib/apk/db/installed": "P:login\nF:bin\nR:su\n"},
		"pacman": {"var/lib/pacman/local/login-2-1/files": "bin/su\n"},
		"rpm":    {"var/lib/rpm/rpmdb.sqlite": ""},
	} {
		known, err := Finder{testenv.Plant(t, files), shadowRPM{}}.Files(t.Context(), paths)
		if err != nil || len(known) != 2 || known["/bin/su"].Package == "" || known["/bin/su"] != known["/usr/bin/su"] {
			t.Errorf("%s: %v, %+v", manager, err, known)
		}
	}
}

// shadowRPM owns each file of shadow by the package of that name.
type shadowRPM struct{}

func (shadowRPM) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if slices.Contains(c.Args, "-f") {
		return sysexec.Result{Stdout: []byte("shadow-2-1.x86_64\nshadow-2-1.x86_64\n")}, nil
	}
	return sysexec.Result{Stdout: []byte("0104755 () shadow 2-1 /bin/su\n")}, nil
}

// Digests have their form and files their names, whatever the data hold.
func FuzzDigests(f *testing.F) {
	f.Add("Conffiles:\n /etc/x " + digestOne + "\n./etc/a\\040b sha256digest=" + strings.Repeat("ab", 32) + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, digests := range []map[string]string{parseConffiles([]byte(text)), parseMtree([]byte(text))} {
			for name, digest := range digests {
				if !strings.HasPrefix(name, "/") || !isDigest(digest) {
					t.Errorf("%q: %q", name, digest)
				}
			}
		}
		unpack([]byte(text))
	})
}
