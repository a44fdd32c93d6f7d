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

	"sentinel/internal/elevation"
	"sentinel/internal/sysexec"
)

const (
	sudo    = elevation.Sudo
	sudoers = elevation.Rules
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
func sudoersFile(ctx context.Context, t Target) []Finding {
	install := t.machine().RulesFix()
	info, err := os.Lstat(t.at(sudoers))
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.withoutRoot(ctx):
		return one(OK, "There is no "+sudoers+", and none is needed without root", "")
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+sudoers+".", install)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can look into /etc/sudoers.d.", asAdministrator)
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
	at := elevation.Look(ctx, t.machine())
	switch {
	case at.Installed != "":
		path = at.Installed // which sentinel-mcp runs
	case t.personal(path):
		return one(OK, fmt.Sprintf("This copy does without root: tools that need it are refused, the others answer with what %s may see. To have all: %s", t.User.Name, t.installFix()), "")
	}
	listing, listed := t.askSudo(ctx)
	var refused []string
	for _, tool := range t.Tools {
		allowed := false
		if listed {
			_, allowed = t.askSudo(ctx, append([]string{path}, elevation.Request(tool.Name)...)...)
		}
		if !allowed || elevation.AsksPassword(listing, path+" --request "+tool.Name) {
			refused = append(refused, tool.Name)
		}
	}
	return t.sudoFinding(at, refused, elevation.OtherProgram(listing, path))
}

// sudoFinding reports the tools that sudo refuses in one finding: one fix is for
// all. other is a program that the rules name in place of this one.
func (t Target) sudoFinding(at elevation.Situation, refused []string, other string) []Finding {
	if len(refused) == 0 {
		return one(OK, fmt.Sprintf("sudo lets %s run all %d tools that do more as root", t.User.Name, len(t.Tools)), "")
	}
	f := Finding{Status: Warning, Tools: refused, Fix: at.Fix()}
	f.Value = fmt.Sprintf("sudo does not let %s run %d of %d tools (%s) without a password, which sentinel-mcp cannot type: "+
		"those that need root are denied, the others answer without what only root can read",
		t.User.Name, len(refused), len(t.Tools), strings.Join(t.aliases(refused), ", "))
	if other != "" {
		f.Value += "; the rules name " + other
		f.Fix = "Name the program that is used in place of " + other + ": sudo visudo -f " + sudoers
	}
	return []Finding{f}
}

// aliases lists those of the shipped rules that have any of the tools. An administrator who has left
// one out knows the finding by it.
func (t Target) aliases(tools []string) (names []string) {
	for _, tool := range t.Tools {
		if slices.Contains(tools, tool.Name) && !slices.Contains(names, tool.Alias) {
			names = append(names, tool.Alias)
		}
	}
	return names
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
