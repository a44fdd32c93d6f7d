// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/audit/filetree"
	"sentinel/platform/linux/packages"
	"sentinel/platform/unix/stuck"
)

// setuid compares the programs with the set-user-ID or set-group-ID bit, or with capabilities that
// lead to root, with those that packages ship.
func setuid(ctx context.Context, m *machine) audit.Finding {
	found, err := m.setuidPrograms(ctx)
	if err != nil {
		return audit.Unread("the files", err)
	}
	return found.Judge(func(found []foundFile) audit.Finding {
		known, err := m.packagedFiles(ctx, found)
		if err != nil {
			return audit.Unread("which packages they belong to", err)
		}
		who, err := m.users()
		if err != nil {
			return audit.Unread("accounts", err)
		}
		return judgeSetuid(found, known, who)
	})
}

// judgeSetuid tells the programs of which it is only not known that their packages ship them so behind the others.
func judgeSetuid(found []foundFile, known map[string]packages.File, who localUsers) audit.Finding {
	const fix = "Find out who put it there, then take the rights from each one that is named: sudo chmod ug-s FILE, or where capabilities are named: sudo setcap -r FILE"
	var wrong, doubtful []audit.Line
	for _, s := range gravestFirst(found) {
		line := audit.Line{Text: s.String(), Owner: s.owner}
		if why := setuidFault(s, known[s.path]); why != "" {
			line.Text += ", " + why + s.alone(who)
			wrong = append(wrong, line)
		} else if !vouchedFor(s, known[s.path]) {
			line.Text += ", which its package is not known to ship so"
			doubtful = append(doubtful, line)
		}
	}
	switch {
	case len(wrong) > 0:
		return audit.Failed(humanize.Count(len(wrong), "program gives", "programs give")+" away rights and should not", fix).With(wrong...).With(doubtful...)
	case len(doubtful) > 0:
		return audit.Warned(humanize.Count(len(doubtful), "program gives", "programs give")+" away rights, and no package is known to ship that",
			"Install its package again, and compare: sudo apt-get install --reinstall PACKAGE, or sudo pacman -S PACKAGE. "+fix).With(doubtful...)
	default:
		return audit.Passed(humanize.Count(len(found), "program", "programs") + ", all as packages ship them")
	}
}

// gravestFirst puts programs that make a caller root before those that give other rights.
func gravestFirst(found []foundFile) []foundFile {
	return slices.SortedStableFunc(slices.Values(found), func(a, b foundFile) int {
		switch {
		case a.makesRoot() == b.makesRoot():
			return 0
		case a.makesRoot():
			return -1
		default:
			return 1
		}
	})
}

// makesRoot says whether a program gives root's rights, or what leads to them.
func (f foundFile) makesRoot() bool {
	return f.caps != 0 || f.owner == "" && f.Mode&filetree.SetUID != 0 || f.GID == 0 && f.Mode&filetree.SetGID != 0
}

// alone says of a program that gives away no more than the user whose it is, who needed no other's rights to do so.
func (f foundFile) alone(who localUsers) string {
	if f.owner == "" || f.makesRoot() || f.Mode&filetree.SetGID != 0 {
		return ""
	}
	return ", gives away " + who.name(f.UID) + " alone"
}

// vouchedFor says whether package data, the administrator's override or the lists of what is shipped have a
// program of a package so.
func vouchedFor(s foundFile, of packages.File) bool {
	return s.caps == 0 && (of.Mode >= 0 || of.Override) || shipsSo(s)
}

// packagedFiles looks files up in the package data of this system. It has to read
// all of these data, so it is called once, for all files.
func (m *machine) packagedFiles(ctx context.Context, files []foundFile) (map[string]packages.File, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	return packages.Finder{Root: m.Root, Runner: m.Runner}.Files(ctx, paths)
}

// closed says whether only root gets to what is in a directory, or may be the only one. Root may keep whole systems
// in such a directory. It ends with ctx: a user can keep a directory on the way from being looked into.
func (m *machine) closed(ctx context.Context, dir string) bool {
	only, err := stuck.Look(ctx, m.Root, dir, m.Owner, startsLimit, func(context.Context) (bool, error) {
		return filetree.OnlyOwner(m.Root, dir, uint32(m.Owner))
	})
	return only || err != nil
}

// setuidPrograms returns the programs with the set-user-ID or set-group-ID bit, or with
// capabilities that lead to root, that others than root may run.
func (m *machine) setuidPrograms(ctx context.Context) (audit.List[foundFile], error) {
	system, err := m.walkSystem(ctx)
	if err != nil {
		return audit.List[foundFile]{}, err
	}
	others, err := m.walkRest(ctx)
	if err != nil {
		return audit.List[foundFile]{}, err
	}
	return system.list(&system.setuid).And(others.list(&others.setuid), "outside of the system: "), nil
}

// setuidFault says what is wrong with a program that has such a bit or capability; "" when nothing
// is known to be.
func setuidFault(s foundFile, of packages.File) string {
	const rights = filetree.SetUID | filetree.SetGID
	more := of.Mode >= 0 && s.Mode&rights&^uint32(of.Mode) != 0
	switch {
	case s.Mode&filetree.OthersW != 0:
		return "which everyone can write"
	case of.Package == "" && (!of.Override || s.caps != 0):
		return "of no package"
	case more && of.Override:
		return "which dpkg-statoverride has without"
	case more:
		return "which its package ships without"
	case grantsAnything(s.path) && (s.caps != 0 || of.Mode < 0 || of.Override):
		return "which gives a shell or writes any file"
	default:
		return ""
	}
}

// grantsAnything says whether a program runs or writes whatever its caller wants: no
// package ships such a one with the set-user-ID bit. Debian's package data hold no modes.
func grantsAnything(file string) bool {
	name := path.Base(file)
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") { // ld.so(8) runs what it is given
		return true
	}
	if cut := strings.IndexFunc(name, func(r rune) bool { return r == '.' || unicode.IsDigit(r) }); cut > 0 {
		name = name[:cut]
	}
	return slices.Contains(unrestrictedTools, strings.TrimSuffix(name, "-"))
}

var unrestrictedTools = []string{
	"ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh", // shells
	"awk", "dc", "expect", "gawk", "gdb", "lua", "mawk", "nawk", "node", "nodejs", "original-awk", "perl", "php", "python", "ruby", "sqlite", "tclsh", "wish", // interpreters
	"ed", "emacs", "ex", "jed", "joe", "less", "man", "mcedit", "more", "nano", "pico", "rview", "rvim", "sed", "vi", "view", "vim", "vimdiff", // editors
	"capsh", "choom", "chroot", "chrt", "env", "find", "flock", "git", "ionice", "ip", "ltrace", "make", "nice", "nohup", "nsenter", "parallel", "prlimit", "run-parts", "runuser", "script", "setarch", "setpriv", "setsid",
	"start-stop-daemon", "stdbuf", "strace", "systemctl", "systemd-run", "taskset", "timeout", "unshare", "watch", "xargs", // they run others
	"ar", "base", "cat", "chgrp", "chmod", "chown", "cp", "cpio", "cut", "dd", "diff", "egrep", "fgrep", "grep", "gzip", "head", "install", "ln", "mv", "od", "rsync", "sort",
	"tac", "tail", "tar", "tee", "uniq", "unzip", "xxd", "xz", "zip", // they read and write files
	"curl", "docker", "nc", "ncat", "nmap", "openssl", "podman", "scp", "socat", "ssh", "tcpdump", "wget", // they do both over the network
	"apt", "apt-get", "dnf", "dpkg", "pip", "rpm", "snap", "yum", // they install
}
