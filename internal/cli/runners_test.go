// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/ops"
)

func TestEveryOperationHasCodeAndEveryCodeAnOperation(t *testing.T) {
	code := map[string]bool{}
	for name := range runners() {
		code[name] = false
	}
	for name := range planners() {
		code[name] = true
	}
	for _, op := range ops.Actions() {
		if changes, there := code[op.Name]; !there || changes != writes(op) {
			t.Errorf("%s is in the table, and among the code that changes something: %v (there at all: %v)", op.Name, changes, there)
		}
		if op.Toolset != "" && results()[op.Name] == nil {
			t.Errorf("%s has no result type in this package's tests", op.Name)
		}
		delete(code, op.Name)
	}
	for name := range code {
		t.Errorf("%s has code and is not in the table", name)
	}
}
