// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/jsonrpc"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
	"sentinel/internal/version"
)

// contextKey is the member of an answer that says which host was asked. Only this side fills it.
const contextKey = "_context"

// maxText is the longest text of an answer, in runes.
const maxText = 16 << 10

// A parsed document is what sentinel on another machine printed.
type parsed struct {
	raw     json.RawMessage
	members jsonrpc.Object
	success bool
}

// parse reads an output. Start files of shells may print before a command runs, so it is the last
// line that counts; of two documents nobody could tell which is the answer.
func parse(stdout []byte) (parsed, bool) {
	before, last := cutLast(bytes.TrimSpace(stdout))
	d, ok := parseLine(last)
	if !ok {
		return parsed{}, false
	}
	for line := range bytes.Lines(before) {
		if _, two := parseLine(bytes.TrimSpace(line)); two {
			return parsed{}, false
		}
	}
	return d, true
}

// cutLast splits off the last line.
func cutLast(output []byte) (before, last []byte) {
	at := bytes.LastIndexByte(output, '\n')
	return output[:at+1], output[at+1:]
}

// parseLine reads a document: one object with a boolean "success", and without a member that this
// side fills.
func parseLine(line []byte) (parsed, bool) {
	members, ok := jsonrpc.ParseObject(line)
	success := string(members.Get("success"))
	ours := func(m jsonrpc.Member) bool { return strings.EqualFold(m.Name, contextKey) } // as readers in Go match names
	if !ok || success != "true" && success != "false" || slices.ContainsFunc(members, ours) {
		return parsed{}, false
	}
	return parsed{line, members, success == "true"}, true
}

func (d parsed) text(member string) string {
	text, _ := jsonrpc.Text(d.members.Get(member))
	return text
}

// answer checks that a document is that of op, and names the host in it.
func (d parsed) answer(host string, op ops.Operation, exit int) (Answer, error) {
	code, there := fault.Code(d.text("error_code")), d.text("version")
	other := there != version.Number
	switch {
	case !d.success && (code == fault.Usage || code == fault.InvalidArgument && other):
		// The arguments were checked here, by the table of this version.
		return Answer{}, fault.New(fault.Unsupported, fmt.Sprintf("sentinel %s on %s does not take this call of %s, which %s here does: %s", clean(there), host, op.Name, version.Number, clean(d.text("error")))).
			WithFix("Install the same version of sentinel on " + host + ".")
	case d.text("action") != op.Action:
		return Answer{}, odd(host, fmt.Sprintf("%s answered with a document of the action %q, not %q.", host, clean(d.text("action")), op.Action))
	case d.success && exit != 0:
		return Answer{}, odd(host, fmt.Sprintf("%s reported a success, and then failed with status %d.", host, exit))
	case !d.success && (!isCode(code) || d.text("error") == ""):
		return Answer{}, odd(host, host+" reported a failure, and not which.")
	case !d.success && exit == 0:
		exit = code.Exit()
	}
	raw, err := safe(d.raw)
	if err != nil {
		return Answer{}, fault.Wrap(fault.BadOutput, "What came from "+host+" cannot be read", err)
	}
	return Answer{Document: named(onHost(raw, host), host), Success: d.success, Exit: exit}, nil
}

// advice are the members that name the next call.
var advice = lazyregexp.New(`"(?:next|fix)":("(?:[^"\\]|\\.)*")`)

// onHost names the host in the calls that a document says come next. All quotes within texts are escaped, so
// that nothing in a text looks like a member.
func onHost(raw json.RawMessage, host string) json.RawMessage {
	var b bytes.Buffer
	end := 0
	for _, at := range advice.Get().FindAllSubmatchIndex(raw, -1) {
		var text string
		if json.Unmarshal(raw[at[2]:at[3]], &text) != nil {
			continue
		}
		said := ops.OnHost(text, host)
		if said == text {
			continue
		}
		quoted, err := json.Marshal(said)
		if err != nil {
			continue // texts always encode
		}
		b.Write(raw[end:at[2]])
		b.Write(quoted)
		end = at[3]
	}
	b.Write(raw[end:])
	return b.Bytes()
}

// odd is the error for a document that sentinel does not print.
func odd(host, message string) error {
	return fault.New(fault.BadOutput, message).WithFix("Install the same version of sentinel on " + host + ".")
}

// maxCode bounds a code, in bytes.
const maxCode = 40

// isCode reports whether a text has the form of a code. A newer version may have codes that are not known
// here.
func isCode(code fault.Code) bool {
	return code != "" && len(code) <= maxCode && strings.Trim(string(code), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// named puts the host in front of the other members.
func named(object json.RawMessage, host string) json.RawMessage {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{%q:{%q:%q},", contextKey, "host", host) // names hold nothing that JSON escapes
	b.Write(object[1:])
	return b.Bytes()
}

// safe returns a document whose texts a terminal and a reader can be shown, unchanged where they are
// so already.
func safe(raw json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	cleaned, changed := cleanTree(tree)
	if !changed {
		return raw, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(cleaned)
	return bytes.TrimSpace(b.Bytes()), err
}

// cleanTree returns a value of JSON with clean texts, and whether one was not.
func cleanTree(value any) (cleaned any, changed bool) {
	switch v := value.(type) {
	case string:
		text := sanitize.Text(v, maxText)
		return text, text != v
	case []any:
		for i := range v {
			var one bool
			v[i], one = cleanTree(v[i])
			changed = changed || one
		}
		return v, changed
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			clean, one := cleanTree(member)
			key := sanitize.Text(name, maxText)
			object[key] = clean
			changed = changed || one || key != name
		}
		return object, changed
	default:
		return value, false
	}
}
