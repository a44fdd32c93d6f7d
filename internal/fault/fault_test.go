// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"errors"
	"strings"
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

func TestDocumentHasWhatTheSentenceNamesAsData(t *testing.T) {
	err := New(ProtectedAddress, "203.0.113.7 carries a session.").Protecting(&Protected{Sessions: []Session{}, Total: 1}).WithObject(struct {
		IP string `json:"ip"`
	}{"203.0.113.7"})
	raw, failed := json.Marshal(NewDocument("block_ip", err))
	if failed != nil || !strings.Contains(string(raw), `"protects":{"sessions":[],"sessions_total":1},"ip":"203.0.113.7"}`) {
		t.Errorf("%s, %v", raw, failed)
	}
}

func TestTheFormOfACode(t *testing.T) {
	for _, info := range All() {
		if !info.Code.Formed() {
			t.Errorf("%s is none", info.Code)
		}
	}
	for code, want := range map[Code]bool{"A_LATER_ONE": true, Code(strings.Repeat("A", 40)): true, "": false, "A B": false, "Timeout": false, "TIMEOUT\n": false, Code(strings.Repeat("A", 41)): false} {
		if code.Formed() != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
}
