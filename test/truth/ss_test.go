// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A row is a socket as both programs describe it.
type row struct {
	Protocol string
	State    string // sentinel's name
	Local    string
	Peer     string // "" for a socket that listens
}

// stateNames maps the names of ss to those of sentinel, which are those of
// RFC 9293 as netstat writes them. UNCONN is a UDP socket that takes packets from anyone; sentinel
// lists it with those that listen.
var stateNames = map[string]string{
	"ESTAB": "ESTABLISHED", "SYN-SENT": "SYN_SENT", "SYN-RECV": "SYN_RECEIVED", "FIN-WAIT-1": "FIN_WAIT_1",
	"FIN-WAIT-2": "FIN_WAIT_2", "TIME-WAIT": "TIME_WAIT", "CLOSE-WAIT": "CLOSE_WAIT", "LAST-ACK": "LAST_ACK",
	"CLOSING": "CLOSING", "LISTEN": "LISTEN", "UNCONN": "LISTEN",
}

// askSS runs ss -tunap and returns the processes of each socket. Rows that look
// the same, as sockets of one port shared by several processes do, add up.
func askSS(t *testing.T) map[row][]int {
	t.Helper()
	rows := map[row][]int{}
	for line := range strings.Lines(string(output(t, "ss", "-H", "-tunap"))) {
		r, pids, err := parseSS(line)
		if err != nil {
			t.Fatalf("ss: %v in %q", err, line)
		}
		rows[r] = append(rows[r], pids...)
	}
	return rows
}

var pidPattern = regexp.MustCompile(`pid=(\d+)`)

// parseSS parses "Netid State Recv-Q Send-Q Local:Port Peer:Port Process".
func parseSS(line string) (row, []int, error) {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return row{}, nil, fmt.Errorf("%d fields", len(fields))
	}
	state, ok := stateNames[fields[1]]
	if !ok {
		return row{}, nil, fmt.Errorf("unknown state %q", fields[1])
	}
	local, err := plainAddress(fields[4])
	if err != nil {
		return row{}, nil, err
	}
	r := row{Protocol: fields[0], State: state, Local: local.String()}
	if state != "LISTEN" {
		peer, err := plainAddress(fields[5])
		if err != nil {
			return row{}, nil, err
		}
		r.Peer = inZone(peer, local.Addr().Zone()).String()
	}
	var pids []int
	for _, m := range pidPattern.FindAllStringSubmatch(line, -1) {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			return row{}, nil, err
		}
		pids = append(pids, pid)
	}
	return r, pids, nil
}

// plainAddress turns an address of ss into sentinel's form. ss writes "*" for a
// socket of both families and the IPv4 addresses of IPv6 sockets as they are mapped.
func plainAddress(text string) (netip.AddrPort, error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return netip.AddrPort{}, fmt.Errorf("no port in %q", text)
	}
	host := strings.NewReplacer("[", "", "]", "", "*", "::").Replace(text[:colon])
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number := text[colon+1:]
	if number == "*" { // none, as of a socket that loses its peer while it is listed
		number = "0"
	}
	port, err := strconv.ParseUint(number, 10, 16)
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), err
}

// inZone gives a link-local peer the zone of its socket, where it must be too;
// ss writes it at the local address only.
func inZone(peer netip.AddrPort, zone string) netip.AddrPort {
	if !peer.Addr().IsLinkLocalUnicast() {
		return peer
	}
	return netip.AddrPortFrom(peer.Addr().WithZone(zone), peer.Port())
}
