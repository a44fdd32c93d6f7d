// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/ops"
)

func TestEveryOperationHasCodeAndEveryCodeAnOperation(t *testing.T) {
	table := operations()
	for _, op := range ops.Actions() {
		code := table[op.Name]
		if (code.plan != nil) != op.Writes() || (code.run != nil) == op.Writes() {
			t.Errorf("%s changes something: %v; it is planned: %v, run: %v", op.Name, op.Writes(), code.plan != nil, code.run != nil)
		}
		delete(table, op.Name)
	}
	for name := range table {
		t.Errorf("%s has code and is not in the table of ops", name)
	}
}
