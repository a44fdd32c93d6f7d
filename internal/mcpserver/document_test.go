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
		raw, err := json.Marshal(failed(op, fault.New(fault.Timeout, "x")).StructuredContent)
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
