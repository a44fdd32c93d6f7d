// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/ops"
)

// From a word there is nothing left once the command line is read: what goes through sudo, into the
// journal or into a fix has the flag.
func TestAWordIsReadAsItsFlag(t *testing.T) {
	values := map[string]string{"IP": "203.0.113.7", "PID": "42"}
	for _, o := range ops.Actions() {
		value := "name"
		if f := o.Object(); f != nil && values[f.ValueName()] != "" {
			value = values[f.ValueName()]
		}
		var word, flag []string
		switch {
		case o.Flag == "":
			word = []string{o.Word()}
		case o.Object() == nil:
			word, flag = []string{o.Word()}, []string{"--" + o.Flag}
		default:
			word, flag = []string{o.Word(), value}, []string{"--" + o.Flag, value}
		}
		byWord, err := parse(word)
		if err != nil {
			t.Errorf("%v: %v", word, err)
		}
		byFlag, err := parse(flag)
		if err != nil {
			t.Errorf("%v: %v", flag, err)
		}
		if byWord.op.Name != o.Name || byWord.typed() != byFlag.typed() || byWord.typed() != strings.Join(flag, " ") {
			t.Errorf("%v is read as %s %q, %v as %q", word, byWord.op.Name, byWord.typed(), flag, byFlag.typed())
		}
		if diff := cmp.Diff([]any{byFlag.args, byFlag.given}, []any{byWord.args, byWord.given}); diff != "" {
			t.Errorf("%v (-flag +word):\n%s", word, diff)
		}
	}
}

// The flag of an action whose value may be left out stands alone, or has it in any of the usual forms.
func TestAValueThatMayBeLeftOut(t *testing.T) {
	for line, want := range map[string]string{
		"--service": "", "service": "", "--service nginx": "nginx", "--service=nginx": "nginx", "service nginx": "nginx", "--json --service nginx": "nginx",
		"--service --json": "", "--service nginx --json": "nginx", "service nginx --limit all": "nginx", "--service --limit 3": "",
	} {
		call, err := parse(strings.Fields(line))
		if err != nil || call.op.Name != "get_service_status" || call.args.Text("service") != want {
			t.Errorf("%s: %s %q, %v", line, call.op.Name, call.args.Text("service"), err)
		}
	}
	for _, line := range []string{"--service a b", "service a b", "--service --service", "--service=a b", "--service= ", "--top nginx", "nginx --service", "--service --dry-run"} {
		if call, err := parse(strings.Split(line, " ")); err == nil {
			t.Errorf("%s: %s %q", line, call.op.Name, call.args.Text("service"))
		}
	}
}
