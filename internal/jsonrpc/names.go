// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"sentinel/internal/sanitize"
)

// A vocabulary is the names that have a meaning at a place.
type vocabulary struct {
	words  map[string]word   // by their spelling
	folded map[string]string // spellings by their folded form
}

// A word is one of them. It is looked up far more often than any other is folded.
type word struct {
	name   string
	folded []byte
}

// knownNames makes a vocabulary when it is needed: few runs of sentinel read a message.
func knownNames(names ...string) func() *vocabulary {
	return sync.OnceValue(func() *vocabulary {
		v := &vocabulary{words: make(map[string]word, len(names)), folded: make(map[string]string, len(names))}
		for _, name := range names {
			v.words[name] = word{name, []byte(fold(name))}
			v.folded[fold(name)] = name
		}
		return v
	})
}

// word returns the word of this spelling.
func (v *vocabulary) word(spelled []byte) (w word, ok bool) {
	if v != nil {
		w, ok = v.words[string(spelled)]
	}
	return w, ok
}

// Names with a meaning in a message, in its params and in the _meta of those
// (MCP, all revisions).
var (
	envelopeNames = knownNames("jsonrpc", "id", "method", "params", "result", "error")
	paramsNames   = knownNames("_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor",
		"inputResponses", "level", "message", "name", "notifications", "progress", "progressToken", "protocolVersion",
		"reason", "ref", "requestId", "requestState", "task", "taskId", "total", "uri")
	metaNames = knownNames("progressToken", "io.modelcontextprotocol/protocolVersion",
		"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities",
		"io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId")
)

// few is how many names are compared one by one before they are put into a map.
const few = 24

// names are those that an object has had so far.
type names struct {
	*place
	from int             // where they begin in those of the scanner
	set  map[string]bool // nil while they are few
}

// add takes one more. It returns the name where members are kept, and why two readers may take it
// for another, or "".
// At the places that decide what a message means, names that differ by case or by the folding
// of Unicode are one: encoding/json takes "ID" for "id" and the last of two equal names, other
// readers the first.
func (s *scanner) add(n *names, raw []byte) (name, why string) {
	const most = 40
	shown := func() string { return sanitize.Text(string(raw), most) }
	key := raw
	if n.place != nil {
		w, ok := n.known.word(raw)
		if name = w.name; ok {
			key = w.folded
		} else if name = string(raw); n.known != nil {
			if key = []byte(fold(name)); n.known.folded[string(key)] != "" {
				return name, fmt.Sprintf("the key %q must be written %q", shown(), n.known.folded[string(key)])
			}
		}
	}
	if s.folds {
		key = []byte(fold(string(raw)))
	}
	switch {
	case bytes.IndexByte(raw, 0) >= 0:
		return name, fmt.Sprintf("the key %q holds a zero byte, at which some readers end it", shown())
	case n.has(s.names[n.from:], key):
		return name, fmt.Sprintf("the key %q is there twice", shown())
	}
	s.names = append(s.names, key)
	n.keep(s.names[n.from:])
	return name, ""
}

func (n *names) has(list [][]byte, key []byte) bool {
	if n.set != nil {
		return n.set[string(key)]
	}
	for _, old := range list {
		if bytes.Equal(old, key) {
			return true
		}
	}
	return false
}

// keep has the last of list found quickly, once they are many.
func (n *names) keep(list [][]byte) {
	switch {
	case n.set != nil:
		n.set[string(list[len(list)-1])] = true
	case len(list) == few:
		n.set = make(map[string]bool, 2*few)
		for _, name := range list {
			n.set[string(name)] = true
		}
	}
}

// fold returns the same text for two names if and only if [strings.EqualFold]
// takes them for equal, as encoding/json does.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && c != 'k' && c != 'K' && c != 's' && c != 'S' { // these two have a third form
			return unicode.ToUpper(c)
		}
		least := c
		for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
