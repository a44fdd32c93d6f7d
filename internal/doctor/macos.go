// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sentinel/internal/clients"
	"sentinel/internal/installed"
	"sentinel/internal/sysexec"
)

// oldestMac is the first macOS that sentinel supports.
const oldestMac = 12

// macSystem checks the version of macOS.
func (t Target) macSystem(ctx context.Context) []Finding {
	if t.OSVersion == nil {
		return one(Unknown, "sentinel "+t.Version+" on macOS of an unknown version", "")
	}
	name, err := t.OSVersion(ctx)
	seen := "sentinel " + t.Version + " on " + name
	major, known := majorVersion(name)
	switch {
	case err != nil || !known:
		return one(Unknown, "sentinel "+t.Version+" on macOS of an unknown version", "See its version with: /usr/bin/sw_vers")
	case major < oldestMac:
		return one(Warning, seen, fmt.Sprintf("Run macOS %d or newer; what the programs of older ones print is not known here.", oldestMac))
	default:
		return one(OK, seen, "")
	}
}

// majorVersion returns 12 for "macOS 12.7.6 (21H1320)".
func majorVersion(name string) (int, bool) {
	for word := range strings.FieldsSeq(name) {
		number, _, _ := strings.Cut(word, ".")
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			return int(n), true
		}
	}
	return 0, false
}

// ask runs a program of macOS that changes nothing.
func (t Target) ask(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return t.Programs.Run(ctx, sysexec.Command{
		Path: path, Args: args, Timeout: askTimeout, WaitDelay: 200 * time.Millisecond, MaxOutput: 64 << 10,
	})
}

// macAccount asks id(1) for the entry of the user in the form of
// master.passwd(5): ten fields, the home directory last but one.
func (t Target) macAccount(ctx context.Context) (account, error) {
	r, err := t.ask(ctx, "/usr/bin/id", "-P", strconv.Itoa(t.User.UID))
	if err != nil {
		return account{}, err
	}
	fields := strings.Split(strings.TrimSuffix(string(r.Stdout), "\n"), ":")
	if len(fields) != 10 || fields[2] != strconv.Itoa(t.User.UID) || !filepath.IsAbs(fields[8]) {
		return account{}, fmt.Errorf("this Mac has no user %d", t.User.UID)
	}
	return account{fields[0], fields[8]}, nil
}

// tccDatabase is a file that only programs with full disk access can read (TCC,
// macOS 10.14 and later): the list of those programs, the system's for root and the one in the home
// for everyone else.
const tccDatabase = "Library/Application Support/com.apple.TCC/TCC.db"

// fullDiskAccess tries to open a protected file. macOS refuses it whatever the
// owner and mode, even to root: what counts is the application that started this run.
func fullDiskAccess(ctx context.Context, t Target) []Finding {
	directory := "/"
	if !t.AsRoot {
		who, err := t.account(ctx)
		if err != nil {
			return one(Unknown, "The home folder of the user is not known: "+err.Error(), "")
		}
		directory = who.home
	}
	f, err := os.OpenFile(t.at(filepath.Join(directory, tccDatabase)), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err == nil {
		err = f.Close()
	}
	return t.diskAccessFinding(err)
}

func (t Target) diskAccessFinding(err error) []Finding {
	switch {
	case err == nil:
		return one(OK, "Files that macOS protects can be read here", "")
	case errors.Is(err, syscall.EPERM):
		return one(Warning, "What started this run has no full disk access; what the security audit reads of other applications' rights is missing.",
			"In System Settings, Privacy & Security, Full Disk Access, add "+t.serverPath()+" for Claude Desktop, whose own access its servers do not share, again after each upgrade; for Terminal and other clients switch on the application. Then quit and open it again.")
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can tell.", asAdministrator)
	default:
		return one(Unknown, "The file that would tell cannot be opened: "+err.Error(), "")
	}
}

// serverPath is where the sentinel-mcp beside this program stands.
func (t Target) serverPath() string {
	dir := installed.Local
	if own, err := t.Binary(); err == nil {
		dir = filepath.Dir(own)
	}
	return filepath.Join(dir, clients.Program)
}

// quarantine looks for the mark that browsers put on downloads: macOS kills such a
// program unless Apple has notarised it or its user has allowed it.
func quarantine(ctx context.Context, t Target) []Finding {
	own, err := t.Binary()
	if err != nil {
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	}
	both := []string{own, filepath.Join(filepath.Dir(own), "sentinel-mcp")}
	r, err := t.ask(ctx, "/usr/bin/xattr", append([]string{"-p", "com.apple.quarantine"}, both...)...)
	if err != nil {
		return one(Unknown, "The programs cannot be checked for the mark of downloads: "+err.Error(), "")
	}
	var marked []string
	for _, path := range both {
		if strings.Contains("\n"+string(r.Stdout), "\n"+path+": ") {
			marked = append(marked, path)
		}
	}
	switch {
	case len(marked) > 0:
		return one(Problem, "Marked as downloaded and not notarised, so that macOS kills it when a client starts it: "+strings.Join(marked, ", "), "sudo xattr -d com.apple.quarantine "+strings.Join(marked, " "))
	case r.Exit == 0 || !strings.Contains(string(r.Stderr), "No such xattr"):
		return one(Unknown, "xattr does not tell whether the programs are marked as downloaded.", "")
	default:
		return one(OK, "Neither program is marked as downloaded", "")
	}
}

// macProgramPaths lists the programs of macOS that sentinel runs, except those
// with a check of their own.
func macProgramPaths() []string {
	return []string{
		"/bin/launchctl", "/bin/ps", "/sbin/ifconfig", "/sbin/pfctl", "/sbin/route", "/usr/bin/csrutil", "/usr/bin/fdesetup", "/usr/bin/sw_vers",
		"/usr/bin/uname", "/usr/bin/vm_stat", "/usr/libexec/ApplicationFirewall/socketfilterfw", "/usr/sbin/diskutil", "/usr/sbin/lsof", "/usr/sbin/netstat",
		"/usr/sbin/scutil", "/usr/sbin/softwareupdate", "/usr/sbin/spctl", "/usr/sbin/sysctl", "/usr/sbin/system_profiler",
	}
}

// macPrograms checks that these programs exist. All of them are parts of macOS.
func macPrograms(_ context.Context, t Target) []Finding {
	var missing []string
	for _, path := range macProgramPaths() {
		if info, err := os.Stat(t.at(path)); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		return one(Problem, "Missing: "+strings.Join(missing, ", "), "They are a part of macOS: reinstall macOS from macOS Recovery.")
	}
	return one(OK, fmt.Sprintf("All %d that sentinel runs are there", len(macProgramPaths())), "")
}
