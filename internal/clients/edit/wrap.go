// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
)

// A Server is an entry of a configuration, and how it stands to the guard.
type Server struct {
	Name    string
	Project string // the folder for which the client has it; "" for all
	Line    int
	Wrapped bool     // it is behind the guard now
	Why     string   // a clause: why it is not, and cannot be put there
	Command []string // with its arguments, as the client starts it now
	Before  []string // the same before a change; nil where nothing was changed
	Guard   string   // the program of the guard that it is behind
	Behind  []string // what that starts
}

// Why an entry is not one that the client starts.
const (
	Remote   = "it is reached over the network, and not started by the client"
	Disabled = "it is disabled; wrap it once it is enabled"
)

// A Wrapping is what was done to a configuration, or would be.
type Wrapping struct {
	Path    string
	Changed bool
	Servers []Server
}

// Servers lists the servers of a configuration.
func Servers(ctx context.Context, u clients.User, c clients.Client) (Wrapping, error) {
	return wrapping(ctx, u, c, true, func(text, entry) []splice { return nil })
}

// Wrap puts the servers that only wants behind the guard at program, by changing their command and
// arguments. Those that are behind it are brought up to date; a second time changes nothing.
func Wrap(ctx context.Context, u clients.User, c clients.Client, program string, only func(string) bool, dry bool) (Wrapping, error) {
	return wrapping(ctx, u, c, dry, func(t text, e entry) []splice {
		if !only(e.name) {
			return nil
		}
		return t.wrap(e, program)
	})
}

// Unwrap takes the servers that only wants out from behind the guard. Where nobody has changed an
// entry since Wrap, it gets its former bytes back.
func Unwrap(ctx context.Context, u clients.User, c clients.Client, only func(string) bool, dry bool) (Wrapping, error) {
	return wrapping(ctx, u, c, dry, func(t text, e entry) []splice {
		if !only(e.name) {
			return nil
		}
		return t.unwrap(e)
	})
}

// An edition returns what is to be changed of an entry.
type edition func(text, entry) []splice

func wrapping(ctx context.Context, u clients.User, c clients.Client, dry bool, change edition) (Wrapping, error) {
	var servers []Server
	done, err := configure(ctx, u, c, dry, func(f file) (draft, error) {
		after, all, err := rewrap(f.raw, c, change)
		servers = all
		return draft{raw: after}, err
	})
	return Wrapping{done.Path, done.Changed, servers}, err
}

// rewrap returns a configuration with its entries changed, unchanged where there is nothing to do.
// It makes sure that unwrapping leads to the same bytes as before.
func rewrap(raw []byte, c clients.Client, change edition) ([]byte, []Server, error) {
	t, entries, err := entriesOf(raw, c)
	if err != nil {
		return nil, nil, err
	}
	var all []splice
	servers := make([]Server, len(entries))
	changed := make([]bool, len(entries))
	for i, e := range entries {
		servers[i] = t.server(e)
		if e.why == "" {
			splices := change(t, e)
			changed[i] = len(splices) > 0
			all = append(all, splices...)
		}
	}
	if len(all) == 0 {
		return raw, servers, nil
	}
	after := []byte(t.mark + spliced(t.raw, all))
	result, now, err := entriesOf(after, c)
	if err != nil || len(now) != len(entries) || !bytes.Equal(allUnwrapped(t, entries), allUnwrapped(result, now)) {
		return nil, nil, fault.New(fault.Internal, "The change could not be undone exactly, so it is not made.").WithFix("Write the entry anew by hand, in the usual form, then run the same command again.")
	}
	for i, e := range now {
		if was := servers[i].Command; changed[i] {
			servers[i] = result.server(e)
			servers[i].Before = was
		}
	}
	return after, servers, nil
}

// allUnwrapped returns a text with no entry behind the guard.
func allUnwrapped(t text, entries []entry) []byte {
	var all []splice
	for _, e := range entries {
		if e.why == "" {
			all = append(all, t.unwrap(e)...)
		}
	}
	return []byte(t.mark + spliced(t.raw, all))
}

// An entry is a server as it stands in a text.
type entry struct {
	name, project string
	member        *hujson.ObjectMember
	object        *hujson.Object
	command, args *hujson.ObjectMember
	words         []string // of args
	env           []string // names
	why           string   // it cannot be wrapped
}

func (t text) server(e entry) Server {
	s := Server{Name: e.name, Project: e.project, Line: lineOf(t.raw, e.member.Name.StartOffset), Why: e.why}
	if e.why == "" {
		command := literal(e.command.Value)
		s.Command = append([]string{command}, e.words...)
		if s.Behind = clients.Behind(command, e.words); s.Behind != nil {
			s.Wrapped, s.Guard = true, command
		}
	}
	return s
}

