// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"sentinel/internal/dnslookup"
	"sentinel/internal/testenv"
)

// ends are a port of loopback that is free for UDP and for TCP.
func ends(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 20 {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stream, err := net.Listen("tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, stream
		}
		packets.Close()
	}
	t.Fatal("no port is free for both")
	return nil, nil
}

// serve runs a real name server on loopback, over UDP and TCP at one port.
func serve(t testing.TB, handle dns.HandlerFunc) netip.AddrPort {
	t.Helper()
	packets, stream := ends(t)
	for _, s := range []*dns.Server{{PacketConn: packets, Handler: handle}, {Listener: stream, Handler: handle}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go s.ActivateAndServe()
		<-started
		t.Cleanup(func() { s.Shutdown() })
	}
	return netip.MustParseAddrPort(packets.LocalAddr().String())
}

// zone answers with the records of a zone file that the question is about.
func zone(t testing.TB, records ...string) dns.HandlerFunc {
	t.Helper()
	var all []dns.RR
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rr)
	}
	return func(w dns.ResponseWriter, ask *dns.Msg) {
		m := new(dns.Msg).SetReply(ask)
		m.AuthenticatedData = ask.AuthenticatedData
		for _, rr := range all {
			if rr.Header().Rrtype == ask.Question[0].Qtype && strings.EqualFold(rr.Header().Name, ask.Question[0].Name) {
				m.Answer = append(m.Answer, rr)
			}
		}
		w.WriteMsg(m)
	}
}

func exchangeWith(t testing.TB, server netip.AddrPort, name, kind string) (dnslookup.Reply, error) {
	t.Helper()
	testenv.HangGuard(t)
	return Client{}.Exchange(t.Context(), server, dnslookup.Question{Name: name, Type: kind})
}

func TestEveryTypeOfRecord(t *testing.T) {
	server := serve(t, zone(t,
		"a.example. 300 IN A 192.0.2.7", "a.example. 60 IN A 192.0.2.8", "a.example. 300 IN AAAA 2001:db8::7", "www.example. 5 IN CNAME a.example.",
		"a.example. 300 IN MX 10 mail.example.", "a.example. 300 IN NS ns.example.", `a.example. 300 IN TXT "v=spf1 " "include:\"x\" \\ \200"`,
		"a.example. 300 IN SOA ns.example. root.example. 1 2 3 4 5", "_sip._tcp.a.example. 300 IN SRV 1 2 5060 sip.example.",
		`a.example. 300 IN CAA 0 issue "ca.example"`, "7.2.0.192.in-addr.arpa. 300 IN PTR a.example.", ". 300 IN NS ns.example.", "a.example. 300 IN MX 0 ."))
	record := func(name, kind, value string) dnslookup.Record {
		return dnslookup.Record{Name: name, Type: kind, TTL: 300, Value: value}
	}
	mx, srv := record("a.example", "MX", "mail.example"), record("_sip._tcp.a.example", "SRV", "sip.example")
	mx.Priority, srv.Priority, srv.Weight, srv.Port = new(10), new(1), new(2), new(5060)
	null := record("a.example", "MX", ".")
	null.Priority = new(0)
	for _, c := range []struct {
		name, kind string
		want       []dnslookup.Record
	}{
		{"a.example", "A", []dnslookup.Record{record("a.example", "A", "192.0.2.7"), {Name: "a.example", Type: "A", TTL: 60, Value: "192.0.2.8"}}},
		{"a.example", "AAAA", []dnslookup.Record{record("a.example", "AAAA", "2001:db8::7")}},
		{"www.example", "CNAME", []dnslookup.Record{{Name: "www.example", Type: "CNAME", TTL: 5, Value: "a.example"}}},
		{"a.example", "MX", []dnslookup.Record{mx, null}},
		{"a.example", "NS", []dnslookup.Record{record("a.example", "NS", "ns.example")}},
		{"a.example", "TXT", []dnslookup.Record{record("a.example", "TXT", `v=spf1 include:"x" \ \200`)}},
		{"a.example", "SOA", []dnslookup.Record{record("a.example", "SOA", "ns.example. root.example. 1 2 3 4 5")}},
		{"_sip._tcp.a.example", "SRV", []dnslookup.Record{srv}},
		{"a.example", "CAA", []dnslookup.Record{record("a.example", "CAA", `0 issue "ca.example"`)}},
		{"7.2.0.192.in-addr.arpa", "PTR", []dnslookup.Record{record("7.2.0.192.in-addr.arpa", "PTR", "a.example")}},
		{"", "NS", []dnslookup.Record{record(".", "NS", "ns.example")}},
		{"none.example", "A", []dnslookup.Record{}},
	} {
		got, err := exchangeWith(t, server, c.name, c.kind)
		if want := (dnslookup.Reply{Code: "NOERROR", Authentic: true, Records: c.want}); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s %s: %v\n%s", c.name, c.kind, err, cmp.Diff(want, got))
		}
	}
}

