// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/pfctl"
)

// A fakePF is pf with its pfctl, in memory. It prints what the recorded runs of
// macOS print, and decides about packets by its own reading of pf.conf(5).
//
// Provenance: the texts of -E, -X, -s info and -s References are those recorded on macOS
// 26.5.2, those of the tables, the ALTQ lines and the refusals recorded on 10.10 to 26; the
// listing of a single anchor's rules, the count of killed states and the
// errors of DIOCGETRULES follow the source of pfctl.
type fakePF struct {
	t  testing.TB
	mu sync.Mutex

	old     bool // prints about ALTQ with every run, as macOS 12 does
	notRoot bool
	missing bool
	// crash, when it is not 0, ends the caller at that run, before or after its
	// effect.
	crash     int
	afterward bool
	runs      int
	// answer, if set, may answer in place of pf.
	answer func(args string, stdin []byte) (sysexec.Result, error, bool)

	boot    int // counts starts of the machine
	on      bool
	next    uint64
	refs    []uint64
	rules   []string // main ruleset
	anchors map[string]*fakeAnchor
	states  []fakeState
	icmp6   string // the type of the packets that are judged; empty for other protocols
	way     string // in or out, of the packet that is judged
	log     []string

	noRelay, noSkywalk bool // what it has switched off for rules that are not Apple's
}

type fakeAnchor struct {
	rules  []string
	tables map[string]map[netip.Addr]bool
}

type fakeState struct{ from, to netip.Addr }

// stock is the main ruleset of /etc/pf.conf as pfctl lists it.
var stock = []string{`scrub-anchor "com.apple/*" all fragment reassemble`, `anchor "com.apple/*" all`}

func newFakePF(t testing.TB) *fakePF {
	f := &fakePF{t: t}
	f.start()
	return f
}

// start starts the machine: what pf held is gone, and pf is off until somebody
// needs it.
func (f *fakePF) start() {
	f.boot++
	f.on, f.refs, f.states, f.noRelay, f.noSkywalk = false, nil, nil, false, false
	f.next = 15053025338191571182 + uint64(f.boot)*1000
	f.rules = slices.Clone(stock)
	f.anchors = map[string]*fakeAnchor{
		"com.apple":                         {rules: []string{`anchor "200.AirDrop/*" all`, `anchor "250.ApplicationFirewall/*" all`}},
		"com.apple/200.AirDrop":             {},
		"com.apple/250.ApplicationFirewall": {rules: []string{"block drop in inet proto icmp all icmp-type echoreq"}},
	}
}

// Run implements [sysexec.Runner].
func (f *fakePF) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if err := ctx.Err(); err != nil {
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Path != pfctl.Program || c.Timeout == 0 {
		f.t.Errorf("%s is run, with the limit %v", c.Path, c.Timeout)
	}
	f.runs++
	if f.runs == f.crash && !f.afterward {
		f.die()
	}
	r, err := f.play(strings.Join(c.Args, " "), c.Stdin)
	if f.runs == f.crash {
		f.die()
	}
	return r, err
}

// die is what SIGKILL does to the caller.
func (f *fakePF) die() {
	f.crash = 0
	runtime.Goexit()
}

func (f *fakePF) play(args string, stdin []byte) (sysexec.Result, error) {
	f.log = append(f.log, args)
	if f.answer != nil {
		if r, err, ok := f.answer(args, stdin); ok {
			return r, err
		}
	}
	switch {
	case f.missing:
		return sysexec.Result{}, fmt.Errorf("run %s: %w", pfctl.Program, fs.ErrNotExist)
	case f.notRoot:
		return result(1, "", "pfctl: /dev/pf: Permission denied\n"), nil
	}
	exit, out, said := f.do(strings.Fields(args), string(stdin))
	if f.old || strings.Contains(args, "-T") || strings.Contains(args, "rules") {
		said = "No ALTQ support in kernel\nALTQ related functions disabled\n" + said
	}
	return result(exit, out, said), nil
}

