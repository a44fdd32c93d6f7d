// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

const (
	sudo    = "/usr/bin/sudo"
	sudoers = "/etc/sudoers.d/sentinel"
	// shippedPath is the program in the shipped rules and units.
	shippedPath = "/usr/local/bin/sentinel"
)

// askTimeout bounds one run of sudo, which may have to ask a directory server.
const askTimeout = 5 * time.Second

func sudoProgram(_ context.Context, t Target) []Finding {
	const fix = "Install sudo; without it only root itself can use what needs root."
	again := t.bySystem("Install sudo again with the package manager.", "sudo is a part of macOS: reinstall macOS from macOS Recovery.")
	info, err := os.Stat(t.at(sudo))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+sudo+".", fix)
	case err != nil:
		return one(Unknown, err.Error(), "")
	case info.Mode()&fs.ModeSetuid == 0:
		return one(Problem, sudo+" lacks the set-user-ID bit and cannot become root.", again)
	}
	if err := t.Trusted(t.at(sudo)); err != nil {
		return one(Problem, err.Error(), again)
	}
	return one(OK, sudo+" is there", "")
}

// sudoersFile checks the file under its usual name. The rules may be in another
// one; sudoRules asks sudo what they allow.
func sudoersFile(_ context.Context, t Target) []Finding {
	install := "sudo visudo -csf packaging/sudoers.d/sentinel && sudo install -o root -g " + t.rootGroup() + " -m 0440 packaging/sudoers.d/sentinel " + sudoers
	info, err := os.Lstat(t.at(sudoers))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+sudoers+".", install)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can look into /etc/sudoers.d.", "Run: sudo sentinel --doctor")
	case err != nil:
		return one(Unknown, err.Error(), "")
	}
	if err := t.Trusted(t.at(sudoers)); err != nil {
		return one(Problem, err.Error(), install)
	}
	if mode := info.Mode().Perm(); mode != 0o440 {
		return one(Warning, fmt.Sprintf("%s has the mode %04o; sudo expects 0440.", sudoers, mode), "sudo chmod 0440 "+sudoers)
	}
	return one(OK, sudoers+" belongs to root and has the mode 0440", "")
}

// sudoRules asks sudo what the user may run. Each question writes a line to the
// machine's log, and a refused one may send its administrator a mail; so it asks for the list
// first, and where sudo does not show even that, it does not ask about tools.
func sudoRules(ctx context.Context, t Target) []Finding {
	path, err := t.Binary()
	switch {
	case err != nil:
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	case t.User.UID == 0:
		return one(OK, "root itself needs no rule", "")
	}
	if _, err := os.Stat(t.at(sudo)); err != nil {
		return one(Unknown, "There is no sudo to ask.", "")
	}
	t = t.withName(ctx)
	listing, listed := t.askSudo(ctx)
	var refused []string
	for _, tool := range t.Tools {
		allowed := false
		if listed {
			_, allowed = t.askSudo(ctx, path, "--request", tool.Name)
		}
		if !allowed || asksPassword(listing, path+" --request "+tool.Name) {
			refused = append(refused, tool.Name)
		}
	}
	return t.sudoFinding(path, refused)
}

// sudoFinding reports the tools that sudo refuses in one finding: one fix is for
// all.
func (t Target) sudoFinding(path string, refused []string) []Finding {
	if len(refused) == 0 {
		return one(OK, fmt.Sprintf("sudo lets %s run all %d tools that do more as root", t.User.Name, len(t.Tools)), "")
	}
	f := Finding{Status: Warning, Tools: refused, Fix: t.allowFix()}
	f.Value = fmt.Sprintf("sudo does not let %s run %d of %d tools without a password, which sentinel-mcp cannot type: "+
		"those that need root are denied, the others answer without what only root can read", t.User.Name, len(refused), len(t.Tools))
	if path != shippedPath {
		f.Value += "; the shipped rules name " + shippedPath + ", and this is " + path
		f.Fix = t.installFix()
	}
	return []Finding{f}
}

// allowFix says how to give the user the rules.
func (t Target) allowFix() string {
	name := t.User.Name
	if !shellSafe(name) {
		name = "USER"
	}
	if t.mac() {
		return macAllowFix(name)
	}
	return "If it is wanted, run this; it takes effect at the next login: sudo groupadd --force --system sentinel && " +
		"sudo install -o root -g root -m 440 packaging/sudoers.d/sentinel " + sudoers + " && sudo usermod --append --groups sentinel " + name
}

// shellSafe says whether text is one word to a shell, and not an option to a
// program.
func shellSafe(text string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-"
	return text != "" && text[0] != '-' && strings.Trim(text, plain) == ""
}

// askSudo asks "sudo -l" about one command line, or for all that is allowed. Root
// asks on behalf of the user who called sudo.
func (t Target) askSudo(ctx context.Context, command ...string) (said string, yes bool) {
	args := []string{"-n", "-l"}
	if t.AsRoot {
		if strings.HasPrefix(t.User.Name, "-") {
			return "", false
		}
		args = append(args, "-U", t.User.Name)
	}
	r, err := t.Programs.Run(ctx, sysexec.Command{
		Path: sudo, Args: append(args, command...), Timeout: askTimeout, WaitDelay: 200 * time.Millisecond, NoKill: true,
	})
	return string(r.Stdout), err == nil && r.Exit == 0
}

// asksPassword reads from the list of "sudo -l" whether the rule for a command,
// which is the last that names it, needs a password: asked about one command, sudo allows it either
// way. A command that the list does not name needs none.
func asksPassword(listing, command string) bool {
	asks := false
	for _, entry := range entries(listing) {
		runas, rest, ok := strings.Cut(strings.TrimPrefix(entry, "("), ") ")
		if !ok || !asRoot(runas) {
			continue
		}
		password := true
		for item := range strings.SplitSeq(rest, ", ") {
			item, password = tags(item, password)
			if item == command || item == "ALL" {
				asks = password
			}
		}
	}
	return asks
}

// entries returns the rules of a list, each on one line. A rule begins after four
// blanks, and its continuation lines after more.
func entries(listing string) []string {
	var all []string
	for line := range strings.Lines(listing) {
		text := strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(line, "    ("):
			all = append(all, text)
		case len(all) > 0 && text != "":
			all[len(all)-1] += " " + text
		}
	}
	return all
}

// asRoot says whether a rule for these users (and, after a colon, groups)
// includes root.
func asRoot(runas string) bool {
	users, _, _ := strings.Cut(runas, ":")
	return slices.ContainsFunc(strings.Split(users, ","), func(u string) bool {
		u = strings.TrimSpace(u)
		return u == "root" || u == "ALL"
	})
}

// tags removes the tags in front of a command. A tag also applies to the commands
// after it in its rule.
func tags(item string, password bool) (string, bool) {
	for {
		tag, rest, ok := strings.Cut(item, ": ")
		if !ok || tag == "" || strings.Trim(tag, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			return item, password
		}
		switch tag {
		case "NOPASSWD":
			password = false
		case "PASSWD":
			password = true
		}
		item = rest
	}
}
