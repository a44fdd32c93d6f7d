// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"sentinel/internal/ops"
)

// A schemaNode is what is looked at of a JSON Schema.
type schemaNode struct {
	Properties map[string]schemaNode
	Items      *schemaNode
}

// lacks returns the members of a value that its schema does not have.
func (s schemaNode) lacks(at string, v any) (unknown []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			sub, known := s.Properties[name]
			if !known {
				unknown = append(unknown, at+"."+name)
			}
			unknown = append(unknown, sub.lacks(at+"."+name, member)...)
		}
	case []any:
		for _, one := range v {
			if s.Items != nil {
				unknown = append(unknown, s.Items.lacks(at+"[]", one)...)
			}
		}
	}
	return unknown
}

// The calls of the conversation are ones that the tools take, and the answers have no
// member that theirs have not.
func TestTheConversationIsOneThatCanBeHad(t *testing.T) {
	page := read(t, filepath.Join(root, "docs/conversation.md"))
	call := regexp.MustCompile("(?s)\\*calls\\* `(\\w+)` with `(\\{[^`]*\\})`\n\n```json\n(.*?)```")
	calls := call.FindAllStringSubmatch(page, -1)
	if len(calls) < 4 {
		t.Fatalf("%d calls were found", len(calls))
	}
	for _, c := range calls {
		tool, arguments, answer := c[1], c[2], c[3]
		op, known := ops.ByName(tool)
		if _, err := op.ParseRequest([]byte(arguments)); !known || err != nil {
			t.Errorf("%s does not take %s: %v", tool, arguments, err)
			continue
		}
		var schema schemaNode
		var value any
		if err := json.Unmarshal([]byte(read(t, filepath.Join(root, "docs/schemas", tool+".json"))), &schema); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(answer), &value); err != nil {
			t.Errorf("%s: %v in %s", tool, err, answer)
		}
		if unknown := schema.lacks(tool, value); len(unknown) > 0 {
			t.Errorf("the answers of %s have no %v", tool, unknown)
		}
	}
}