func result(exit int, out, said string) sysexec.Result {
	return sysexec.Result{Exit: exit, Stdout: []byte(out), Stderr: []byte(said)}
}

func (f *fakePF) do(words []string, stdin string) (exit int, out, said string) {
	name := ""
	if words[0] == "-a" {
		name, words = words[1], words[2:]
	}
	switch line := strings.Join(words, " "); {
	case line == "-s info" && name == "":
		return 0, f.info(), ""
	case line == "-s rules":
		return f.listRules(name)
	case line == "-v -s Anchors":
		return 0, f.listAnchors(name), ""
	case line == "-s References" && name == "":
		return 0, f.references(), ""
	case line == "-E" && name == "":
		f.next += 7
		started := !f.on
		f.refs, f.on = append(f.refs, f.next), true
		if started {
			f.review()
		}
		return 0, "", fmt.Sprintf("pf enabled\nToken : %d\n", f.next)
	case words[0] == "-X" && name == "":
		return f.release(words[1])
	case line == "-f -" && name != "":
		return f.load(name, stdin)
	case (line == "-F rules" || line == "-F Tables") && name != "":
		return 0, "", f.flush(name, words[1])
	case words[0] == "-t" && words[2] == "-T" && name != "":
		return f.table(name, words[1], words[3], words[4:], stdin)
	case words[0] == "-k" && name == "":
		return 0, "", f.kill(words)
	}
	f.t.Errorf("pfctl is called with %q %q", name, words)
	return 1, "", "usage: pfctl\n"
}

func (f *fakePF) info() string {
	status := "Status: Disabled                              Debug: Urgent\n"
	if f.on {
		status = "Status: Enabled for 0 days 00:00:00           Debug: Urgent\n"
	}
	return status + "\nState Table                          Total             Rate\n  current entries                        0               \n"
}

func (f *fakePF) listRules(name string) (int, string, string) {
	rules := f.rules
	if name != "" {
		a := f.anchors[name]
		if a == nil {
			return 1, "", "pfctl: DIOCGETRULES: Invalid argument\n"
		}
		rules = a.rules
	}
	if len(rules) == 0 {
		return 0, "", ""
	}
	return 0, strings.Join(rules, "\n") + "\n", ""
}

func (f *fakePF) listAnchors(name string) string {
	out := ""
	for _, path := range slices.Sorted(maps.Keys(f.anchors)) {
		if strings.HasPrefix(path, name+"/") {
			out += "  " + path + "\n"
		}
	}
	return out
}

func (f *fakePF) references() string {
	if len(f.refs) == 0 {
		return "No pf starter references held\n"
	}
	out := "TOKENS:\nPID      Process Name                 TOKEN                    TIMESTAMP\n"
	for _, r := range f.refs {
		out += fmt.Sprintf("%-8d %-28s %-24d %d days 00:00:0%d\n", 4063, "pfctl", r, 0, 1)
	}
	return out
}

func (f *fakePF) release(word string) (int, string, string) {
	token, err := strconv.ParseUint(word, 10, 64)
	switch i := slices.Index(f.refs, token); {
	case err != nil:
		return 1, "", "pfctl: invalid token\n"
	case !f.on:
		return 1, "", "pfctl: pf not enabled\n"
	case i < 0:
		return 1, "", "pfctl: pf: token invalid\n"
	default:
		f.refs = slices.Delete(f.refs, i, i+1)
	}
	if len(f.refs) > 0 {
		return 0, "", fmt.Sprintf("disable request successful. %d more pf enable reference(s) remaining, pf still enabled.\n", len(f.refs))
	}
	f.on = false
	f.review()
	return 0, "", "pf disabled\n"
}

// review is pf_process_compatibilities of xnu (bsd/net/pf_ioctl.c, 2024). The kernel
// calls it when pf starts or stops and when rules are replaced, and not when tables are.
func (f *fakePF) review() {
	f.noRelay, f.noSkywalk = false, false
	for path, a := range f.anchors {
		known := path == "com.apple" || strings.HasPrefix(path, "com.apple/200.AirDrop") || strings.HasPrefix(path, "com.apple/250.ApplicationFirewall")
		f.noSkywalk = f.noSkywalk || !known
		f.noRelay = f.noRelay || !known && f.on && len(a.rules) > 0
	}
}