func TestAnAnswerThatDoesNotFitComesOverTCP(t *testing.T) {
	var records []string
	for i := range 200 {
		records = append(records, "a.example. 300 IN TXT "+strings.Repeat("x", 100)+string(rune('a'+i%26)))
	}
	full := zone(t, records...)
	server := serve(t, func(w dns.ResponseWriter, ask *dns.Msg) {
		if w.RemoteAddr().Network() == "udp" {
			m := new(dns.Msg).SetReply(ask)
			m.Truncated = true
			w.WriteMsg(m)
			return
		}
		full(w, ask)
	})
	if got, err := exchangeWith(t, server, "a.example", "TXT"); err != nil || !got.TCP || len(got.Records) != 200 {
		t.Errorf("tcp %v, %d records, %v", got.TCP, len(got.Records), err)
	}
}

func TestServersWithoutExtensionsAreAskedWithout(t *testing.T) {
	plain := zone(t, "a.example. 300 IN A 192.0.2.7")
	for _, code := range []int{dns.RcodeFormatError, dns.RcodeNotImplemented} {
		server := serve(t, func(w dns.ResponseWriter, ask *dns.Msg) {
			if ask.IsEdns0() == nil {
				plain(w, ask)
				return
			}
			m := new(dns.Msg).SetRcode(ask, code)
			m.Question = nil
			w.WriteMsg(m)
		})
		if got, err := exchangeWith(t, server, "a.example", "A"); err != nil || len(got.Records) != 1 {
			t.Errorf("%d: %+v, %v", code, got, err)
		}
	}
}

func TestCodesAreToldApart(t *testing.T) {
	for code, want := range map[int]string{dns.RcodeNameError: "NXDOMAIN", dns.RcodeServerFailure: "SERVFAIL", dns.RcodeRefused: "REFUSED", 14: "an unknown code"} {
		server := serve(t, func(w dns.ResponseWriter, ask *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(ask, code)) })
		if got, err := exchangeWith(t, server, "a.example", "A"); err != nil || got.Code != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// rude answers every packet with what reply makes of it.
func rude(t *testing.T, reply func(ask *dns.Msg, raw []byte) [][]byte) netip.AddrPort {
	t.Helper()
	conn, stream := ends(t)
	stream.Close()
	return rudeAt(t, conn, reply)
}

func rudeAt(t *testing.T, conn net.PacketConn, reply func(ask *dns.Msg, raw []byte) [][]byte) netip.AddrPort {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			size, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			ask := new(dns.Msg)
			if err := ask.Unpack(b[:size]); err != nil {
				t.Error(err)
			}
			for _, packet := range reply(ask, b[:size]) {
				conn.WriteTo(packet, from)
			}
		}
	}()
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

func pack(t *testing.T, m *dns.Msg) []byte {
	t.Helper()
	raw, err := m.Pack()
	if err != nil {
		t.Error(err)
	}
	return raw
}

func answerTo(t *testing.T, ask *dns.Msg, change func(*dns.Msg)) []byte {
	t.Helper()
	m := new(dns.Msg).SetReply(ask)
	rr, err := dns.NewRR(ask.Question[0].Name + " 5 IN A 192.0.2.66")
	if err != nil {
		t.Error(err)
	}
	m.Answer = []dns.RR{rr}
	change(m)
	return pack(t, m)
}

