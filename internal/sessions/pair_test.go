// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// behind adds a proxy (PID 30) that talks with three hosts and passes on one of them, as the session
// of bob at pts/3.
func behind() *machine {
	m := sshd()
	m.tcp(30, "0.0.0.0:443", "")
	m.tcp(31, "192.0.2.1:443", "203.0.113.9:4000")
	m.tcp(32, "192.0.2.1:443", "203.0.113.66:4000")
	m.tcp(33, "192.0.2.1:443", "203.0.113.67:4000")
	m.tcp(34, "127.0.0.1:40000", "127.0.0.1:22")
	m.tcp(35, "127.0.0.1:40001", "127.0.0.1:22")
	m.process(30, 1, "haproxy", "_proxy", "", 30, 31, 32, 33, 34, 35)
	m.login(41, "bob", "pts/3", 44, "127.0.0.1:22", "127.0.0.1:40000")
	m.login(51, "eve", "pts/4", 45, "127.0.0.1:22", "127.0.0.1:40001")
	m.process(60, 43, "sentinel", "root", "pts/3")
	m.Self = 60
	return m
}

// mirrors are connections of that proxy, and those at its other side which they go on from.
func mirrors() map[SocketID]Traffic {
	return map[SocketID]Traffic{
		31: {Sent: 9000, Received: 4000}, 34: {Sent: 4000, Received: 9000},
		33: {Sent: 9001, Received: 4000}, 35: {Sent: 4000, Received: 9001},
		32: {Sent: 1100, Received: 1200},
	}
}

// Who is behind the caller's own proxy is told from the caller where the proxy passes bytes on as they
// are, and may be blocked then.
func TestAStrangerBehindTheCallersProxyIsToldApart(t *testing.T) {
	const one, all = "203.0.113.67 others', 203.0.113.7 others', 203.0.113.9 own", "203.0.113.66 own, 203.0.113.67 own, 203.0.113.7 others', 203.0.113.9 own"
	for name, c := range map[string]struct {
		traffic []map[SocketID]Traffic
		want    string
	}{
		"bytes as they are":                {[]map[SocketID]Traffic{mirrors()}, one},
		"some on their way":                {[]map[SocketID]Traffic{changed(31, Traffic{9000, 4040}), mirrors()}, one},
		"always some on their way":         {[]map[SocketID]Traffic{changed(31, Traffic{9000, 4040}), changed(31, Traffic{9000, 4041}), changed(31, Traffic{9000, 4042}), mirrors()}, all},
		"a stranger with the same numbers": {[]map[SocketID]Traffic{changed(32, mirrors()[31])}, all},
		// The caller's bytes are on their way, and somebody who has done the same seems to be the caller.
		"the stranger's numbers for the caller's": {[]map[SocketID]Traffic{
			{31: {9000, 4040}, 34: {4000, 9000}, 33: {9000, 4000}, 35: {4000, 9000}},
			{31: {9000, 4040}, 34: {4000, 9000}, 33: {9000, 4000}, 35: {4000, 9000}},
			{31: {9000, 4040}, 34: {4000, 9000}, 33: {9000, 4000}, 35: {4000, 9000}},
		}, all},
		"a header of the proxy": {[]map[SocketID]Traffic{changed(34, Traffic{4036, 9000})}, all},
		"next to nothing":       {[]map[SocketID]Traffic{{31: {800, 900}, 34: {900, 800}, 33: {9001, 4000}, 35: {4000, 9001}}}, all},
		"not known":             {nil, all},
	} {
		m := behind()
		m.traffic = c.traffic
		model, got := summary(t, m)
		if got != c.want || len(model.Hidden()) > 0 {
			t.Errorf("%s: %s, want %s; hidden %v", name, got, c.want, model.Hidden())
		}
		if proxy := model.Processes[30]; proxy.Whose() != Own {
			t.Errorf("%s: the proxy carries %v", name, proxy)
		}
	}
}

// A stranger opens as many connections to the proxy as they like, and does something with each.
func TestManyConnectionsOfAStrangerDoNotMakeThemTheCaller(t *testing.T) {
	testenv.HangGuard(t)
	m := behind()
	counts, proxy := mirrors(), m.files[30]
	for n := range 20_000 {
		id := SocketID(1000 + n)
		m.tcp(int(id), "192.0.2.1:443", fmt.Sprintf("203.0.113.66:%d", 10_000+n))
		proxy.Sockets = append(proxy.Sockets, id)
		counts[id] = Traffic{Sent: 2000, Received: 2000 + uint64(n)}
	}
	m.files[30], m.traffic = proxy, []map[SocketID]Traffic{counts}
	if _, got := summary(t, m); got != "203.0.113.67 others', 203.0.113.7 others', 203.0.113.9 own" {
		t.Error(got)
	}
}

func changed(id SocketID, to Traffic) map[SocketID]Traffic {
	all := mirrors()
	all[id] = to
	return all
}

// Where it is not told apart, nothing is said as if it were.
func TestWhoIsBehindAProxyIsSaidToBeUnknown(t *testing.T) {
	model, _ := summary(t, behind())
	for a, c := range model.Addresses {
		doubtful := "one of those connected through \"haproxy\" (PID 30), and the sockets of this machine do not tell which of them is the other end of this call's own session of bob from one of 3 hosts at pts/3"
		if got := c.AsPeer(); a.String() == "203.0.113.7" != strings.HasPrefix(got, "the other end of the session of ann") || a.String() != "203.0.113.7" && !strings.HasPrefix(got, doubtful) {
			t.Errorf("%s is %s", a, got)
		}
	}
	known := behind()
	known.traffic = []map[SocketID]Traffic{mirrors()}
	model, _ = summary(t, known)
	for _, s := range model.Sessions {
		if s.Among != 0 || len(s.From) != 1 {
			t.Errorf("%+v", s)
		}
	}
	if i := slices.IndexFunc(model.Sessions, func(s *Session) bool { return s.User == "bob" }); i < 0 || model.Sessions[i].String() != "this call's own session of bob from 203.0.113.9 at pts/3" {
		t.Errorf("%d of %v", i, model.Sessions)
	}
}
