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
	"sentinel/internal/version"
)

// contextKey is the member of an answer that says which host was asked. Only this side fills it.
const contextKey = "_context"

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
// side fills. It means the same to readers that fold case, as those of this side do.
func parseLine(line []byte) (parsed, bool) {
	members, ok := jsonrpc.ParseFolded(line)
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

// answer checks that a document is that of op, and names the host in it. What is to be done about a failure is
// said for a reader with tools.
func (d parsed) answer(host string, op ops.Operation, tools []string, exit int) (Answer, error) {
	code, there := fault.Code(d.text("error_code")), d.text("version")
	other := there != version.Number
	switch {
	case !d.success && (code == fault.Usage || code == fault.InvalidArgument && other):
		// The arguments were checked here, by the table of this version.
		return Answer{}, fault.New(fault.Unsupported, fmt.Sprintf("sentinel %s on %s does not take this call of %s, which %s here does: %s", formed(there, isVersion), host, op.Name, version.Number, quoted(d.text("error"), host))).
			WithFix("Install the same version of sentinel on " + host + ".")
	case d.text("action") != op.Action:
		return Answer{}, odd(host, fmt.Sprintf("%s answered with a document of the action %s, not %s.", host, formed(d.text("action"), isAction), op.Action))
	case d.ofTheWay(op) != "":
		return Answer{}, odd(host, host+" answered with "+string(d.ofTheWay(op))+", which only this side can say of a host.")
	case d.success && exit != 0:
		return Answer{}, odd(host, fmt.Sprintf("%s reported a success, and then failed with status %d.", host, exit))
	case !d.success && (!code.Formed() || d.text("error") == ""):
		return Answer{}, odd(host, host+" reported a failure, and not which.")
	case d.success && d.failed():
		return Answer{}, odd(host, host+" reported a success and a failure at once.")
	case !d.success && exit == 0:
		exit = code.Exit()
	}
	raw, err := d.shown(host, op, tools)
	if err != nil {
		return Answer{}, odd(host, "What came from "+host+" cannot be read: "+quoted(err.Error(), host)+".")
	}
	return Answer{Document: named(raw, host), Success: d.success, Exit: exit}, nil
}

// failed reports whether a document has what only those of failures have: its fix would be shown as this side's.
// Readers in Go match names by folded case.
func (d parsed) failed() bool {
	return slices.ContainsFunc(d.members, func(m jsonrpc.Member) bool {
		return strings.EqualFold(m.Name, "error") || strings.EqualFold(m.Name, "error_code") || strings.EqualFold(m.Name, "fix")
	})
}

// theWay are the codes of this side for a host that it does not reach, or that has not proved who it is.
var theWay = []fault.Code{fault.HostNotFound, fault.HostUnreachable, fault.HostRefused, fault.HostUnverified}

// ofTheWay returns the code by which a machine speaks of the way to one, but of what op was to look up there;
// "" for none. Readers in Go match names by folded case.
func (d parsed) ofTheWay(op ops.Operation) fault.Code {
	for _, m := range d.members {
		text, _ := jsonrpc.Text(m.Value)
		code := fault.Code(text)
		if strings.EqualFold(m.Name, "error_code") && slices.Contains(theWay, code) && !slices.Contains(op.Codes, text) {
			return code
		}
	}
	return ""
}

// shown returns the document such that it can be shown, a failure with what is to be done about it.
func (d parsed) shown(host string, op ops.Operation, tools []string) (json.RawMessage, error) {
	if d.success {
		return rewritten(d.raw, host)
	}
	raw, err := rewritten(d.withoutFix(), host)
	if err != nil {
		return nil, err
	}
	return withFix(raw, d.fix(host, op, tools)), nil
}

// odd is the error for a document that sentinel does not print.
func odd(host, message string) error {
	return fault.New(fault.BadOutput, message).WithFix("Install the same version of sentinel on " + host + ".")
}

// What is repeated of a document in a sentence of this side is of these forms.
var (
	isVersion = lazyregexp.New(`^[0-9A-Za-z.+-]{1,40}$`)
	isAction  = lazyregexp.New(`^[a-z_]{1,40}$`)
)

// formed returns a word that has its form, and none that another machine made up.
func formed(word string, form *lazyregexp.Regexp) string {
	if !form.Get().MatchString(word) {
		return "(in an odd form)"
	}
	return word
}

// named puts the host in front of the other members.
func named(object json.RawMessage, host string) json.RawMessage {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{%q:{%q:%q},", contextKey, "host", host) // names hold nothing that JSON escapes
	b.Write(object[1:])
	return b.Bytes()
}
