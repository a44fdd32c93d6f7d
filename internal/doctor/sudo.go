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
	// named is the program that the shipped rules and units name.
	named = "/usr/local/bin/sentinel"
)

// askLimit bounds one question: sudo may have to ask a directory server.
const askLimit = 5 * time.Second

func sudoProgram(_ context.Context, p Target) []Finding {
	const fix = "Install sudo; without it only root itself can use what needs root."
	again := p.either("Install sudo again with the package manager.", "sudo is a part of macOS: install macOS again over itself.")
	info, err := os.Stat(p.at(sudo))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+sudo+".", fix)
	case err != nil:
		return one(Unknown, err.Error(), "")
	case info.Mode()&fs.ModeSetuid == 0:
		return one(Problem, sudo+" lacks the set-user-ID bit and cannot become root.", again)
	}
	if err := p.Trusted(p.at(sudo)); err != nil {
		return one(Problem, err.Error(), again)
	}
	return one(OK, sudo+" is there", "")
}

// sudoersFile looks at the file under its usual name. The rules may stand in
// another one; what they allow is asked of sudo itself.
func sudoersFile(_ context.Context, p Target) []Finding {
	install := "sudo visudo -csf packaging/sudoers.d/sentinel && sudo install -o root -g " + p.rootGroup() + " -m 0440 packaging/sudoers.d/sentinel " + sudoers
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
func sudoRules(ctx context.Context, p Target) []Finding {
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
	p = p.withName(ctx)
	listing, listed := p.question(ctx)
	var refused []string
	for _, tool := range p.Tools {
		allowed := false
		if listed {
			_, allowed = p.question(ctx, path, "--request", tool.Name)
		}
		if !allowed || asksPassword(listing, path+" --request "+tool.Name) {
			refused = append(refused, tool.Name)
		}
	}
	return p.ruled(path, refused)
}

// ruled says what it means that sudo refuses some tools, all in one finding:
// what mends one mends all.
func (p Target) ruled(path string, refused []string) []Finding {
	if len(refused) == 0 {
		return one(OK, fmt.Sprintf("sudo lets %s run all %d tools that root is of use to", p.User.Name, len(p.Tools)), "")
	}
	f := Finding{Status: Warning, Tools: refused, Fix: p.allow()}
	f.Value = fmt.Sprintf("sudo does not let %s run %d of %d tools without a password, which sentinel-mcp cannot type: "+
		"those that need root are denied, the others answer without what only root can read", p.User.Name, len(refused), len(p.Tools))
	if path != named {
		f.Value += "; the shipped rules name " + named + ", and this is " + path
		f.Fix = p.install()
	}
	return []Finding{f}
}

// allow is how the user gets the rules.
func (p Target) allow() string {
	name := p.User.Name
	if !pasteable(name) {
		name = "USER"
	}
	if p.mac() {
		return macAllow(name)
	}
	return "If it is wanted, which holds from the next login on: sudo groupadd --force --system sentinel && " +
		"sudo install -o root -g root -m 440 packaging/sudoers.d/sentinel " + sudoers + " && sudo usermod --append --groups sentinel " + name
}

// pasteable says that a shell takes text for one word and a program for no
// option.
func pasteable(text string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-"
	return text != "" && text[0] != '-' && strings.Trim(text, plain) == ""
}

// question asks "sudo -l" about one command line, or for all that is allowed.
// Root asks on behalf of the user who is behind sudo.
func (p Target) question(ctx context.Context, command ...string) (said string, yes bool) {
	args := []string{"-n", "-l"}
	if p.AsRoot {
		if strings.HasPrefix(p.User.Name, "-") {
			return "", false
		}
		args = append(args, "-U", p.User.Name)
	}
	r, err := p.Programs.Run(ctx, sysexec.Command{
		Path: sudo, Args: append(args, command...), Timeout: askLimit, WaitDelay: 200 * time.Millisecond, NoKill: true,
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
