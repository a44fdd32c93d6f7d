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

	"sentinel/internal/sysexec"
)

// oldestMac is the first macOS that sentinel was made for.
const oldestMac = 12

// macSystem judges the version of macOS.
func (p Target) macSystem(ctx context.Context) []Finding {
	if p.OSVersion == nil {
		return one(Unknown, "sentinel "+p.Version+" on macOS of an unknown version", "")
	}
	name, err := p.OSVersion(ctx)
	seen := "sentinel " + p.Version + " on " + name
	major, known := majorVersion(name)
	switch {
	case err != nil || !known:
		return one(Unknown, "sentinel "+p.Version+" on macOS of an unknown version", "See what it says with: /usr/bin/sw_vers")
	case major < oldestMac:
		return one(Warning, seen, fmt.Sprintf("Run macOS %d or newer; what the programs of older ones print is not known here.", oldestMac))
	default:
		return one(OK, seen, "")
	}
}

// majorVersion takes 12 of "macOS 12.7.6 (21H1320)".
func majorVersion(name string) (int, bool) {
	for word := range strings.FieldsSeq(name) {
		number, _, _ := strings.Cut(word, ".")
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			return int(n), true
		}
	}
	return 0, false
}

// ask runs a program of macOS that only tells something.
func (p Target) ask(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return p.Programs.Run(ctx, sysexec.Command{
		Path: path, Args: args, Timeout: askLimit, WaitDelay: 200 * time.Millisecond, MaxOutput: 64 << 10,
	})
}

// macAccount asks id(1) for the entry of the user in the form of
// master.passwd(5): ten fields, the home directory last but one.
func (p Target) macAccount(ctx context.Context) (account, error) {
	r, err := p.ask(ctx, "/usr/bin/id", "-P", strconv.Itoa(p.User.UID))
	if err != nil {
		return account{}, err
	}
	fields := strings.Split(strings.TrimSuffix(string(r.Stdout), "\n"), ":")
	if len(fields) != 10 || fields[2] != strconv.Itoa(p.User.UID) || !filepath.IsAbs(fields[8]) {
		return account{}, fmt.Errorf("this Mac has no user %d", p.User.UID)
	}
	return account{fields[0], fields[8]}, nil
}

// rootGroup is the group of what belongs to root.
func (p Target) rootGroup() string { return p.either("root", "wheel") }

// aside is where both programs go when the usual directory belongs to somebody:
// Homebrew on Intel gives /usr/local/bin to the user who installed it.
const aside = "/opt/sentinel/bin"

// macInstall is how both programs get from a directory to where only root can
// write. Only a directory that is missing is made: to give one that Homebrew has to root would
// break Homebrew.
func (p Target) macInstall(from string) string {
	to := filepath.Dir(named)
	copied := from + "/sentinel " + from + "/sentinel-mcp "
	const owned = " -o root -g wheel -m 755 "
	_, err := os.Stat(p.at(to))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Install both programs where only root can write: sudo install -d" + owned + to + " && sudo install" + owned + copied + to
	case p.Trusted(p.at(to)) != nil:
		return to + " is not root's alone, as with Homebrew. Install both in a folder of their own and name that in " + sudoers +
			": sudo install -d" + owned + filepath.Dir(aside) + " " + aside + " && sudo install" + owned + copied + aside
	default:
		return "Install both programs where only root can write: sudo install" + owned + copied + to
	}
}

// macAllow is how a user gets the rules of sudo. A group is made only where
// there is none: dseditgroup(8) asks before it makes one anew.
func macAllow(name string) string {
	return "If it is wanted: sudo install -o root -g wheel -m 440 packaging/sudoers.d/sentinel " + sudoers +
		" && { dseditgroup -o read sentinel >/dev/null 2>&1 || sudo dseditgroup -o create sentinel; } && sudo dseditgroup -o edit -a " + name + " -t user sentinel"
}

