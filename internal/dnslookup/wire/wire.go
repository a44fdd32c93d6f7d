// SPDX-License-Identifier: Apache-2.0

// Package wire exchanges messages with name servers in the wire format of RFC 1035:
// over UDP first, over TCP when the answer does not fit. A message without the ID
// and the question of the request is not an answer.
package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"sentinel/internal/dnslookup"
)

// udpSize is the largest answer over UDP, in bytes, that passes every network
// without being fragmented (DNS Flag Day 2020).
const udpSize = 1232

// afterMismatch is how long to wait for the real answer after something else came
// from the server's address. It may have been forged, but a server that sends
// nonsense must not use up the time of the next one.
const afterMismatch = 300 * time.Millisecond

// Errors of a server that sends something other than the answer.
var (
	ErrNotDNS        = errors.New("answered with something that is not DNS")
	ErrOtherQuestion = errors.New("answered another question")
)

// A Client asks name servers.
type Client struct{}

var _ dnslookup.Exchanger = Client{}

// Exchange implements [dnslookup.Exchanger]. The question asks for recursion, and
// with the AD bit for whether the signatures were checked (RFC 6840 section 5.7). Servers that
// do not understand EDNS are asked again without it.
func (c Client) Exchange(ctx context.Context, server netip.AddrPort, q dnslookup.Question) (dnslookup.Reply, error) {
	kind, ok := dns.StringToType[q.Type]
	if !ok {
		return dnslookup.Reply{}, fmt.Errorf("there is no type %s", q.Type)
	}
	ask := new(dns.Msg).SetQuestion(dns.Fqdn(q.Name), kind)
	ask.AuthenticatedData = true
	got, tcp, err := exchange(ctx, server, ask.SetEdns0(udpSize, false))
	if err == nil && (got.Rcode == dns.RcodeFormatError || got.Rcode == dns.RcodeNotImplemented || got.Rcode == dns.RcodeBadVers) {
		ask.Extra = nil
		ask.Id = dns.Id()
		got, tcp, err = exchange(ctx, server, ask)
	}
	if err != nil {
		return dnslookup.Reply{}, err
	}
	return reply(got, tcp), nil
}

func exchange(ctx context.Context, server netip.AddrPort, ask *dns.Msg) (got *dns.Msg, tcp bool, err error) {
	got, err = overUDP(ctx, server, ask)
	if err != nil || !got.Truncated {
		return got, false, err
	}
	got, err = overTCP(ctx, server, ask)
	return got, true, err
}

// dial connects. Reads and writes fail once ctx has ended.
func dial(ctx context.Context, network string, server netip.AddrPort) (conn net.Conn, done func(), err error) {
	conn, err = new(net.Dialer).DialContext(ctx, network, server.String())
	if err != nil {
		return nil, nil, shortError(err)
	}
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // what waits fails either way
	return conn, func() {
		stop()
		conn.Close() //nolint:errcheck // nothing is lost with it
	}, nil
}

// send connects and writes the question. Over TCP its length comes first (RFC 1035
// section 4.2.2).
func send(ctx context.Context, network string, server netip.AddrPort, ask *dns.Msg) (net.Conn, func(), error) {
	message, err := ask.Pack()
	if err != nil {
		return nil, nil, fmt.Errorf("write the question: %w", err)
	}
	if network == "tcp" {
		message = append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
	}
	conn, done, err := dial(ctx, network, server)
	if err != nil {
		return nil, nil, err
	}
	if _, err := conn.Write(message); err != nil {
		done()
		return nil, nil, shortError(err)
	}
	return conn, done, nil
}

func overUDP(ctx context.Context, server netip.AddrPort, ask *dns.Msg) (*dns.Msg, error) {
	conn, done, err := send(ctx, "udp", server, ask)
	if err != nil {
		return nil, err
	}
	defer done()
	buffer := make([]byte, dns.MaxMsgSize)
	var mismatched error
	for {
		n, err := conn.Read(buffer)
		if err != nil && mismatched != nil && ctx.Err() == nil {
			return nil, mismatched
		}
		if err != nil {
			return nil, shortError(err)
		}
		got, err := parse(buffer[:n], ask)
		if err == nil {
			return got, nil
		}
		if mismatched == nil {
			mismatched = err
			if err := conn.SetReadDeadline(earlier(ctx, time.Now().Add(afterMismatch))); err != nil {
				return nil, err
			}
		}
	}
}

func earlier(ctx context.Context, at time.Time) time.Time {
	if end, ok := ctx.Deadline(); ok && end.Before(at) {
		return end
	}
	return at
}

// overTCP exchanges one message each way.
func overTCP(ctx context.Context, server netip.AddrPort, ask *dns.Msg) (*dns.Msg, error) {
	conn, done, err := send(ctx, "tcp", server, ask)
	if err != nil {
		return nil, err
	}
	defer done()
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, shortError(err)
	}
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, message); err != nil {
		return nil, shortError(err)
	}
	return parse(message, ask)
}

// parse parses an answer to ask. A server may leave the question out of an error. A
// truncated answer may end anywhere, so nothing but its truncation is used.
func parse(message []byte, ask *dns.Msg) (*dns.Msg, error) {
	got := new(dns.Msg)
	err := got.Unpack(message)
	if got.Id != ask.Id || !got.Response {
		if err != nil {
			return nil, ErrNotDNS
		}
		return nil, ErrOtherQuestion
	}
	if got.Truncated && sameQuestion(got, ask) {
		return got, nil
	}
	if err != nil {
		return nil, ErrNotDNS
	}
	if !sameQuestion(got, ask) && (got.Rcode == dns.RcodeSuccess || len(got.Question) > 0) {
		return nil, ErrOtherQuestion
	}
	if !isWhole(message, got) {
		return nil, ErrNotDNS
	}
	return got, nil
}

// isWhole reports whether a message has as many records as its header announces (RFC 1035 section 4.1.1): one that ends
// behind a record can be read, too.
func isWhole(message []byte, got *dns.Msg) bool {
	for i, section := range [][]dns.RR{got.Answer, got.Ns, got.Extra} {
		if int(binary.BigEndian.Uint16(message[6+2*i:])) != len(section) {
			return false
		}
	}
	return true
}

func sameQuestion(got, ask *dns.Msg) bool {
	return len(got.Question) == 1 && got.Question[0].Qtype == ask.Question[0].Qtype && got.Question[0].Qclass == ask.Question[0].Qclass &&
		strings.EqualFold(got.Question[0].Name, ask.Question[0].Name)
}

// shortError reduces the errors of the net package, which name both ends of a
// connection, to what went wrong. Every timeout is that of the context.
func shortError(err error) error {
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return context.DeadlineExceeded
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	return err
}