// entriesOf lists the servers of a configuration, those for each project after those for all.
func entriesOf(raw []byte, c clients.Client) (text, []entry, error) {
	t, err := parse(raw, c.Install.Syntax)
	if err != nil {
		return text{}, nil, err
	}
	if strings.TrimSpace(strings.TrimPrefix(string(raw), bom)) == "" {
		return t, nil, nil // without the braces that parse puts there
	}
	_, servers, err := t.servers(c.Servers)
	if err != nil {
		return text{}, nil, err
	}
	all, err := t.entries(nil, servers, "")
	if err != nil || c.Install.Projects == "" {
		return t, all, err
	}
	_, projects, err := t.servers(c.Install.Projects)
	if projects == nil || err != nil {
		return t, all, err
	}
	for i := range projects.Members {
		m := &projects.Members[i]
		project, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		servers, err := t.member(project, c.Servers)
		if err != nil {
			return text{}, nil, err
		}
		if servers != nil {
			inner, _ := servers.Value.Value.(*hujson.Object)
			if all, err = t.entries(all, inner, literal(m.Name)); err != nil {
				return text{}, nil, err
			}
		}
	}
	return t, all, nil
}

// maxServers bounds how many servers a file may have: each is compared with all others, and a file
// of a project is whoever's it is.
const maxServers = 500

// entries adds the servers of an object to all.
func (t text) entries(all []entry, servers *hujson.Object, project string) ([]entry, error) {
	if servers == nil {
		return all, nil
	}
	if len(all)+len(servers.Members) > maxServers {
		return nil, flaw{fmt.Sprintf("it has more than %d servers", maxServers), "Take those that are not used out of it, then run the same command again."}
	}
	for i := range servers.Members {
		m := &servers.Members[i]
		e := entry{name: literal(m.Name), project: project, member: m}
		e.why = t.read(&e, servers)
		all = append(all, e)
	}
	return all, nil
}

// read fills in an entry, and returns why it cannot be wrapped.
func (t text) read(e *entry, servers *hujson.Object) string {
	if _, err := t.member(servers, e.name); err != nil {
		return "its name is there twice"
	}
	var ok bool
	if e.object, ok = e.member.Value.Value.(*hujson.Object); !ok {
		return "it is no object in braces"
	}
	found := map[string]*hujson.ObjectMember{}
	for _, name := range []string{"command", "args", "env", "type", "url", "httpUrl", "disabled", "enabled"} {
		m, err := t.member(e.object, name)
		if err != nil {
			return fmt.Sprintf("it has %q twice", name)
		}
		found[name] = m
	}
	e.command, e.args = found["command"], found["args"]
	switch {
	case e.command == nil && (found["url"] != nil || found["httpUrl"] != nil), isWord(found["type"], "http", "sse", "streamable-http", "ws"):
		return Remote
	case e.command == nil:
		return "it has no command"
	case isWord(found["disabled"], "true"), isWord(found["enabled"], "false"):
		return Disabled
	}
	if m := found["env"]; m != nil {
		e.env = namesOf(m.Value)
	}
	return readCommand(e)
}

func isWord(m *hujson.ObjectMember, words ...string) bool {
	if m == nil {
		return false
	}
	l, ok := m.Value.Value.(hujson.Literal)
	return ok && slices.Contains(words, l.String())
}

// readCommand reads what is started. A command with blanks is a whole line, which only some clients
// take apart.
func readCommand(e *entry) string {
	command := literal(e.command.Value)
	switch {
	case command == "":
		return "its command is not a text"
	case strings.ContainsAny(command, " \t\n") && !filepath.IsAbs(command) && !strings.HasPrefix(command, "~") && !strings.HasPrefix(command, "$"):
		return "its command is a whole line; write its words after the first as args"
	}
	if e.args != nil {
		if e.words = stringsOf(e.args.Value); e.words == nil {
			return "its args are not a list of texts"
		}
	}
	if clients.IsGuard(command) && clients.Behind(command, e.words) == nil {
		return "it starts sentinel-guard in a form that wrap does not write"
	}
	return ""
}

