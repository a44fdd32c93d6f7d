// SPDX-License-Identifier: Apache-2.0

package inet

import (
	"testing"

	"sentinel/internal/network"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		host, port string
		v6         bool
		want       string
	}{
		{"*", "7000", false, "0.0.0.0:7000"}, {"*", "7000", true, "[::]:7000"}, {"*", "*", false, "0.0.0.0:0"},
		{"192.0.2.7", "443", false, "192.0.2.7:443"}, {"192.0.2.7", "443", true, "192.0.2.7:443"},
		{"[2001:db8::7]", "22", true, "[2001:db8::7]:22"}, {"::1", "22", true, "[::1]:22"},
		{"::ffff:192.0.2.7", "22", true, "192.0.2.7:22"},
		{"fe80:4::1", "22", true, "[fe80::1]:22"}, {"fe80::1%lo0", "22", true, "[fe80::1%lo0]:22"}, {"ff02:4::fb", "5353", true, "[ff02::fb]:5353"},
	} {
		if got, ok := Address(c.host, c.port, c.v6); !ok || got.String() != c.want {
			t.Errorf("%s %s is %v, %v; want %s", c.host, c.port, got, ok, c.want)
		}
	}
	for _, c := range [][2]string{{"", "1"}, {"192.0.2.7", ""}, {"192.0.2.7", "65536"}, {"localhost", "1"}, {"192.0.2.7", "-1"}, {"192.0.2.7", "ssh"}} {
		if got, ok := Address(c[0], c[1], false); ok {
			t.Errorf("%q is %v", c, got)
		}
	}
}

func TestState(t *testing.T) {
	if s, ok := State("SYN_RCVD"); s != network.SynReceived || !ok {
		t.Errorf("%v %v", s, ok)
	}
	if s, ok := State("established"); ok {
		t.Errorf("%v", s)
	}
}
