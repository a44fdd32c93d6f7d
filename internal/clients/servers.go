// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Bounds of a file.
const (
	maxServers = 200
	maxDepth   = 8
	maxText    = 4096 // bytes of a command or an argument
	maxArgs    = 1000 // of one server
)

var (
	// ErrFormat says that a file is no JSON, nor JSON with comments.
	ErrFormat = errors.New("is no JSON")
	// ErrTooMany says that a file has more servers than are read.
	ErrTooMany = errors.New("has more servers than are looked at")
)

// A Server is one that the client starts.
type Server struct {
	Name    string
	Command string // a path, or a name to search for; "" for one reached by a URL
	Args    []string
}

// Program is what serves: the command, or what the guard before it starts.
func (s Server) Program() string {
	if behind := Behind(s.Command, s.Args); behind != nil {
		return behind[0]
	}
	return s.Command
}

// Paths are the absolute paths that decide what runs: the program and the
// arguments before which no option takes a value away.
func (s Server) Paths() []string {
	var paths []string
	for _, one := range append([]string{s.Command}, s.Args...) {
		if strings.HasPrefix(one, "/") && len(one) > 1 && isProgram(one, one == s.Command || one == s.Program()) {
			paths = append(paths, one)
		}
	}
	return paths
}

// isProgram tells scripts from data by their ending: a server is given directories
// and files to work on as well.
func isProgram(file string, command bool) bool {
	name := file[strings.LastIndexByte(file, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	return command || dot > 0 && slices.Contains([]string{".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".rb", ".pl", ".php", ".jar", ".exe", ".dll", ".lua"}, name[dot:])
}

// isServers says whether a member of that name holds servers. mcp_servers is of
// programs that are not in the list.
func isServers(name string) bool {
	return name == "mcp_servers" || slices.ContainsFunc(list, func(c Client) bool { return c.Servers == name })
}

// Parse returns the servers in a configuration of c. The error is [ErrFormat]
// for one that c itself cannot read.
func (c Client) Parse(raw []byte) ([]Server, error) {
	if c.Install != nil && c.Install.Syntax == Strict && !json.Valid(withoutMark(raw)) {
		return nil, ErrFormat
	}
	return Parse(raw)
}

// Parse returns the servers in a file of any client, wherever in it their object
// is: clients keep one for each project as well. With [ErrTooMany] it returns those that were read.
// Beside raw it takes as much memory again, however many values there are.
func Parse(raw []byte) ([]Server, error) {
	document := bytes.TrimSpace(plain(withoutMark(raw)))
	if !json.Valid(document) {
		return nil, ErrFormat
	}
	var found []Server
	find(document, 0, &found)
	var err error
	if len(found) > maxServers {
		found, err = found[:maxServers], ErrTooMany
	}
	slices.SortStableFunc(found, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// withoutMark drops the byte order mark with which some editors begin a file.
func withoutMark(raw []byte) []byte { return bytes.TrimPrefix(raw, []byte("\ufeff")) }

func find(object []byte, depth int, found *[]Server) {
	if object[0] != '{' || depth == maxDepth {
		return
	}
	for key, inner := range values(object) {
		if inner[0] != '{' {
			continue
		}
		if !isServers(key) {
			find(inner, depth+1, found)
			continue
		}
		for name, entry := range values(inner) {
			if one, ok := server(name, entry); ok && len(*found) <= maxServers {
				*found = append(*found, one)
			}
		}
	}
}

// server reads one entry. Zed keeps the path in an object of its own.
func server(name string, entry []byte) (Server, bool) {
	if entry[0] != '{' {
		return Server{}, false
	}
	s := Server{Name: name}
	command, args := member(entry, "command"), member(entry, "args")
	switch command[0] {
	case '"':
		s.Command, _ = text(command)
	case '{':
		s.Command, _ = text(member(command, "path"))
		args = member(command, "args")
	case '[':
		args = command
	}
	if args[0] != '[' {
		return s, s.Command != ""
	}
	first := command[0] == '[' // is the command
	for _, one := range values(args) {
		said, ok := text(one)
		switch {
		case first:
			s.Command, first = said, false
		case len(s.Args) == maxArgs:
			return s, s.Command != ""
		case ok:
			s.Args = append(s.Args, said)
		}
	}
	return s, s.Command != ""
}

// plain blanks out comments and commas before a closing bracket, which the
// editors among the clients allow, outside of strings.
func plain(raw []byte) []byte {
	out := slices.Clone(raw)
	comma := -1 // the last one with nothing but blanks and comments after it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i = stringEnd(out, i)
			comma = -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// stringEnd returns the index of the quotation mark that ends the string which
// begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// blankComment overwrites the comment at i and returns the index of its last
// byte.
func blankComment(b []byte, i int) int {
	ends := "\n"
	if b[i+1] == '*' {
		ends = "*/"
	}
	length := bytes.Index(b[i+2:], []byte(ends))
	end := len(b)
	if length >= 0 {
		end = i + 2 + length + len(ends)
	}
	for k := i; k < end; k++ {
		if b[k] != '\n' {
			b[k] = ' '
		}
	}
	return end - 1
}
