// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"testing"
)

func TestCausesThatWereJoinedStayApartInTheSentence(t *testing.T) {
	cause := errors.Join(errors.New("not every process can be looked at"), errors.New("sshd -T ended with status 255"))
	d := NewDocument("enable_firewall", Wrap(Unavailable, "The port cannot be found out", cause))
	want := "The port cannot be found out: not every process can be looked at; sshd -T ended with status 255"
	if d.Error != want {
		t.Errorf("%q, want %q", d.Error, want)
	}
}