func (f *fakePF) load(name, text string) (int, string, string) {
	const warning = "pfctl: Use of -f option, could result in flushing of rules\npresent in the main ruleset added by the system at startup.\nSee /etc/pf.conf for further details.\n\n"
	if !strings.HasSuffix(text, "\n") {
		return 1, "", warning + fmt.Sprintf("stdin:%d: syntax error\npfctl: Syntax error in config file: pf rules not loaded\n", 1+strings.Count(text, "\n"))
	}
	a := f.at(name)
	a.rules = nil
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if declared, ok := strings.CutPrefix(line, "table <"); ok {
			table, _, _ := strings.Cut(declared, ">")
			a.make(table)
			continue
		}
		a.rules = append(a.rules, line)
	}
	f.review()
	return 0, "", warning
}

func (f *fakePF) at(name string) *fakeAnchor {
	if f.anchors[name] == nil {
		f.anchors[name] = &fakeAnchor{}
	}
	return f.anchors[name]
}

func (a *fakeAnchor) make(table string) (made bool) {
	if a.tables == nil {
		a.tables = map[string]map[netip.Addr]bool{}
	}
	if a.tables[table] == nil {
		a.tables[table], made = map[netip.Addr]bool{}, true
	}
	return made
}

func (f *fakePF) flush(name, what string) string {
	a := f.anchors[name]
	said := "rules cleared\n"
	if what == "Tables" {
		said = "0 tables deleted.\n"
	}
	if a == nil {
		return said
	}
	if what == "rules" {
		a.rules = nil
		f.review()
	} else {
		said = fmt.Sprintf("%d tables deleted.\n", len(a.tables))
		a.tables = nil
	}
	if len(a.rules)+len(a.tables) == 0 {
		delete(f.anchors, name)
	}
	return said
}

func (f *fakePF) table(name, table, verb string, rest []string, stdin string) (exit int, out, said string) {
	var held map[netip.Addr]bool
	if a := f.anchors[name]; a != nil {
		held = a.tables[table]
	}
	if held == nil && verb != "add" {
		return 1, "", "pfctl: Table does not exist.\n"
	}
	if verb == "show" {
		var list strings.Builder
		for _, a := range slices.SortedFunc(maps.Keys(held), netip.Addr.Compare) {
			list.WriteString("   " + a.String() + "\n")
		}
		return 0, list.String(), ""
	}
	if !slices.Equal(rest, []string{"-f", "-"}) {
		f.t.Errorf("addresses are passed as %q", rest)
	}
	var asked []netip.Addr
	for word := range strings.FieldsSeq(stdin) {
		a, err := netip.ParseAddr(word)
		if err != nil || a.Is4In6() || a.Zone() != "" {
			return 1, "", "pfctl: cannot load -: Undefined error: 0\n"
		}
		asked = append(asked, a)
	}
	if len(asked) > batch {
		f.t.Errorf("%d addresses at once", len(asked))
	}
	if f.at(name).make(table) {
		said = "1 table created.\n"
	}
	held = f.anchors[name].tables[table]
	changed := 0
	for _, a := range asked {
		if held[a] != (verb == "add") {
			changed++
		}
		if verb == "add" {
			held[a] = true
		} else {
			delete(held, a)
		}
	}
	return 0, "", said + fmt.Sprintf("%d/%d addresses %sd.\n", changed, len(asked), map[string]string{"add": "adde", "delete": "delete"}[verb])
}