func TestWhatIsNoAnswerToTheQuestionDoesNotCount(t *testing.T) {
	loop := func(_ *dns.Msg, raw []byte) [][]byte { // a name that points at itself
		b := append([]byte{}, raw[:12]...)
		b[2] |= 0x80
		return [][]byte{append(b, 0xc0, 12, 0, 1, 0, 1)}
	}
	for name, c := range map[string]struct {
		reply func(*dns.Msg, []byte) [][]byte
		want  error
	}{
		"garbage": {func(*dns.Msg, []byte) [][]byte { return [][]byte{[]byte("no DNS at all, however long")} }, ErrNotDNS},
		"empty":   {func(*dns.Msg, []byte) [][]byte { return [][]byte{{}} }, ErrNotDNS},
		"header": {func(_ *dns.Msg, raw []byte) [][]byte {
			return [][]byte{{raw[0], raw[1], 0x81, 0x80, 0, 1, 0, 9, 0, 0, 0, 0}}
		}, ErrOtherQuestion},
		"loop": {loop, ErrNotDNS},
		"cut": {func(ask *dns.Msg, _ []byte) [][]byte {
			b := answerTo(t, ask, func(*dns.Msg) {})
			return [][]byte{b[:len(b)-3]}
		}, ErrNotDNS},
		"fewer records than announced": {func(ask *dns.Msg, _ []byte) [][]byte {
			b := answerTo(t, ask, func(m *dns.Msg) { m.Answer = nil })
			b[7] = 1
			return [][]byte{b}
		}, ErrNotDNS},
		"echo":   {func(_ *dns.Msg, raw []byte) [][]byte { return [][]byte{append([]byte{}, raw...)} }, ErrOtherQuestion},
		"number": {func(ask *dns.Msg, _ []byte) [][]byte { return [][]byte{answerTo(t, ask, func(m *dns.Msg) { m.Id++ })} }, ErrOtherQuestion},
		"name": {func(ask *dns.Msg, _ []byte) [][]byte {
			return [][]byte{answerTo(t, ask, func(m *dns.Msg) { m.Question[0].Name = "b.example." })}
		}, ErrOtherQuestion},
		"type": {func(ask *dns.Msg, _ []byte) [][]byte {
			return [][]byte{answerTo(t, ask, func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeMX })}
		}, ErrOtherQuestion},
		"none": {func(ask *dns.Msg, _ []byte) [][]byte {
			return [][]byte{answerTo(t, ask, func(m *dns.Msg) { m.Question = nil })}
		}, ErrOtherQuestion},
	} {
		got, err := exchangeWith(t, rude(t, c.reply), "a.example", "A")
		if !errors.Is(err, c.want) || len(got.Records) != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Whoever forges packets must not keep the true answer away.
func TestTheTrueAnswerCountsAfterFalseOnes(t *testing.T) {
	server := rude(t, func(ask *dns.Msg, _ []byte) [][]byte {
		return [][]byte{[]byte("x"), answerTo(t, ask, func(m *dns.Msg) { m.Id++ }), answerTo(t, ask, func(*dns.Msg) {})}
	})
	if got, err := exchangeWith(t, server, "a.example", "A"); err != nil || len(got.Records) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSilenceLastsAsLongAsTheCallerWants(t *testing.T) {
	server := rude(t, func(*dns.Msg, []byte) [][]byte { return nil })
	for _, c := range []struct{ limit, cancel time.Duration }{{200 * time.Millisecond, time.Hour}, {time.Hour, 50 * time.Millisecond}} {
		ctx, cancel := context.WithTimeout(t.Context(), c.limit)
		time.AfterFunc(c.cancel, cancel)
		testenv.HangGuard(t)
		_, err := Client{}.Exchange(ctx, server, dnslookup.Question{Name: "a.example", Type: "A"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := exchangeWith(t, netip.MustParseAddrPort(closed.LocalAddr().String()), "a.example", "A"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}

func TestBadAnswersOverTCP(t *testing.T) {
	for name, send := range map[string]func(net.Conn){
		"nothing": func(net.Conn) {},
		"short":   func(c net.Conn) { c.Write([]byte{1, 0, 7}) },
		"garbage": func(c net.Conn) { c.Write(append(binary.BigEndian.AppendUint16(nil, 4), "oops"...)) },
		"flood": func(c net.Conn) {
			for b := make([]byte, 1<<16); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		},
		"silence": func(c net.Conn) { io.Copy(io.Discard, c) },
	} {
		var asked atomic.Int32
		conn, l := ends(t)
		udp := rudeAt(t, conn, func(ask *dns.Msg, _ []byte) [][]byte {
			asked.Add(1)
			return [][]byte{answerTo(t, ask, func(m *dns.Msg) { m.Truncated, m.Answer = true, nil })}
		})
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Read(make([]byte, 600))
				send(c)
				c.Close()
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if got, err := (Client{}).Exchange(ctx, udp, dnslookup.Question{Name: "a.example", Type: "A"}); err == nil || asked.Load() != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		cancel()
		l.Close()
	}
}

func FuzzParse(f *testing.F) {
	ask := new(dns.Msg).SetQuestion("a.example.", dns.TypeA)
	ask.Id = 7
	for _, change := range []func(*dns.Msg){func(*dns.Msg) {}, func(m *dns.Msg) { m.Truncated = true }, func(m *dns.Msg) { m.Rcode = 3 }} {
		m := new(dns.Msg).SetReply(ask)
		for _, text := range []string{"a.example. 1 IN A 192.0.2.7", `a.example. 1 IN TXT "x"`, "a.example. 1 IN CAA 0 issue x", "a.example. 1 IN SRV 1 2 3 b."} {
			rr, err := dns.NewRR(text)
			if err != nil {
				f.Fatal(err)
			}
			m.Answer = append(m.Answer, rr)
		}
		change(m)
		raw, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parse(raw, ask)
		if err != nil {
			if m != nil || !errors.Is(err, ErrNotDNS) && !errors.Is(err, ErrOtherQuestion) {
				t.Errorf("%v, %v", m, err)
			}
			return
		}
		for _, r := range reply(m, false).Records {
			if r.Type == "" || r.Name == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// What a lookup costs beside the server's time: the server here takes none.
func BenchmarkExchange(b *testing.B) {
	server := serve(b, zone(b, "a.example. 300 IN A 192.0.2.7"))
	for b.Loop() {
		if got, err := (Client{}).Exchange(b.Context(), server, dnslookup.Question{Name: "a.example", Type: "A"}); err != nil || len(got.Records) != 1 {
			b.Fatalf("%+v, %v", got, err)
		}
	}
}
