// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/sysexec"
)

const (
	macPF                  = "/sbin/pfctl"
	macApplicationFirewall = "/usr/libexec/ApplicationFirewall/socketfilterfw"
)

// A changingMac lets the two firewalls of a Mac be changed. Until a script changes
// one, the transcripts answer; from then on a model does, which begins as they say and is kept
// in a file for the next runs of the script.
//
// The texts are those that macOS 26.5 was recorded to print, and with them the ALTQ lines that
// pfctl prints on stderr whatever it does.
type changingMac struct {
	sysexec.Runner
	file string
	root bool
}

// A firewallModel is what changes can change. It knows the one anchor and the one
// table that sentinel has.
type firewallModel struct {
	On                  bool     `json:"on"` // pf is
	Refs                []uint64 `json:"refs"`
	Rules               []string `json:"rules"`  // of the own anchor
	Loaded              bool     `json:"loaded"` // the anchor and its table are there
	Table               []string `json:"table"`
	Killed              []string `json:"killed"`               // addresses whose states were
	ApplicationFirewall bool     `json:"application_firewall"` // the Application Firewall is on
	Apps                []string `json:"apps"`                 // that were put on its list
}

// Run implements [sysexec.Runner].
func (m changingMac) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path != macPF && c.Path != macApplicationFirewall {
		return m.Runner.Run(ctx, c)
	}
	f, err := m.load(ctx)
	if err != nil {
		return sysexec.Result{}, err
	}
	if f == nil && !changesFirewall(c.Args) || c.Args[0] == "--listapps" || c.Args[0] == "--getappblocked" {
		return m.Runner.Run(ctx, c)
	}
	if f == nil {
		if f, err = m.begin(ctx); err != nil {
			return sysexec.Result{}, err
		}
	}
	r, passed := f.play(c, m.root)
	if passed {
		return m.Runner.Run(ctx, c)
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return r, err
	}
	return r, os.WriteFile(m.file, raw, 0o600)
}

func (m changingMac) load(context.Context) (*firewallModel, error) {
	raw, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing was changed yet
	}
	if err != nil {
		return nil, err
	}
	f := &firewallModel{}
	return f, json.Unmarshal(raw, f)
}

// begin asks the transcripts how things stand.
func (m changingMac) begin(ctx context.Context) (*firewallModel, error) {
	pf, err := m.Runner.Run(ctx, sysexec.Command{Path: macPF, Args: []string{"-s", "info"}})
	if err != nil {
		return nil, err
	}
	application, err := m.Runner.Run(ctx, sysexec.Command{Path: macApplicationFirewall, Args: []string{"--getglobalstate", "--getblockall", "--getallowsigned", "--getstealthmode"}})
	if err != nil {
		return nil, err
	}
	f := &firewallModel{On: strings.Contains(string(pf.Stdout), "Status: Enabled"), ApplicationFirewall: !strings.Contains(string(application.Stdout), "State = 0")}
	if f.On {
		f.Refs = []uint64{15053025338191571182} // somebody's
	}
	return f, nil
}

// changesFirewall says that an argument is none of those that only tell.
func changesFirewall(args []string) bool {
	line := strings.Join(args, " ")
	for _, tells := range []string{"-s ", "-T show", "--get", "--listapps"} {
		if strings.Contains(line, tells) {
			return false
		}
	}
	return true
}

// play answers a command; passed is true for one that the model does not touch.
func (f *firewallModel) play(c sysexec.Command, root bool) (r sysexec.Result, passed bool) {
	if c.Path == macApplicationFirewall {
		return f.applicationFirewall(c.Args, root), false
	}
	if !root {
		return sysexec.Result{Exit: 1, Stderr: []byte("pfctl: /dev/pf: Permission denied\n")}, false
	}
	exit, out, said, known := f.pf(c.Args, string(c.Stdin))
	return sysexec.Result{Exit: exit, Stdout: []byte(out), Stderr: []byte("No ALTQ support in kernel\nALTQ related functions disabled\n" + said)}, !known
}

const macAnchor = "-a com.apple/000.Sentinel "

func (f *firewallModel) pf(args []string, stdin string) (exit int, out, said string, known bool) {
	switch line := strings.Join(args, " "); {
	case line == "-s info" && f.On:
		return 0, "Status: Enabled for 0 days 00:00:01           Debug: Urgent\n", "", true
	case line == "-s info":
		return 0, "Status: Disabled                              Debug: Urgent\n", "", true
	case line == "-s References":
		return 0, f.references(), "", true
	case line == "-E":
		f.On = true
		token := 15053025338191571182 + 7*uint64(len(f.Refs)+1)
		f.Refs = append(f.Refs, token)
		return 0, "", fmt.Sprintf("pf enabled\nToken : %d\n", token), true
	case args[0] == "-X":
		return f.release(args[1])
	case args[0] == "-k":
		address := args[len(args)-1]
		f.Killed = append(f.Killed, address)
		return 0, "", fmt.Sprintf("killed 1 states from 1 sources and %d destinations\n", len(args)/4), true
	case strings.HasPrefix(line, macAnchor):
		exit, out, said = f.anchor(strings.TrimPrefix(line, macAnchor), stdin)
		return exit, out, said, true
	}
	return 0, "", "", false
}

