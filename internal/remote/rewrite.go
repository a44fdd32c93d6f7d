// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
)

// maxText is the longest text of an answer, in runes.
const maxText = 16 << 10

// advice are the members that sentinel words itself: what is below them is about that host. All else is data
// of anybody on that machine, passed on as it is.
var advice = []string{"error", "next", "fix", "fix_note", "details", "warnings", "restart_note"}

// isAdvice reports whether a member has advice. Readers in Go match names by folded case.
func isAdvice(name string) bool {
	return slices.ContainsFunc(advice, func(a string) bool { return strings.EqualFold(a, name) })
}

// errTwice reports names of one object that cannot be told apart when they are shown.
var errTwice = errors.New("two members of an object have one name")

// rewritten returns a document with all of its members in their order and every number as it came, whose texts
// a terminal and a reader can be shown, and whose advice is about the host alone that it came from.
func rewritten(raw json.RawMessage, host string) (json.RawMessage, error) {
	r := rewriter{in: json.NewDecoder(bytes.NewReader(raw)), host: host}
	r.in.UseNumber() // as it is written
	r.texts = json.NewEncoder(&r.out)
	r.texts.SetEscapeHTML(false)
	err := r.value(false)
	return r.out.Bytes(), err
}

// A rewriter writes what it reads. The names that it compares are decoded ones: what a name is does not
// depend on how it is spelled.
type rewriter struct {
	in    *json.Decoder
	out   bytes.Buffer
	texts *json.Encoder
	host  string
}

// value rewrites one value.
func (r *rewriter) value(advised bool) error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		r.out.WriteString(v.String())
		if v == '{' {
			err = r.members(advised)
		} else {
			err = r.items(advised)
		}
	case string:
		err = r.text(r.shown(v, advised))
	case nil:
		r.out.WriteString("null")
	default: // a number or a boolean
		fmt.Fprint(&r.out, v)
	}
	return err
}

// shown returns a text that a terminal and a reader can be shown.
func (r *rewriter) shown(text string, advised bool) string {
	if advised {
		text = ops.OnHost(sanitize.Text(text, maxText), r.host)
	}
	return sanitize.Text(text, maxText)
}

// members rewrites an object to its end. Advice has no member that names a host.
func (r *rewriter) members(advised bool) error {
	seen := map[string]bool{}
	for r.in.More() {
		token, err := r.in.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if advised && strings.EqualFold(name, "host") {
			if err := r.in.Decode(new(json.RawMessage)); err != nil {
				return err
			}
			continue
		}
		if name = r.shown(name, advised); seen[name] {
			return errTwice
		}
		r.separate(len(seen))
		seen[name] = true
		if err := r.text(name); err != nil {
			return err
		}
		r.out.WriteByte(':')
		if err := r.value(advised || isAdvice(name)); err != nil {
			return err
		}
	}
	return r.end()
}

// items rewrites an array to its end.
func (r *rewriter) items(advised bool) error {
	for n := 0; r.in.More(); n++ {
		r.separate(n)
		if err := r.value(advised); err != nil {
			return err
		}
	}
	return r.end()
}

func (r *rewriter) separate(before int) {
	if before > 0 {
		r.out.WriteByte(',')
	}
}

// end writes the bracket that closes an object or an array.
func (r *rewriter) end() error {
	token, err := r.in.Token()
	if err == nil {
		fmt.Fprint(&r.out, token)
	}
	return err
}

// text writes a text in quotes.
func (r *rewriter) text(text string) error {
	err := r.texts.Encode(text)
	r.out.Truncate(r.out.Len() - len("\n"))
	return err
}
