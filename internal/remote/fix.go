// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
)

const maxFix = 500 // runes of what another machine says is to be done

// fix says what to do about a failure on a host. Who reads it does it, so it is this side's advice for the
// code; what that machine says is to be done is quoted behind it, where it says anything else. tools are those
// that the reader has on offer, who has a shell where there are none.
func (d parsed) fix(host string, op ops.Operation, tools []string) string {
	code := fault.Code(d.text("error_code"))
	own := cmp.Or(code.Fix(), "This version does not know the code; go by the message.")
	if tools != nil {
		own = ops.FixAsCalls(own, func(tool string) bool { return tool != op.Name && slices.Contains(tools, tool) })
	}
	own = ops.OnHost(own, host)
	theirs := sanitize.Text(strings.TrimSpace(d.text("fix")), maxFix)
	fix := "On " + host + ": " + own
	if theirs == "" || ops.OnHost(theirs, host) == own {
		return fix
	}
	return fix + " (" + says(host, theirs, maxFix) + ")"
}

// withoutFix returns a document without what it says is to be done, in whatever letters.
func (d parsed) withoutFix() json.RawMessage {
	var b bytes.Buffer
	for _, m := range d.members {
		if !strings.EqualFold(sanitize.Text(m.Name, maxText), "fix") {
			fmt.Fprintf(&b, ",%s:%s", encoded(m.Name), m.Value)
		}
	}
	return slices.Concat([]byte("{"), b.Bytes()[1:], []byte("}")) // it has a success at least
}

// withFix returns a document with what is to be done at its end.
func withFix(object json.RawMessage, fix string) json.RawMessage {
	return fmt.Appendf(slices.Clone(object[:len(object)-1]), ",\"fix\":%s}", encoded(fix))
}

// encoded is a text as JSON has it.
func encoded(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic("remote: a text cannot be encoded: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}
