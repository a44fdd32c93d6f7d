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
)

// askLimit bounds one question: sudo may have to ask a directory server.
const askLimit = 5 * time.Second

func sudoProgram(_ context.Context, p Patient) []Finding {
	const fix = "Install sudo; without it only root itself can use what needs root."
	info, err := os.Stat(p.at(sudo))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+sudo+".", fix)
	case err != nil:
		return one(Unknown, err.Error(), "")
	case info.Mode()&fs.ModeSetuid == 0:
		return one(Problem, sudo+" lacks the set-user-ID bit and cannot become root.", "Install sudo again with the package manager.")
	}
	if err := p.Trusted(p.at(sudo)); err != nil {
		return one(Problem, err.Error(), "Install sudo again with the package manager.")
	}
	return one(OK, sudo+" is there", "")
}

// sudoersFile looks at the file under its usual name. The rules may stand in
// another one; what they allow is asked of sudo itself.
func sudoersFile(_ context.Context, p Patient) []Finding {
	const install = "/usr/sbin/visudo -csf packaging/sudoers.d/sentinel && sudo install -o root -g root -m 0440 packaging/sudoers.d/sentinel " + sudoers
	info, err := os.Lstat(p.at(sudoers))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+sudoers+".", install)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can look into /etc/sudoers.d.", "Run: sudo sentinel --doctor")
	case err != nil:
		return one(Unknown, err.Error(), "")
	}
	if err := p.Trusted(p.at(sudoers)); err != nil {
		return one(Problem, err.Error(), install)
	}
	if mode := info.Mode().Perm(); mode != 0o440 {
		return one(Warning, fmt.Sprintf("%s has the mode %04o; sudo expects 0440.", sudoers, mode), "sudo chmod 0440 "+sudoers)
	}
	return one(OK, sudoers+" belongs to root and has the mode 0440", "")
}

// sudoRules asks sudo what the user may run. Every question is a line in the
// log of the machine, and a refused one may be a mail to its administrator; so the list comes
// first, and where sudo does not even show that, no tool is asked for.
func sudoRules(ctx context.Context, p Patient) []Finding {
	path, err := p.Binary()
	switch {
	case err != nil:
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	case p.User.UID == 0:
		return one(OK, "root itself needs no rule", "")
	}
	if _, err := os.Stat(p.at(sudo)); err != nil {
		return one(Unknown, "There is no sudo to ask.", "")
	}
	p = p.named()
	listing, listed := p.question(ctx)
	var all []Finding
	for _, tool := range p.Tools {
		allowed := false
		if listed {
			_, allowed = p.question(ctx, path, "--request", tool.Name)
		}
		f := p.ruleOf(tool, allowed, asksPassword(listing, path+" --request "+tool.Name))
		f.ID, f.Name = "sudo_rule."+tool.Name, "rule for "+tool.Name
		all = append(all, f)
	}
	return all
}

func (p Patient) ruleOf(tool Tool, allowed, password bool) Finding {
	fix := fmt.Sprintf("If it is wanted: sudo groupadd -f sentinel && sudo install -o root -g root -m 0440 packaging/sudoers.d/sentinel %s && sudo usermod -aG sentinel %s, then log in again", sudoers, p.User.Name)
	without := "it answers without what only root can read"
	if tool.Needs {
		without = "it is denied"
	}
	switch {
	case !allowed:
		return Finding{Status: Warning, Value: "sudo does not let " + p.User.Name + " run it without a password: " + without, Fix: fix}
	case password:
		return Finding{Status: Warning, Value: "sudo wants a password of " + p.User.Name + ", which sentinel-mcp cannot type: " + without, Fix: fix}
	default:
		return Finding{Status: OK, Value: "sudo lets " + p.User.Name + " run it"}
	}
}

// question asks "sudo -l" about one command line, or for all that is allowed.
// Root asks on behalf of the user who is behind sudo.
func (p Patient) question(ctx context.Context, command ...string) (said string, yes bool) {
	args := []string{"-n", "-l"}
	if p.AsRoot {
		if strings.HasPrefix(p.User.Name, "-") {
			return "", false
		}
		args = append(args, "-U", p.User.Name)
	}
	r, err := p.Programs.Run(ctx, sysexec.Command{
		Path: sudo, Args: append(args, command...), Timeout: askLimit, Patience: 200 * time.Millisecond, NoKill: true,
	})
	return string(r.Stdout), err == nil && r.Exit == 0
}

// asksPassword takes from the list of "sudo -l" whether the rule that decides
// about a command, the last that names it, wants a password. sudo says yes to the question
// for a rule of either kind. A command that the list does not name asks for none.
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

// entries returns the rules of a list, each on one line. A rule begins behind
// four blanks, and what did not fit on its line behind more.
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

// asRoot says whether a rule for these users (and, behind a colon, groups) is
// one for root.
func asRoot(runas string) bool {
	users, _, _ := strings.Cut(runas, ":")
	return slices.ContainsFunc(strings.Split(users, ","), func(u string) bool {
		u = strings.TrimSpace(u)
		return u == "root" || u == "ALL"
	})
}

// tags takes the tags off the front of a command. One holds for the commands
// behind it in its rule, too.
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
