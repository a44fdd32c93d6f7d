// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsAreSplitOutsideOfQuotes(t *testing.T) {
	k := Key{Options: `Command="/bin/x \"a b\", c",no-pty,from="10.0.0.0/8,192.0.2.1",,x=,environment="TOKEN=hunter2",principals="a, restrict"`}
	command, options := k.Command()
	if diff := cmp.Diff([]string{"command", "no-pty", "from=10.0.0.0/8,192.0.2.1", "x", "environment", `principals="a, restrict"`}, options); diff != "" || command != `/bin/x "a b", c` {
		t.Errorf("%q %s", command, diff)
	}
	if command, options := (Key{}).Command(); command != "" || options != nil {
		t.Errorf("%q, %v", command, options)
	}
}

func FuzzOptions(f *testing.F) {
	f.Add(`command="a\",b",x,from="y"`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range splitOptions(text) {
			if o.name == "" || strings.Contains(o.name, "=") || len(o.name)+len(o.value) > 4*len(text) { // a letter may be longer in lower case
				t.Errorf("%+v", o)
			}
		}
	})
}
