// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/pfctl"
	"sentinel/platform/darwin/socketfilterfw"
)

// A rule is an entry of the firewall's list.
type rule struct {
	path  string
	block bool
}

// A mac is a machine whose firewall keeps its state, and prints in the words
// that were recorded on real ones.
type mac struct {
	older    bool // words of macOS 14 and before; those of 26 otherwise
	short    bool // the short list of programs
	user     bool // an ordinary user asks
	managed  bool // a profile decides
	inert    bool // takes every change and does none
	slow     int  // how often it shows the former state after a change
	missing  bool // there is no such program
	hangs    string
	mute     bool // prints nothing at all
	language bool // of somebody else
	pf       string

	global       int
	blockAll     bool
	builtin, app bool
	rules        []rule
	sockets      string // as lsof prints them
	lsof         error

	before int
	lag    int
	ran    []string
}

func newMac() *mac {
	return &mac{
		builtin: true, app: true, pf: "Status: Disabled                              Debug: Urgent\n",
		rules:   []rule{{"/usr/libexec/sshd-keygen-wrapper", false}, {"/Applications/Some Player.app", true}},
		sockets: remoteLogin,
	}
}

// remoteLogin is a Mac with Remote Login on, an open session, and a few programs.
const remoteLogin = `p1
claunchd
f20
tIPv6
d0x1
PTCP
n*:22
TST=LISTEN
f21
tIPv4
d0x2
PTCP
n*:22
TST=LISTEN
p300
cmDNSResponder
f7
tIPv4
d0x3
PUDP
n*:5353
p400
csshd-session
f5
tIPv4
d0x4
PTCP
n192.0.2.7:22->192.0.2.9:50123
TST=ESTABLISHED
f9
tIPv4
d0x5
PTCP
n192.0.2.7:51000->198.51.100.5:443
TST=ESTABLISHED
p500
cnode
f5
tIPv6
d0x6
PTCP
n*:3000
TST=LISTEN
f6
tIPv4
d0x7
PTCP
n127.0.0.1:9229
TST=LISTEN
f8
tIPv4
d0x8
PUDP
n*:61000
p600
cSome Player
f5
tIPv4
d0x9
PTCP
n*:8200
TST=LISTEN
`

func said(text string) (sysexec.Result, error) { return sysexec.Result{Stdout: []byte(text)}, nil }

// Run implements [sysexec.Runner].
func (m *mac) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	args := strings.Join(c.Args, " ")
	if c.Timeout <= 0 || c.MaxOutput <= 0 {
		return sysexec.Result{}, errors.New("a run without bounds")
	}
	switch {
	case c.Path == pfctl.Program && args == "-s info":
		if m.user {
			return sysexec.Result{Stderr: []byte("pfctl: /dev/pf: Permission denied\n"), Exit: 1}, nil
		}
		return sysexec.Result{Stdout: []byte(m.pf), Stderr: []byte("No ALTQ support in kernel\nALTQ related functions disabled\n")}, nil
	case strings.HasSuffix(c.Path, "/lsof"):
		return sysexec.Result{Stdout: []byte(m.sockets)}, m.lsof
	case c.Path == socketfilterfw.Program:
		m.ran = append(m.ran, args)
		return m.firewall(ctx, c.Args, c)
	default:
		return sysexec.Result{}, fmt.Errorf("unexpected: %s %s", c.Path, args)
	}
}

func (m *mac) firewall(ctx context.Context, args []string, c sysexec.Command) (sysexec.Result, error) {
	switch {
	case m.missing:
		return sysexec.Result{}, &fs.PathError{Op: "fork/exec", Path: c.Path, Err: fs.ErrNotExist}
	case m.hangs != "" && strings.HasPrefix(args[0], m.hangs):
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		<-ctx.Done()
		return sysexec.Result{}, fmt.Errorf("run: %w", ctx.Err())
	case m.mute:
		return sysexec.Result{}, nil
	case m.language:
		return said("Die Firewall ist deaktiviert. (Status = 0)\n")
	case strings.HasPrefix(args[0], "--get") || args[0] == "--listapps":
		text := ""
		for i, option := range args {
			if !strings.HasPrefix(option, "--") {
				continue
			}
			text += m.get(option, args[i:])
		}
		return said(text)
	default:
		return m.set(args[0], args[1])
	}
}

