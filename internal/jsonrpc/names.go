// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"fmt"
	"strings"
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

func knownNames(names ...string) *vocabulary {
	v := &vocabulary{words: make(map[string]word, len(names)), folded: make(map[string]string, len(names))}
	for _, name := range names {
		v.words[name] = word{name, []byte(fold(name))}
		v.folded[fold(name)] = name
	}
	return v
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
	list  [][]byte
	set   map[string]bool
	first [6][]byte // where list begins: most objects have no more
}

// add takes one more and returns why two readers may take it for another, or "".
// At the places that decide what a message means, names that differ by case or by the folding
// of Unicode are one: encoding/json takes "ID" for "id" and the last of two equal names, other
// readers the first.
func (n *names) add(name []byte) string {
	const most = 40
	shown := func() string { return sanitize.Text(string(name), most) }
	key := name
	if n.place != nil && n.known != nil {
		if w, ok := n.known.words[string(name)]; ok {
			key = w.folded
		} else if key = []byte(fold(string(name))); n.known.folded[string(key)] != "" {
			return fmt.Sprintf("the key %q must be written %q", shown(), n.known.folded[string(key)])
		}
	}
	switch {
	case bytes.IndexByte(name, 0) >= 0:
		return fmt.Sprintf("the key %q holds a zero byte, at which some readers end it", shown())
	case n.has(key):
		return fmt.Sprintf("the key %q is there twice", shown())
	}
	n.keep(key)
	return ""
}

func (n *names) has(key []byte) bool {
	if n.set != nil {
		return n.set[string(key)]
	}
	for _, old := range n.list {
		if bytes.Equal(old, key) {
			return true
		}
	}
	return false
}

func (n *names) keep(key []byte) {
	if n.list = append(n.list, key); len(n.list) == few {
		n.set = make(map[string]bool, 2*few)
		for _, old := range n.list {
			n.set[string(old)] = true
		}
	}
	if n.set != nil {
		n.set[string(key)] = true
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
