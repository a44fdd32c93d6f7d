// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"net/netip"
	"testing"
)

// A rule may have a program see another host than its packets come from, and a block drops those.
func TestTheAddressOnTheWireIsClaimedToo(t *testing.T) {
	for name, c := range map[string]struct {
		wire, want string
		err        error
	}{
		"none":              {want: "203.0.113.7 own"},
		"another":           {wire: "198.51.100.7", want: "198.51.100.7 own, 203.0.113.7 own"},
		"in another form":   {wire: "::ffff:198.51.100.7", want: "198.51.100.7 own, 203.0.113.7 own"},
		"of this machine":   {wire: "192.0.2.1", want: "203.0.113.7 own"},
		"not to be known":   {err: errors.New("no answer"), want: "203.0.113.7 own"},
		"a part of several": {wire: "198.51.100.7", err: errors.New("no answer"), want: "198.51.100.7 own, 203.0.113.7 own"},
	} {
		m := sshd()
		m.process(50, 13, "sentinel", "root", "pts/0")
		m.Self = 50
		if m.wireErr = c.err; c.wire != "" {
			m.wire = map[SocketID]netip.Addr{2: netip.MustParseAddr(c.wire), 99: netip.MustParseAddr("198.51.100.99")}
		}
		model, got := summary(t, m)
		if hidden := len(model.Hidden()) > 0; got != c.want || hidden != (c.err != nil) {
			t.Errorf("%s: %s, want %s; %v", name, got, c.want, model.Hidden())
		}
	}
}
