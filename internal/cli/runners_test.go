// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/ops"
)

func TestEveryOperationHasCodeAndEveryCodeAnOperation(t *testing.T) {
	code := runners()
	for _, op := range ops.All() {
		if code[op.Name] == nil {
			t.Errorf("%s is in the table and has no code", op.Name)
		}
		if results()[op.Name] == nil {
			t.Errorf("%s has no result type in this package's tests", op.Name)
		}
		delete(code, op.Name)
	}
	for name := range code {
		t.Errorf("%s has code and is not in the table", name)
	}
}
