// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
)

// name is what our server is called in every client.
const name = "sentinel"

const blank = " \t\r\n"

// An Entry is how a client starts the server.
type Entry struct {
	Command string   // absolute
	Args    []string // nil keeps those of an existing entry
	Initial []string // of an entry that is new, where Args is nil
	Guard   string   // the program of the guard before it; "" leaves it as it is
}

// A splice replaces raw[from:to] by put.
type splice struct {
	from, to int
	put      string
}

// spliced applies splices, which do not overlap.
func spliced(raw string, all []splice) string {
	slices.SortStableFunc(all, func(a, b splice) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, s := range all {
		b.WriteString(raw[at:s.from])
		b.WriteString(s.put)
		at = s.to
	}
	b.WriteString(raw[at:])
	return b.String()
}

// install returns the configuration with the entry, unchanged when it has it. An entry that is
// behind the guard stays there.
func install(raw []byte, c clients.Client, e Entry) ([]byte, error) {
	before, guard, err := unguarded(raw, c)
	if err != nil {
		return nil, err
	}
	if e.Guard != "" {
		guard = e.Guard
	}
	after, err := installBare(before, c, e)
	if err != nil || guard == "" {
		return after, err
	}
	if after, err = guarded(after, c, guard); err == nil && behindAsBefore(raw, after, c) {
		return raw, nil
	}
	return after, err
}

func installBare(raw []byte, c clients.Client, e Entry) ([]byte, error) {
	t, err := parse(raw, c.Install.Syntax)
	if err != nil {
		return nil, err
	}
	at, servers, err := t.servers(c.Servers)
	if err != nil {
		return nil, err
	}
	var all []splice
	if style := t.style(); at == nil {
		entry := style.pair(name, style.entry(c, e, style.unit+style.unit))
		all = style.add(t.raw, t.root, t.at, style.object(style.unit, []string{entry}), c.Servers)
	} else if all, err = t.enter(servers, at.Value.StartOffset, c, e, style); err != nil {
		return nil, err
	}
	return t.changed(all, c, func(after Entry, ours bool) bool {
		return ours && after.Command == e.Command && (e.Args == nil || slices.Equal(after.Args, e.Args))
	})
}

// enter adds the entry to the servers, or updates ours.
func (t text) enter(servers *hujson.Object, at int, c clients.Client, e Entry, s style) ([]splice, error) {
	ours, err := t.member(servers, name)
	if err != nil {
		return nil, err
	}
	if ours == nil {
		return s.add(t.raw, servers, at, s.entry(c, e, s.indent(t.raw, servers, at)), name), nil
	}
	object, ok := ours.Value.Value.(*hujson.Object)
	if !ok {
		return nil, t.foreign(ours)
	}
	command, err := t.member(object, "command")
	if err != nil {
		return nil, err
	}
	if command == nil || !clients.IsOurs(literal(command.Value)) {
		return nil, t.foreign(ours)
	}
	return t.update(object, ours.Value.StartOffset, command, e, s)
}

// update changes the command and the arguments of our entry. Other members that
// the user has added stay.
func (t text) update(object *hujson.Object, at int, command *hujson.ObjectMember, e Entry, s style) ([]splice, error) {
	var all []splice
	if literal(command.Value) != e.Command {
		all = append(all, splice{command.Value.StartOffset, command.Value.EndOffset, quote(e.Command)})
	}
	args, err := t.member(object, "args")
	switch {
	case err != nil || e.Args == nil:
		return all, err
	case args == nil:
		return append(all, s.add(t.raw, object, at, list(e.Args), "args")...), nil
	case !slices.Equal(stringsOf(args.Value), e.Args):
		all = append(all, splice{args.Value.StartOffset, args.Value.EndOffset, list(e.Args)})
	}
	return all, nil
}

// foreign refuses an entry with our name that runs another program, which is
// somebody else's.
func (t text) foreign(m *hujson.ObjectMember) error {
	return flaw{
		what: fmt.Sprintf("line %d has a server named %q that does not run %s", lineOf(t.raw, m.Name.StartOffset), name, clients.Program),
		fix:  "Rename or remove that server, then run the same command again.",
	}
}

// remove returns the configuration without our entry, unchanged when there is
// none.
func remove(raw []byte, c clients.Client) ([]byte, error) {
	before, guard, err := unguarded(raw, c)
	if err != nil {
		return nil, err
	}
	after, err := removeBare(before, c)
	if err == nil && guard != "" && bytes.Equal(after, before) {
		return raw, nil
	}
	return after, err
}

func removeBare(raw []byte, c clients.Client) ([]byte, error) {
	t, err := parse(raw, c.Install.Syntax)
	if err != nil {
		return nil, err
	}
	at, servers, err := t.servers(c.Servers)
	if at == nil || err != nil {
		return raw, err
	}
	ours, err := t.member(servers, name)
	if ours == nil || err != nil {
		return raw, err
	}
	if _, err := t.enter(servers, at.Value.StartOffset, c, Entry{}, t.style()); err != nil {
		return nil, err // not ours
	}
	for i := range servers.Members {
		if &servers.Members[i] == ours {
			return t.changed(t.cut(servers, i, at.Value), c, func(_ Entry, ours bool) bool { return !ours })
		}
	}
	return raw, nil
}

// cut removes member i from an object, together with its line and one comma.
func (t text) cut(object *hujson.Object, i int, whole hujson.Value) []splice {
	m := object.Members[i]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	before := t.raw[from-len(m.Name.BeforeExtra) : from]
	from -= len(before) - len(strings.TrimRight(before, blank))
	last := i == len(object.Members)-1
	var all []splice
	switch {
	case len(object.Members) == 1 && strings.Trim(t.raw[whole.StartOffset+1:from]+t.raw[to:whole.EndOffset-1], blank+",") == "":
		return []splice{{whole.StartOffset, whole.EndOffset, "{}"}}
	case !last || m.Value.AfterExtra != nil:
		to += len(m.Value.AfterExtra) + len(",")
	case i > 0:
		comma := object.Members[i-1].Value.EndOffset + len(object.Members[i-1].Value.AfterExtra)
		all = append(all, splice{comma, comma + len(","), ""})
	}
	return append(all, splice{from, to, t.newline(from, to)})
}

// newline is what remains of raw[from:to]: the end of a line comment before it,
// unless a line ends there anyway.
func (t text) newline(from, to int) string {
	line := t.raw[strings.LastIndexByte(t.raw[:from], '\n')+1 : from]
	if strings.Contains(line, "//") && !strings.HasPrefix(strings.TrimLeft(t.raw[to:], " \t\r"), "\n") {
		return "\n"
	}
	return ""
}

// changed applies the splices, then parses the result to make sure that they
// changed our entry as wanted and nothing else.
func (t text) changed(all []splice, c clients.Client, want func(e Entry, ours bool) bool) ([]byte, error) {
	if len(all) == 0 {
		return []byte(t.mark + t.raw), nil
	}
	after := t.mark + spliced(t.raw, all)
	result, err := parse([]byte(after), c.Install.Syntax)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "The change would have damaged the configuration", err)
	}
	entry, ours := entryOf([]byte(after), c)
	if !want(entry, ours) || !slices.Equal(t.rest(c.Servers, name), result.rest(c.Servers, name)) {
		return nil, fault.New(fault.Internal, "The change would have changed something else in the configuration.")
	}
	return []byte(after), nil
}