// protected is a file that macOS shows only to who has full disk access (TCC,
// macOS 10.14 and later): the list of those, of the system for root and below the home directory
// for everyone else.
const protected = "Library/Application Support/com.apple.TCC/TCC.db"

// fullDiskAccess tries to open a protected file. That macOS refuses is no matter
// of owner or mode, and not even root may: what counts is the application that this run
// comes from.
func fullDiskAccess(ctx context.Context, p Target) []Finding {
	directory := "/"
	if !p.AsRoot {
		who, err := p.account(ctx)
		if err != nil {
			return one(Unknown, "The home folder of the user is not known: "+err.Error(), "")
		}
		directory = who.home
	}
	f, err := os.OpenFile(p.at(filepath.Join(directory, protected)), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err == nil {
		err = f.Close()
	}
	return p.judgeAccess(err)
}

func (p Target) judgeAccess(err error) []Finding {
	switch {
	case err == nil:
		return one(OK, "What macOS keeps from programs can be read here", "")
	case errors.Is(err, syscall.EPERM):
		return one(Warning, "The application that started this run has no full disk access; what the security audit reads of other applications' rights is missing.",
			"In System Settings, Privacy & Security, Full Disk Access, switch on the application that starts sentinel, such as Claude or Terminal, then quit and open it again.")
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can tell.", "Run: sudo sentinel --doctor")
	default:
		return one(Unknown, "The file that would tell cannot be opened: "+err.Error(), "")
	}
}

// quarantine looks for the mark that a browser leaves on what it downloads: macOS
// asks about a program with it at its first start, which nobody answers when a client starts it.
func quarantine(ctx context.Context, p Target) []Finding {
	own, err := p.Binary()
	if err != nil {
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	}
	both := []string{own, filepath.Join(filepath.Dir(own), "sentinel-mcp")}
	r, err := p.ask(ctx, "/usr/bin/xattr", append([]string{"-p", "com.apple.quarantine"}, both...)...)
	if err != nil {
		return one(Unknown, "The mark of downloads cannot be looked for: "+err.Error(), "")
	}
	var marked []string
	for _, path := range both {
		if strings.Contains("\n"+string(r.Stdout), "\n"+path+": ") {
			marked = append(marked, path)
		}
	}
	switch {
	case len(marked) > 0:
		return one(Warning, "Marked as downloaded, so that macOS may refuse to start it: "+strings.Join(marked, ", "), "sudo xattr -d com.apple.quarantine "+strings.Join(marked, " "))
	case r.Exit == 0 || !strings.Contains(string(r.Stderr), "No such xattr"):
		return one(Unknown, "xattr does not tell whether the programs are marked as downloaded.", "")
	default:
		return one(OK, "Neither program is marked as downloaded", "")
	}
}

// used lists the programs of macOS that sentinel runs, beside those that have a
// check of their own.
func used() []string {
	return []string{
		"/bin/launchctl", "/bin/ps", "/sbin/ifconfig", "/sbin/pfctl", "/sbin/route", "/usr/bin/csrutil", "/usr/bin/fdesetup", "/usr/bin/sw_vers",
		"/usr/bin/uname", "/usr/bin/vm_stat", "/usr/libexec/ApplicationFirewall/socketfilterfw", "/usr/sbin/diskutil", "/usr/sbin/lsof", "/usr/sbin/netstat",
		"/usr/sbin/scutil", "/usr/sbin/softwareupdate", "/usr/sbin/spctl", "/usr/sbin/sysctl", "/usr/sbin/system_profiler",
	}
}

// macPrograms looks whether what sentinel asks is there. All of it is a part of
// macOS.
func macPrograms(_ context.Context, p Target) []Finding {
	var missing []string
	for _, path := range used() {
		if info, err := os.Stat(p.at(path)); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		return one(Problem, "Missing: "+strings.Join(missing, ", "), "They are a part of macOS: install macOS again over itself.")
	}
	return one(OK, fmt.Sprintf("All %d that sentinel runs are there", len(used())), "")
}