func (m *mac) get(option string, args []string) string {
	switch option {
	case "--getglobalstate":
		return m.state()
	case "--getblockall":
		if m.older {
			return map[bool]string{true: "Block all ENABLED! \n", false: "Block all DISABLED! \n"}[m.blockAll]
		}
		return map[bool]string{true: "Firewall has block all state set to enabled.\n", false: "Firewall has block all state set to disabled.\n"}[m.blockAll]
	case "--getallowsigned":
		word := map[bool]string{true: "ENABLED", false: "DISABLED"}
		return "Automatically allow built-in signed software " + word[m.builtin] + ".\nAutomatically allow downloaded signed software " + word[m.app] + ".\n"
	case "--getstealthmode":
		if m.older {
			return "Stealth mode disabled\n"
		}
		return "Firewall stealth mode is off\n"
	case "--listapps":
		return m.list()
	case "--getappblocked":
		for _, r := range m.rules {
			if r.path == args[1] {
				return "Incoming connection to " + r.path + map[bool]string{true: " is blocked \n", false: " is permitted \n"}[r.block]
			}
		}
		return "The application is not part of the firewall \n"
	}
	return ""
}

func (m *mac) state() string {
	shown := m.global
	if m.lag > 0 {
		m.lag--
		shown = m.before
	}
	if shown > 0 && m.blockAll {
		if m.older {
			return "Firewall is enabled. (State = 2)\n"
		}
		return "Firewall is blocking all non-essential incoming connections. (State = 2)\n"
	}
	return map[int]string{0: "Firewall is disabled. (State = 0)\n", 1: "Firewall is enabled. (State = 1)\n"}[shown]
}

func (m *mac) list() string {
	var b strings.Builder
	switch {
	case m.older:
		fmt.Fprintf(&b, "ALF: total number of apps = %d \n\n", len(m.rules))
	default:
		fmt.Fprintf(&b, "Total number of apps = %d\n", len(m.rules))
	}
	for i, r := range m.rules {
		word := map[bool]string{true: "Block", false: "Allow"}[r.block]
		switch {
		case m.short:
			fmt.Fprintf(&b, "%s (state: %d)\n", base(r.path), 1)
		case m.older:
			fmt.Fprintf(&b, "%d :  %s \n \t ( %s incoming connections ) \n\n", i+1, r.path, word)
		default:
			fmt.Fprintf(&b, "%d : %s\n             (%s incoming connections)\n", i+1, r.path, word)
		}
	}
	return b.String()
}

func (m *mac) set(option, value string) (sysexec.Result, error) {
	switch {
	case m.user:
		return sysexec.Result{Stdout: []byte("Must be root to change settings.\n"), Exit: 255}, nil
	case m.managed:
		return said("Firewall settings cannot be modified from command line on managed Mac computers.\n")
	case m.inert:
		return sysexec.Result{}, nil
	}
	at := slices.IndexFunc(m.rules, func(r rule) bool { return r.path == value })
	switch option {
	case "--setglobalstate":
		m.before, m.lag = m.global, m.slow
		m.global = map[string]int{"on": 1, "off": 0}[value]
		if m.older {
			return said(m.state())
		}
	case "--add":
		if at < 0 {
			m.rules = append(m.rules, rule{value, false})
		}
	case "--unblockapp":
		if at < 0 {
			return said("The application is not part of the firewall\n")
		}
		m.rules[at].block = false
	case "--remove":
		if at >= 0 {
			m.rules = slices.Delete(m.rules, at, at+1)
		}
	}
	return sysexec.Result{}, nil
}

// changes lists what was run that could change something.
func (m *mac) changes() []string {
	var list []string
	for _, args := range m.ran {
		if !strings.HasPrefix(args, "--get") && args != "--listapps" {
			list = append(list, args)
		}
	}
	return list
}