func literal(v hujson.Value) string {
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return ""
	}
	return l.String()
}

// stringsOf returns the strings of an array, nil when it is not one of strings.
func stringsOf(v hujson.Value) []string {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	all := []string{}
	for _, e := range array.Elements {
		l, ok := e.Value.(hujson.Literal)
		if !ok || l.Kind() != '"' {
			return nil
		}
		all = append(all, l.String())
	}
	return all
}

// entryOf returns our entry in a configuration; false when there is none.
func entryOf(raw []byte, c clients.Client) (Entry, bool) {
	before, guard, err := unguarded(raw, c)
	if err != nil {
		return Entry{}, false
	}
	e, ours := bareEntryOf(before, c)
	e.Guard = guard
	return e, ours
}

func bareEntryOf(raw []byte, c clients.Client) (Entry, bool) {
	t, err := parse(raw, c.Install.Syntax)
	if err != nil {
		return Entry{}, false
	}
	_, servers, err := t.servers(c.Servers)
	if servers == nil || err != nil {
		return Entry{}, false
	}
	ours, err := t.member(servers, name)
	if ours == nil || err != nil {
		return Entry{}, false
	}
	object, ok := ours.Value.Value.(*hujson.Object)
	if !ok {
		return Entry{}, false
	}
	var e Entry
	if m, err := t.member(object, "command"); m != nil && err == nil {
		e.Command = literal(m.Value)
	}
	if m, err := t.member(object, "args"); m != nil && err == nil {
		e.Args = stringsOf(m.Value)
	}
	return e, clients.IsOurs(e.Command)
}