// namesOf returns the names of variables that an argument can carry to run, each once.
func namesOf(v hujson.Value) (names []string) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range object.Members {
		name := literal(object.Members[i].Name)
		if argument(name) == name && name != "" && !strings.Contains(name, "=") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// argument makes a name fit for an argument: none of what ends it, what a client would replace
// ("${…}"), or what a person cannot read in a process list.
func argument(name string) string {
	const most = 256 // bytes
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '$' || r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	for len(name) > most {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}

// The arguments of the guard that wrap writes.
const (
	nameArg   = "--name="
	envArg    = "--env="
	presetArg = "--preset="
	noArgs    = "--no-args" // the entry had none
)

// guardArgs returns the arguments of the guard for an entry that starts command, up to the "--".
// further are those that somebody has added.
func guardArgs(e entry, command string, further []string, bare bool) []string {
	args := []string{"run", nameArg + argument(e.name)}
	if clients.IsOurs(command) && !slices.ContainsFunc(further, func(f string) bool { return strings.HasPrefix(f, presetArg) }) {
		args = append(args, presetArg+name)
	}
	for _, n := range e.env {
		args = append(args, envArg+n)
	}
	args = append(args, further...)
	if bare {
		args = append(args, noArgs)
	}
	return append(args, "--")
}

// wrap puts an entry behind the guard, or brings it up to date.
func (t text) wrap(e entry, program string) []splice {
	command := literal(e.command.Value)
	if clients.IsGuard(command) {
		return t.refresh(e, command, program)
	}
	own := t.raw[e.command.Value.StartOffset:e.command.Value.EndOffset]
	all := []splice{{e.command.Value.StartOffset, e.command.Value.EndOffset, quote(program)}}
	words := quoted(guardArgs(e, command, nil, e.args == nil))
	words = append(words, own)
	if e.args == nil {
		s := t.style()
		before := s.space
		if indent, alone := ownLine(t.raw, e.command.Name.StartOffset); alone && s.newline != "" {
			before = s.newline + indent
		}
		at := e.command.Value.EndOffset
		return append(all, splice{at, at, "," + before + s.pair("args", "["+strings.Join(words, ", ")+"]")})
	}
	start := e.args.Value.StartOffset + len("[")
	if len(e.words) == 0 {
		return append(all, splice{start, start, strings.Join(words, ", ")})
	}
	return append(all, splice{start, start, led(t.lead(e), words) + "," + ending(t.lead(e))})
}

// lead is the white space before the first argument, which each has that is put before it.
func (t text) lead(e entry) string {
	rest := t.raw[e.args.Value.StartOffset+len("["):]
	return rest[:len(rest)-len(strings.TrimLeft(rest, blank))]
}

// led joins words that begin a list.
func led(lead string, words []string) string {
	if lead == "" {
		return strings.Join(words, ", ")
	}
	return lead + strings.Join(words, ","+lead)
}

// ending is the space after the last of them, where those that follow bring none.
func ending(lead string) string {
	if lead == "" {
		return " "
	}
	return ""
}

func quoted(all []string) []string {
	words := make([]string, len(all))
	for i := range all {
		words[i] = quote(all[i])
	}
	return words
}

// refresh brings an entry up to date that wrap has written. What was written by hand stays.
func (t text) refresh(e entry, command, program string) []splice {
	at := slices.Index(e.words, "--")
	var further []string
	named, bare := false, false
	for _, w := range e.words[:at] {
		switch {
		case strings.HasPrefix(w, nameArg):
			named = true
		case w == noArgs:
			bare = true
		case w != "run" && !strings.HasPrefix(w, envArg) && w != presetArg+name:
			further = append(further, w)
		}
	}
	if !named {
		return nil
	}
	var all []splice
	if command != program {
		all = append(all, splice{e.command.Value.StartOffset, e.command.Value.EndOffset, quote(program)})
	}
	args := guardArgs(e, e.words[at+1], further, bare)
	if !slices.Equal(args, e.words[:at+1]) {
		array, _ := e.args.Value.Value.(*hujson.Array)
		all = append(all, splice{e.args.Value.StartOffset + len("["), array.Elements[at].EndOffset, led(t.lead(e), quoted(args))})
	}
	return all
}

// unwrap takes an entry out from behind the guard. The command is the text that wrap has moved.
func (t text) unwrap(e entry) []splice {
	command := literal(e.command.Value)
	if clients.Behind(command, e.words) == nil {
		return nil
	}
	at := slices.Index(e.words, "--") + 1
	array, _ := e.args.Value.Value.(*hujson.Array)
	moved := array.Elements[at]
	all := []splice{{e.command.Value.StartOffset, e.command.Value.EndOffset, t.raw[moved.StartOffset:moved.EndOffset]}}
	last := at+1 == len(e.words)
	start, end := e.args.Value.StartOffset+len("["), moved.EndOffset
	switch {
	case last && slices.Contains(e.words[:at], noArgs):
		return append(all, t.withoutArgs(e)...)
	case last && (t.lead(e) != "" || moved.AfterExtra != nil): // a client has laid it out anew
		return append(all, splice{e.args.Value.StartOffset, e.args.Value.EndOffset, "[]"})
	case !last:
		end += len(moved.AfterExtra) + len(",")
		if t.lead(e) == "" && strings.HasPrefix(t.raw[end:], " ") {
			end++
		}
	}
	return append(all, splice{start, end, ""})
}

// withoutArgs removes the member that wrap has added.
func (t text) withoutArgs(e entry) []splice {
	for i := range e.object.Members {
		if &e.object.Members[i] != e.args {
			continue
		}
		if i > 0 && &e.object.Members[i-1] == e.command {
			return []splice{{e.command.Value.EndOffset, e.args.Value.EndOffset, ""}}
		}
		return t.cut(e.object, i, e.member.Value)
	}
	return nil
}
