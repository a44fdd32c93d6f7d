// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/firewall"
	"sentinel/internal/testenv"
)

// machines are the systems that every check is put to. The files of each are
// those of testdata/NAME/FAMILY.txtar together. The comment of an archive says what a list
// of files cannot:
//
//	mode 0640 etc/shadow
//	link usr/bin/awk -> mawk
//	folder 1777 tmp
//	bytes 0600000001 sys/firmware/efi/efivars/x
//	dated 2026-01-02 var/lib/apt/lists
//	owner 4242 opt/left (which takes root)
//
// A file without a mode has 0644, a directory 0755.
var machines = []string{"hardened", "debian", "broken", "container"}

// rules are the loaded packet filters of the machines, which are not files.
var rules = map[string]firewall.Facts{
	"hardened": {Chains: []firewall.Chain{{Family: "inet", Table: "filter", Name: "input", Input: true, Hook: firewall.Input, DropPolicy: true}}},
	"debian":   {},
	"broken": {Chains: []firewall.Chain{
		{Family: "ip6", Table: "filter", Name: "INPUT", Input: true, DropPolicy: true},
		{Family: "ip", Table: "filter", Name: "INPUT", Input: true, Jumps: []string{"f2b-sshd"}},
		{Family: "ip", Table: "filter", Name: "f2b-sshd", Drops: true},
	}},
	"container": {Unreadable: fs.ErrPermission},
}

type packetFilter struct{ facts firewall.Facts }

// build writes the files of a machine below a new root directory.
func build(t testing.TB, name string) (root string) {
	t.Helper()
	root = t.TempDir()
	fill(t, root, name)
	return root
}

func fill(t testing.TB, root, name string) {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join("testdata", name, "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no files for %s: %v", name, err)
	}
	for _, archive := range archives {
		raw, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		unpack(t, root, txtar.Parse(raw))
	}
}

func unpack(t testing.TB, root string, archive *txtar.Archive) {
	t.Helper()
	for _, f := range archive.Files {
		plant(t, filepath.Join(root, f.Name), f.Data)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		testenv.Need(t, !strings.HasPrefix(line, "owner ") || os.Geteuid() == 0, "root, to give a file away")
		if line = strings.TrimSpace(line); line != "" {
			if err := arrange(root, strings.Fields(line)); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
	}
}

func plant(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// arrange does what one line of a comment says.
func arrange(root string, words []string) error {
	switch {
	case len(words) == 3 && words[0] == "mode":
		return chmod(filepath.Join(root, words[2]), words[1])
	case len(words) == 3 && words[0] == "folder":
		path := filepath.Join(root, words[2])
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		return chmod(path, words[1])
	case len(words) == 3 && words[0] == "bytes":
		raw, err := hex.DecodeString(words[1])
		if err != nil {
			return err
		}
		path := filepath.Join(root, words[2])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, raw, 0o644)
	case len(words) == 3 && words[0] == "dated":
		day, err := time.Parse(time.DateOnly, words[1])
		if err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(root, words[2]), day, day)
	case len(words) == 3 && words[0] == "owner":
		id, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		return os.Lchown(filepath.Join(root, words[2]), id, id)
	case len(words) >= 4 && words[0] == "link" && words[2] == "->":
		path := filepath.Join(root, words[1])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.Symlink(strings.Join(words[3:], " "), path)
	default:
		return fmt.Errorf("is none of: mode MODE FILE, folder MODE NAME, bytes HEX FILE, link NAME -> TARGET")
	}
}

func chmod(path, octal string) error {
	bits, err := strconv.ParseUint(octal, 8, 12)
	if err != nil {
		return err
	}
	mode := fs.FileMode(bits & 0o777)
	for bit, special := range map[uint64]fs.FileMode{0o1000: fs.ModeSticky, 0o2000: fs.ModeSetgid, 0o4000: fs.ModeSetuid} {
		if bits&bit != 0 {
			mode |= special
		}
	}
	return os.Chmod(path, mode)
}
