// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// TestFailedDocumentFitsEveryOutputSchema matters because the TypeScript
// client checks structured content of failures too, and throws.
func TestFailedDocumentFitsEveryOutputSchema(t *testing.T) {
	for _, op := range ops.All() {
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(op.OutputSchema()))
		if err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("schema.json", schema); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		compiled, err := c.Compile("schema.json")
		if err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		raw, err := json.Marshal((&handler{}).failed(op, fault.New(fault.Timeout, "x")).StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(document); err != nil {
			t.Errorf("%s: %v", op.Name, err)
		}
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, seed := range []string{printed, `{"success":false}`, "[]", `{"success":true}x`, `{"success":true,"success":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		d, ok := parseDocument(stdout)
		if !ok {
			return
		}
		var members map[string]any
		if err := json.Unmarshal(d.raw, &members); err != nil || members["success"] != d.success {
			t.Errorf("%q: success %v, %v", stdout, d.success, err)
		}
	})
}
