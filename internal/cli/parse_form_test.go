// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
)

func TestACommandLineThatIsNotUnderstoodKeepsItsForm(t *testing.T) {
	for line, want := range map[string]form{
		"--tpo": usualForm, "--tpo --json": jsonForm, "--json --tpo": jsonForm, "--tpo --output text": textForm, "--tpo --output=text": textForm,
		"--tpo --output": usualForm, "--tpo --output xml": usualForm, "-x --output json": jsonForm, "--tpo -- --json": usualForm, "help nope --output text": textForm,
		"blok 1 --json": jsonForm,
	} {
		if call, err := parse(strings.Fields(line)); err == nil || call.form != want {
			t.Errorf("%q: %q, want %q (%v)", line, call.form, want, err)
		}
	}
}