func (f *firewallModel) references() string {
	if len(f.Refs) == 0 {
		return "No pf starter references held\n"
	}
	out := "TOKENS:\nPID      Process Name                 TOKEN                    TIMESTAMP\n"
	for _, token := range f.Refs {
		out += fmt.Sprintf("%-8d %-28s %-24d 0 days 00:00:01\n", 4063, "pfctl", token)
	}
	return out
}

func (f *firewallModel) release(word string) (exit int, out, said string, known bool) {
	token, err := strconv.ParseUint(word, 10, 64)
	at := slices.Index(f.Refs, token)
	switch {
	case err != nil || f.On && at < 0:
		return 1, "", "pfctl: pf: token invalid\n", true
	case !f.On:
		return 1, "", "pfctl: pf not enabled\n", true
	}
	f.Refs = slices.Delete(f.Refs, at, at+1)
	if len(f.Refs) > 0 {
		return 0, "", fmt.Sprintf("disable request successful. %d more pf enable reference(s) remaining, pf still enabled.\n", len(f.Refs)), true
	}
	f.On = false
	return 0, "", "pf disabled\n", true
}

func (f *firewallModel) anchor(line, stdin string) (exit int, out, said string) {
	switch {
	case line == "-s rules":
		return 0, strings.Join(append(slices.Clone(f.Rules), ""), "\n"), ""
	case line == "-f -":
		f.Loaded, f.Rules = true, nil
		for rule := range strings.Lines(stdin) {
			if !strings.HasPrefix(rule, "table ") {
				f.Rules = append(f.Rules, strings.TrimSpace(rule))
			}
		}
		return 0, "", "pfctl: Use of -f option, could result in flushing of rules\npresent in the main ruleset added by the system at startup.\nSee /etc/pf.conf for further details.\n\n"
	case line == "-F rules":
		f.Rules = nil
		return 0, "", "rules cleared\n"
	case line == "-F Tables":
		f.Loaded, f.Table = false, nil
		return 0, "", "1 tables deleted.\n"
	case !f.Loaded && !strings.Contains(line, "-T add"):
		return 1, "", "pfctl: Table does not exist.\n"
	case strings.HasSuffix(line, "-T show"):
		for _, a := range f.Table {
			out += "   " + a + "\n"
		}
		return 0, out, ""
	}
	return 0, "", f.change(strings.Contains(line, "-T add"), strings.Fields(stdin))
}

func (f *firewallModel) change(add bool, addresses []string) string {
	changed, word := 0, "deleted"
	if add {
		f.Loaded, word = true, "added"
	}
	for _, a := range addresses {
		at := slices.Index(f.Table, a)
		switch {
		case add && at < 0:
			f.Table, changed = append(f.Table, a), changed+1
		case !add && at >= 0:
			f.Table, changed = slices.Delete(f.Table, at, at+1), changed+1
		}
	}
	return fmt.Sprintf("%d/%d addresses %s.\n", changed, len(addresses), word)
}

// applicationFirewall plays the Application Firewall. As root macOS 26 prints nothing about a
// change.
func (f *firewallModel) applicationFirewall(args []string, root bool) sysexec.Result {
	if !strings.HasPrefix(args[0], "--get") && !root {
		return sysexec.Result{Exit: 255, Stdout: []byte("Must be root to change settings.\n")}
	}
	var out strings.Builder
	for i, arg := range args {
		switch arg {
		case "--setglobalstate":
			f.ApplicationFirewall = args[i+1] == "on"
		case "--add":
			f.Apps = append(f.Apps, args[i+1])
		case "--remove":
			f.Apps = slices.DeleteFunc(f.Apps, func(app string) bool { return app == args[i+1] })
		case "--getglobalstate":
			out.WriteString(map[bool]string{true: "Firewall is enabled. (State = 1)\n", false: "Firewall is disabled. (State = 0)\n"}[f.ApplicationFirewall])
		case "--getblockall":
			out.WriteString("Firewall has block all state set to disabled.\n")
		case "--getallowsigned":
			out.WriteString("Automatically allow built-in signed software ENABLED.\nAutomatically allow downloaded signed software ENABLED.\n")
		case "--getstealthmode":
			out.WriteString("Firewall stealth mode is off\n")
		}
	}
	return sysexec.Result{Stdout: []byte(out.String())}
}
