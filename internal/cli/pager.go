// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/sysexec"
	"sentinel/internal/trust"
)

// Settings of a pager, where the environment has none: less(1) lets colours through, leaves
// the page on the screen and ends by itself if that holds it, as git(1) has it. Pages are
// UTF-8 in every locale.
var pagerDefaults = []string{"LESS=FRX", "LV=-c", "LESSCHARSET=utf-8"}

// rootsPager is the environment of a pager that runs as root, besides the type of the
// terminal. A pager can start a shell, write files and read others: LESSSECURE keeps less(1)
// from it, and variables of a user who may run sentinel as root, and no more than that, must not
// bring it back.
var rootsPager = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LESSSECURE=1", "LESSHISTFILE=-", "LESS=FRX", "LESSCHARSET=utf-8"}

// mayPage says that the answer of a call may go through a pager. That of a change must
// be seen at once, and a program that asks is no reader.
func (i invocation) mayPage() bool {
	return !i.noPager && !i.request && i.op.Name != "get_top_processes" && !i.op.Writes()
}

// pager returns the program for pages that are longer than the screen, or nil.
func (p Program) pager() *sysexec.Interactive {
	words := p.pagerWords()
	switch {
	case len(words) == 0 || words[0] == "cat" || dumb(p.env("TERM")):
		return nil
	case p.Root:
		return rootPager(p.env("TERM"))
	}
	path, err := sysexec.Find(words[0])
	if err != nil {
		return nil
	}
	return &sysexec.Interactive{Path: path, Args: words[1:], Env: withDefaults(p.environ(), pagerDefaults)}
}

// pagerWords are the pager of the environment and its arguments. No shell reads them.
func (p Program) pagerWords() []string {
	for _, name := range []string{"SENTINEL_PAGER", "PAGER"} {
		if value, set := lookup(p.environ(), name); set {
			return strings.Fields(value)
		}
	}
	return []string{"less"}
}

// rootPager is less(1) alone: of no other pager is it known that it has a secure mode.
func rootPager(terminal string) *sysexec.Interactive {
	if strings.ContainsFunc(terminal, func(r rune) bool { return !strings.ContainsRune(plainWord, r) }) {
		return nil
	}
	for _, path := range []string{"/usr/bin/less", "/bin/less"} {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && filepath.Base(real) == "less" && trust.RootOnly.File(path) == nil {
			return &sysexec.Interactive{Path: path, Env: append(slices.Clone(rootsPager), "TERM="+terminal)}
		}
	}
	return nil
}

// plainWord are the characters of names of terminals: none leads out of the folder of
// their descriptions.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+_"

// withDefaults adds the settings that environ does not have.
func withDefaults(environ, defaults []string) []string {
	all := slices.Clone(environ)
	for _, setting := range defaults {
		name, _, _ := strings.Cut(setting, "=")
		if _, set := lookup(environ, name); !set {
			all = append(all, setting)
		}
	}
	return all
}

func lookup(environ []string, name string) (value string, set bool) {
	for _, setting := range environ {
		if value, set = strings.CutPrefix(setting, name+"="); set {
			return value, true
		}
	}
	return "", false
}