func (f *fakePF) kill(words []string) string {
	from, to := netip.MustParseAddr(strings.TrimSuffix(words[len(words)-1], "/0")), netip.Addr{}
	if len(words) == 4 {
		from, to = to, from
	}
	killed := len(f.states)
	f.states = slices.DeleteFunc(f.states, func(s fakeState) bool { return s.from == from || s.to == to })
	killed -= len(f.states)
	return fmt.Sprintf("killed %d states from 1 sources and %d destinations\n", killed, len(words)/4)
}

// passes says whether a packet of this machine passes.
func (f *fakePF) passes(from, to netip.Addr) bool {
	if from == here4 || from == here6 {
		return f.meets("out", from, to)
	}
	return f.meets("in", from, to)
}

// forwards says whether a packet passes that this machine forwards.
func (f *fakePF) forwards(from, to netip.Addr) bool {
	return f.meets("in", from, to) && f.meets("out", from, to)
}

// meets says whether a packet passes one way: by the state it belongs to, else by the
// last rule that matches, or the first with quick.
func (f *fakePF) meets(way string, from, to netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.way = way
	if !f.on || slices.Contains(f.states, fakeState{from, to}) || slices.Contains(f.states, fakeState{to, from}) {
		return true
	}
	verdict, _ := f.judge("", f.rules, from, to)
	return verdict != "block"
}

func (f *fakePF) judge(path string, rules []string, from, to netip.Addr) (verdict string, final bool) {
	for _, rule := range rules {
		words := strings.Fields(rule)
		quick := slices.Contains(words, "quick")
		if words[0] == "anchor" {
			inner, done := f.enter(path, strings.Trim(words[1], `"`), from, to)
			if inner != "" {
				verdict = inner
			}
			if done || quick && inner != "" {
				return verdict, true
			}
			continue
		}
		if words[0] != "pass" && words[0] != "block" || !f.matches(path, words, from, to) {
			continue
		}
		verdict = words[0]
		if quick {
			return verdict, true
		}
	}
	return verdict, false
}

// enter evaluates an anchor, or all right below one in the order of their names.
func (f *fakePF) enter(path, name string, from, to netip.Addr) (verdict string, final bool) {
	if path != "" {
		name = path + "/" + name
	}
	below, all := strings.CutSuffix(name, "/*")
	for _, candidate := range slices.Sorted(maps.Keys(f.anchors)) {
		rest, inside := strings.CutPrefix(candidate, below+"/")
		if all && (!inside || strings.Contains(rest, "/")) || !all && candidate != name {
			continue
		}
		inner, done := f.judge(candidate, f.anchors[candidate].rules, from, to)
		if inner != "" {
			verdict = inner
		}
		if done {
			return verdict, true
		}
	}
	return verdict, false
}

// matches knows rules for all packets, for a table on one side, and those of one
// protocol or of the loopback interface, which no packet here is.
func (f *fakePF) matches(path string, words []string, from, to netip.Addr) bool {
	if at := slices.Index(words, "icmp6-type"); at > 0 && words[at+1] != f.icmp6 {
		return false
	} else if at < 0 && slices.Contains(words, "proto") || slices.Contains(words, "lo0") {
		return false
	}
	if at := slices.IndexFunc(words, func(w string) bool { return w == "in" || w == "out" }); at > 0 && words[at] != f.way {
		return false
	}
	at := slices.Index(words, "from")
	if at < 0 {
		return words[len(words)-1] == "all" || slices.Contains(words, "all")
	}
	return f.side(path, words[at+1], from) && f.side(path, words[at+3], to)
}

func (f *fakePF) side(path, word string, a netip.Addr) bool {
	if word == "any" {
		return true
	}
	held := f.anchors[path]
	return held != nil && held.tables[strings.Trim(word, "<>")][a]
}

// flushAll is "pfctl -F all" of somebody else: it empties the main ruleset and
// forgets all states, and leaves anchors alone.
func (f *fakePF) flushAll() { f.rules, f.states = nil, nil }

// dropped says that pf is as it was before anybody blocked anything.
func (f *fakePF) untouched() error {
	if a := f.anchors[anchor]; a != nil {
		return fmt.Errorf("the anchor is left: %+v", a)
	}
	return nil
}
