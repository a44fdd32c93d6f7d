// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/jsonrpc"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
)

// maxText is the longest text of an answer, in runes.
const maxText = 16 << 10

// advice are the members in which sentinel tells and advises. A reader follows such sentences, and could take them
// for this side's: so the text of all that is below them is quoted as that machine's, but for the call of a tool,
// which is here one on that host, and for a word of a list. All else is data of anybody on that machine, passed on
// as it is.
var advice = []string{
	"error", "next", "fix", "fix_note", "details", "warnings", "notes", "restart_note", "question",
	"free", "note", "problem", "reboot_reason", "reload_needed", "restarted_by", "summary", "why",
}

// A voice says how the text of a member is to be read.
type voice int

const (
	ofAnybody  voice = iota // data of that machine
	ofDocument              // the same, of the members of the answer itself
	quotedOf                // advice
)

// below returns the voice of a member. Readers in Go match names by folded case.
func (v voice) below(name string) voice {
	called := func(one string) bool { return strings.EqualFold(one, name) }
	switch {
	case v == quotedOf, slices.ContainsFunc(advice, called), v == ofDocument && called("message"): // what was done
		return quotedOf
	default:
		return ofAnybody
	}
}

// isWord tells the words of lists, such as program_in_tmp, from sentences.
var isWord = lazyregexp.New(`^[a-z]{1,20}(_[a-z]{1,20}){1,3}$`)

// errTwice reports names of one object that cannot be told apart when they are shown.
var errTwice = errors.New("two members of an object have one name")

// rewritten returns a document with all of its members in their order and every number as it came, whose texts
// a terminal and a reader can be shown, and whose advice says that it is the host's.
func rewritten(raw json.RawMessage, host string) (json.RawMessage, error) {
	r := rewriter{in: json.NewDecoder(bytes.NewReader(raw)), host: host}
	r.in.UseNumber() // as it is written
	r.texts = json.NewEncoder(&r.out)
	r.texts.SetEscapeHTML(false)
	if err := r.value(ofDocument); err != nil {
		return nil, err
	}
	if _, ok := jsonrpc.ParseFolded(r.out.Bytes()); !ok {
		return nil, errTwice
	}
	return r.out.Bytes(), nil
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
func (r *rewriter) value(by voice) error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		r.out.WriteString(v.String())
		if v == '{' {
			err = r.members(by)
		} else {
			err = r.items(by)
		}
	case string:
		err = r.text(r.shown(v, by))
	case nil:
		r.out.WriteString("null")
	default: // a number or a boolean
		fmt.Fprint(&r.out, v)
	}
	return err
}

// shown returns a text that a terminal and a reader can be shown.
func (r *rewriter) shown(text string, by voice) string {
	text = sanitize.Text(text, maxText)
	if by != quotedOf {
		return text
	}
	if call, ok := ops.CallOnHost(text, r.host); ok {
		return call
	}
	if _, tool := ops.ByName(text); !tool && isWord.Get().MatchString(text) {
		return text
	}
	return says(r.host, text, maxText)
}

// members rewrites an object to its end. Advice has no member that names a host.
func (r *rewriter) members(by voice) error {
	for n := 0; r.in.More(); {
		token, err := r.in.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if by == quotedOf && strings.EqualFold(name, "host") {
			if err := r.in.Decode(new(json.RawMessage)); err != nil {
				return err
			}
			continue
		}
		r.separate(n)
		n++
		name = r.shown(name, by)
		if err := r.text(name); err != nil {
			return err
		}
		r.out.WriteByte(':')
		if err := r.value(by.below(name)); err != nil {
			return err
		}
	}
	return r.end()
}

// items rewrites an array to its end.
func (r *rewriter) items(by voice) error {
	for n := 0; r.in.More(); n++ {
		r.separate(n)
		if err := r.value(by); err != nil {
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
