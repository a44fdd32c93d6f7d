// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/network"
	"sentinel/internal/sysexec/replay"
)

// macs is the directory of the fixture Macs that the tests of the whole program use
// as well. Each has a tree of files, a list of what the tree cannot hold, and the runs of
// programs; own has what is for this package alone.
const (
	macs = "../../../testdata/macs"
	own  = "testdata/macs"
)

// A mac is one machine that every check is put to.
type mac struct {
	root  string   // its tree of files
	execs []string // directories of transcripts; a later one takes the place of earlier ones
	euid  int
	// waiting are its security updates, nil where they cannot be asked.
	waiting []string
	sockets network.Source
}

// now is the day of all fixtures.
var now = time.Date(2026, 11, 2, 9, 15, 0, 0, time.UTC)

var machines = []string{"m4-26", "m4-26-user", "intel-12", "t2-13"}

// table returns a machine by its name.
func table(name string) mac {
	return map[string]mac{
		"m4-26":      {macs + "/m4-26", []string{macs + "/m4-26/exec", own + "/m4-26-filter/exec"}, 0, []string{}, sockets{}},
		"m4-26-user": {macs + "/m4-26", []string{macs + "/m4-26/exec", macs + "/m4-26-user/exec", own + "/m4-26-user-filter/exec"}, 501, []string{}, sockets{}},
		"intel-12": {macs + "/intel-12", []string{macs + "/intel-12/exec", own + "/intel-12-filter/exec"}, 0, []string{"macOS Monterey 12.7.6"}, sockets{
			"*:22": "launchd", "0.0.0.0:5432": "postgres", "[::]:11434": "ollama", "192.0.2.5:8080": "java", "127.0.0.1:6379": "redis-server", "0.0.0.0:51000": "rapportd",
		}},
		"t2-13": {own + "/t2-13", []string{own + "/t2-13/exec", own + "/t2-13-filter/exec"}, 0, nil, nil},
	}[name]
}

// sockets are listening ones and their processes, by address.
type sockets map[string]string

func (s sockets) Sockets(_ context.Context, visit func(network.Socket)) error {
	id := uint64(0)
	for _, address := range []string{"*:22", "0.0.0.0:5432", "[::]:11434", "192.0.2.5:8080", "127.0.0.1:6379", "0.0.0.0:51000"} {
		if id++; s[address] != "" {
			local := netip.MustParseAddrPort(strings.Replace(address, "*", "0.0.0.0", 1))
			visit(network.Socket{Protocol: network.TCP, State: network.Listen, Local: local, ID: id})
		}
	}
	return nil
}

func (s sockets) Owners(_ context.Context, list []network.Socket) (map[uint64]network.Owner, bool, error) {
	owners := map[uint64]network.Owner{}
	for i, address := range []string{"*:22", "0.0.0.0:5432", "[::]:11434", "192.0.2.5:8080", "127.0.0.1:6379", "0.0.0.0:51000"} {
		if id := uint64(i + 1); s[address] != "" && len(list) > 0 {
			owners[id] = network.Owner{PID: 100 + i, Name: s[address]}
		}
	}
	return owners, false, nil
}

func (sockets) Interfaces(context.Context) ([]network.Interface, error) {
	return nil, errors.ErrUnsupported
}

// parts are a machine ready to be looked at.
func parts(t testing.TB, name string) Parts {
	t.Helper()
	one := table(name)
	runner, err := replay.OpenMachine(one.execs...)
	if err != nil {
		t.Fatal(err)
	}
	p := Parts{Root: build(t, one.root), Runner: runner, Sockets: one.sockets, Now: now, EUID: one.euid, Owner: os.Geteuid()}
	if one.waiting != nil {
		p.SecurityUpdates = func(context.Context) ([]string, error) { return one.waiting, nil }
	}
	return p
}

// build copies the tree of files of a machine, because what is checked out has
// the modes and dates of whoever did.
func build(t testing.TB, dir string) (root string) {
	t.Helper()
	root = t.TempDir()
	from := filepath.Join(dir, "root")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(root, name)
		if d.IsDir() {
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			return os.Chmod(to, 0o755)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, raw, 0o644); err != nil {
			return err
		}
		return os.Chmod(to, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	arrange(t, root, filepath.Join(dir, "modes"))
	return root
}

// arrange does what the list says that a tree of files cannot hold.
func arrange(t testing.TB, root, list string) {
	t.Helper()
	raw, err := os.ReadFile(list)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case len(words) == 3 && words[0] == "dated":
			day, err := time.Parse(time.DateOnly, words[1])
			if err == nil {
				err = os.Chtimes(filepath.Join(root, words[2]), day, day)
			}
			if err != nil {
				t.Fatal(err)
			}
		default:
			mode, err := strconv.ParseUint(words[0], 8, 12)
			if err == nil {
				err = os.Chmod(filepath.Join(root, words[1]), fs.FileMode(mode))
			}
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
	}
}
