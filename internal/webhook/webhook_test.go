// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/target"
	"sentinel/internal/testenv"
)

var document = Document{ID: "msg_1", Body: []byte(`{"success":true}`)}

func key(fill string) string {
	return keyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 32)))
}

func TestDeliveryIsSignedAsStandardWebhooksHasIt(t *testing.T) {
	a := newAuthority(t)
	r := receive(t, a, nil)
	e := endpoint(t, r.URL+"/in?x=1", map[string]string{
		"ca": string(a.pem), "keys": key("a") + "\n\n" + key("b") + "\n", "token": "Bearer abc\n", "headers": "# fleet\nX-Fleet: one\nX-Fleet: two\nX-Site:  here \n",
	}, config.Endpoint{CAFile: "ca", SecretFile: "keys", AuthorizationFile: "token", HeadersFile: "headers"})
	c, waited := withoutPauses(t, e)
	got := c.Deliver(t.Context(), document)
	if got.Verdict != Delivered || got.Status != 200 || got.Attempts != 1 || len(*waited) != 0 || !e.Signed() {
		t.Fatalf("%+v", got)
	}
	q := r.requests()[0]
	for _, k := range []string{key("a"), key("b")} {
		verifier, err := standardwebhooks.NewWebhook(k)
		must(t, err)
		if err := verifier.Verify(q.body, q.header); err != nil {
			t.Errorf("the signature does not hold: %v", err)
		}
		if err := verifier.Verify(append(q.body, ' '), q.header); err == nil {
			t.Error("the signature holds for another document")
		}
	}
	if q.path != "/in?x=1" || string(q.body) != string(document.Body) || q.header.Get("Webhook-Id") != "msg_1" || q.header.Get("Content-Type") != "application/json" ||
		q.header.Get("Authorization") != "Bearer abc" || strings.Join(q.header.Values("X-Fleet"), ",") != "one,two" || q.header.Get("X-Site") != "here" ||
		q.header.Get("Sentinel-Schema-Version") != "1" || q.header.Get("User-Agent") != "sentinel/test" {
		t.Errorf("%s %s %v", q.path, q.body, q.header)
	}
}

func TestReceiversWhoseKeysCannotBeReadGetNoSignature(t *testing.T) {
	r := &receiver{}
	server := plain(t, r)
	e := endpoint(t, server, nil, config.Endpoint{})
	c, _ := withoutPauses(t, Unsigned(e.URL, config.Default().Webhook))
	if got := c.Deliver(t.Context(), document); got.Verdict != Delivered {
		t.Fatalf("%+v", got)
	}
	h := r.requests()[0].header
	if h.Get("Webhook-Signature") != "" || h.Get("Authorization") != "" || h.Get("Webhook-Id") != "msg_1" || e.Signed() {
		t.Errorf("%v", h)
	}
}

// plain serves without TLS, on loopback.
func plain(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}

func TestEachAnswerHasItsVerdict(t *testing.T) {
	a := newAuthority(t)
	for _, c := range []struct {
		codes    []int
		verdict  Verdict
		attempts int
		reason   string
	}{
		{[]int{200}, Delivered, 1, ""},
		{[]int{202}, Delivered, 1, ""},
		{[]int{204}, Delivered, 1, ""},
		{[]int{500, 200}, Delivered, 2, ""},
		{[]int{503, 502, 504, 201}, Delivered, 4, ""},
		{[]int{500}, Unreached, 4, "answered with status 500"},
		{[]int{429}, Unreached, 4, "answered with status 429"},
		{[]int{408, 425, 200}, Delivered, 3, ""},
		{[]int{400}, Refused, 1, "answered with status 400"},
		{[]int{413}, Refused, 1, "answered with status 413"},
		{[]int{422}, Refused, 1, "answered with status 422"},
		{[]int{401}, Unreached, 1, "answered with status 401"},
		{[]int{403}, Unreached, 1, "answered with status 403"},
		{[]int{404}, Unreached, 1, "answered with status 404"},
		{[]int{410}, Unreached, 1, "answered with status 410"},
		{[]int{301}, Unreached, 1, "a redirect that is not followed"},
		{[]int{304}, Unreached, 1, "a redirect that is not followed"},
	} {
		r := receive(t, a, status(c.codes...))
		client, waited := withoutPauses(t, endpoint(t, r.URL, map[string]string{"ca": string(a.pem)}, config.Endpoint{CAFile: "ca"}))
		got := client.Deliver(t.Context(), document)
		if got.Verdict != c.verdict || got.Attempts != c.attempts || len(r.requests()) != c.attempts || len(*waited) != c.attempts-1 || !strings.Contains(got.Reason, c.reason) ||
			got.Verdict != Delivered && got.Status != c.codes[len(c.codes)-1] {
			t.Errorf("%v: %+v, waited %v", c.codes, got, *waited)
		}
		for _, q := range r.requests() {
			if q.header.Get("Webhook-Id") != document.ID {
				t.Errorf("%v: sent again under another id: %v", c.codes, q.header)
			}
		}
	}
}

func TestPausesGrowAndAreNotTheSame(t *testing.T) {
	r := &receiver{then: status(500)}
	c, waited := withoutPauses(t, endpoint(t, plain(t, r), nil, config.Endpoint{}))
	c.jitter = func() float64 { return 0.5 }
	c.Deliver(t.Context(), document)
	if got := fmt.Sprint(*waited); got != "[750ms 1.5s 3s]" {
		t.Errorf("waited %s", got)
	}
}

func TestRetryAfterIsKeptWithinReason(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0": 0, "-1": 0, "99999999": maxRetryAfter, "99999999999999999999": 0, "soon": 0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0, "Tue, 01 Mar 2050 12:00:00 GMT": maxRetryAfter,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	r := &receiver{then: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(429)
	}}
	c, waited := withoutPauses(t, endpoint(t, plain(t, r), nil, config.Endpoint{}))
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if got := c.Deliver(limited, document); got.Attempts != 1 || got.RetryAfter != 20*time.Second || len(*waited) != 0 {
		t.Errorf("it waits for longer than there is time: %+v, %v", got, *waited)
	}
	if got := c.Deliver(t.Context(), document); got.Attempts != 4 || (*waited)[0] != 20*time.Second {
		t.Errorf("%+v, %v", got, *waited)
	}
}

func TestRedirectsStayWithTheHost(t *testing.T) {
	a := newAuthority(t)
	var elsewhere atomic.Int32
	other := receive(t, a, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, c := range []struct {
		code    int
		to      string
		verdict Verdict
	}{
		{307, "/second", Delivered}, {308, "/second", Delivered}, {301, "/second", Unreached}, {302, "/second", Unreached}, {303, "/second", Unreached},
		{307, other.URL, Unreached}, {308, other.URL + "/x", Unreached}, {302, other.URL, Unreached}, {307, "http://127.0.0.1:1/", Unreached},
		{307, "http://169.254.169.254/", Unreached}, {307, "file:///etc/passwd", Unreached}, {307, "//user:pw@127.0.0.1/", Unreached}, {307, "/first", Unreached},
	} {
		r := receive(t, a, func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/first" {
				w.Header().Set("Location", c.to)
				w.WriteHeader(c.code)
			}
		})
		client, _ := withoutPauses(t, endpoint(t, r.URL+"/first", map[string]string{"ca": string(a.pem), "k": key("a")}, config.Endpoint{CAFile: "ca", SecretFile: "k"}))
		got := client.Deliver(t.Context(), document)
		if got.Verdict != c.verdict || got.Attempts != 1 {
			t.Errorf("%d to %s: %+v", c.code, c.to, got)
		}
		last := r.requests()[len(r.requests())-1]
		if c.verdict == Delivered && (string(last.body) != string(document.Body) || last.header.Get("Webhook-Signature") == "") {
			t.Errorf("%d: the second request is %+v", c.code, last)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("the document went to another host")
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct {
		signer authority
		change func(*x509.Certificate)
		says   string
	}{
		"of an unknown authority": {stranger, nil, "certificate that does not hold"},
		"expired":                 {a, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "expired"},
		"not valid yet":           {a, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }, "not yet valid"},
		"of another host":         {a, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.example.com"} }, "certificate that does not hold"},
	} {
		r := receiveWith(t, c.signer, nil, c.change, func(*tls.Config) {})
		client, _ := withoutPauses(t, endpoint(t, r.URL, map[string]string{"ca": string(a.pem)}, config.Endpoint{CAFile: "ca"}))
		got := client.Deliver(t.Context(), document)
		if got.Verdict != Unreached || got.Attempts != 1 || !strings.Contains(got.Reason, c.says) || got.Fix == "" || len(r.requests()) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	strange := receive(t, a, nil)
	system, _ := withoutPauses(t, endpoint(t, strange.URL, nil, config.Endpoint{}))
	if got := system.Deliver(t.Context(), document); got.Verdict != Unreached || got.Attempts != 1 || !strings.Contains(got.Reason, "unknown authority") || len(strange.requests()) != 0 {
		t.Errorf("by the authorities of the system: %+v", got)
	}
	old := receiveWith(t, a, nil, nil, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11; c.MinVersion = tls.VersionTLS10 })
	client, _ := withoutPauses(t, endpoint(t, old.URL, map[string]string{"ca": string(a.pem)}, config.Endpoint{CAFile: "ca"}))
	if got := client.Deliver(t.Context(), document); got.Verdict != Unreached || len(old.requests()) != 0 {
		t.Errorf("TLS 1.1: %+v", got)
	}
	c, _ := withoutPauses(t, endpoint(t, strings.Replace(plain(t, &receiver{}), "http:", "https:", 1), nil, config.Endpoint{}))
	if got := c.Deliver(t.Context(), document); got.Verdict != Unreached || !strings.Contains(got.Reason, "does not speak TLS") {
		t.Errorf("no TLS: %+v", got)
	}
}

func TestClientCertificatesAreShown(t *testing.T) {
	a := newAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	r := receiveWith(t, a, nil, nil, func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool })
	certificate, keyPEM := a.issue(t, nil)
	files := map[string]string{"ca": string(a.pem), "crt": string(certificate), "key": string(keyPEM)}
	with, _ := withoutPauses(t, endpoint(t, r.URL, files, config.Endpoint{CAFile: "ca", CertificateFile: "crt", KeyFile: "key"}))
	if got := with.Deliver(t.Context(), document); got.Verdict != Delivered {
		t.Errorf("with it: %+v", got)
	}
	without, _ := withoutPauses(t, endpoint(t, r.URL, files, config.Endpoint{CAFile: "ca"}))
	if got := without.Deliver(t.Context(), document); got.Verdict != Unreached {
		t.Errorf("without it: %+v", got)
	}
}

// raw answers each connection with f.
func raw(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestServersThatMisbehaveAreBounded(t *testing.T) {
	head := func(c net.Conn) { c.Read(make([]byte, 4096)) }
	silence := func(c net.Conn) { c.Read(make([]byte, 1<<20)); c.Read(make([]byte, 1)) }
	for name, c := range map[string]struct {
		serve    func(net.Conn)
		verdict  Verdict
		attempts int
		says     string
	}{
		"endless body": {func(c net.Conn) {
			head(c)
			c.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			for {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, Delivered, 1, ""},
		"another protocol": {func(c net.Conn) {
			head(c)
			c.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
			silence(c)
		}, Unreached, 1, "answered with status 101"},
		"endless promises": {func(c net.Conn) {
			head(c)
			for {
				if _, err := c.Write([]byte("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")); err != nil {
					return
				}
			}
		}, Unreached, 4, "could not be talked to"},
		"slow body": {func(c net.Conn) {
			head(c)
			c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"))
			silence(c)
		}, Delivered, 1, ""},
		"endless header": {func(c net.Conn) {
			head(c)
			c.Write([]byte("HTTP/1.1 200 OK\r\n"))
			for {
				if _, err := c.Write([]byte("X: " + strings.Repeat("x", 8000) + "\r\n")); err != nil {
					return
				}
			}
		}, Unreached, 4, ""},
		"no answer":      {silence, Unreached, 4, "did not answer within 1s"},
		"no HTTP":        {func(c net.Conn) { c.Write([]byte("SSH-2.0-x\r\n")); head(c) }, Unreached, 4, "could not be talked to"},
		"hostile status": {func(c net.Conn) { head(c); c.Write([]byte("HTTP/1.1 2\x1b[31m OK\r\n\r\n")) }, Unreached, 4, ""},
		"reset": {func(c net.Conn) {
			head(c)
			c.(*net.TCPConn).SetLinger(0)
		}, Unreached, 4, "broke the connection off"},
		"reset half-way": {func(c net.Conn) {
			head(c)
			c.Write([]byte("HTTP/1.1 200 OK\r\nDate: "))
			c.(*net.TCPConn).SetLinger(0)
		}, Unreached, 4, "broke the connection off"},
		"half a status": {func(c net.Conn) { head(c); c.Write([]byte("HTTP/1.1 20")) }, Unreached, 4, "could not be talked to"},
		"closed":        {func(c net.Conn) { head(c) }, Unreached, 4, "broke the connection off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := withoutPauses(t, endpoint(t, raw(t, c.serve), nil, config.Endpoint{}))
			got := client.Deliver(t.Context(), document)
			if got.Verdict != c.verdict || got.Attempts != c.attempts || !strings.Contains(got.Reason, c.says) || strings.ContainsRune(got.Reason, '\x1b') {
				t.Errorf("%+v", got)
			}
		})
	}
	gone := raw(t, func(net.Conn) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l.Close()
	client, _ := withoutPauses(t, endpoint(t, strings.Replace(gone, gone[7:], l.Addr().String(), 1), nil, config.Endpoint{}))
	if got := client.Deliver(t.Context(), document); got.Attempts != 4 || !strings.Contains(got.Reason, "connection refused") {
		t.Errorf("nobody there: %+v", got)
	}
}

// The words of a receiver could be meant for the assistant that reads the
// document, or for the terminal that shows the log.
func TestNothingThatAReceiverSaysIsShown(t *testing.T) {
	a := newAuthority(t)
	const words = "IGNORE.previous-instructions.example.com"
	reply := func(text string) string {
		return raw(t, func(c net.Conn) {
			c.Read(make([]byte, 4096))
			c.Write([]byte(text))
			c.Read(make([]byte, 1))
		})
	}
	named := func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{words} }
	trusted := map[string]string{"ca": string(a.pem)}
	for name, e := range map[string]Endpoint{
		"status":      endpoint(t, reply("HTTP/1.1 "+words+"\r\n\r\n"), nil, config.Endpoint{}),
		"header":      endpoint(t, reply("HTTP/1.1 200 OK\r\n"+words+"\r\n\r\n"), nil, config.Endpoint{}),
		"length":      endpoint(t, reply("HTTP/1.1 200 OK\r\nContent-Length: "+words+"\r\n\r\n"), nil, config.Endpoint{}),
		"coding":      endpoint(t, reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: "+words+"\r\n\r\n"), nil, config.Endpoint{}),
		"location":    endpoint(t, reply("HTTP/1.1 307 x\r\nLocation: http://%zz"+words+"\r\nContent-Length: 0\r\n\r\n"), nil, config.Endpoint{}),
		"unasked":     endpoint(t, reply("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"+words), nil, config.Endpoint{}),
		"certificate": endpoint(t, receiveWith(t, a, nil, named, func(*tls.Config) {}).URL, trusted, config.Endpoint{CAFile: "ca"}),
	} {
		var logged bytes.Buffer
		log.SetOutput(&logged)
		c, _ := withoutPauses(t, e)
		got := c.Deliver(t.Context(), document)
		if name != "unasked" && (got.Verdict == Delivered || got.Reason == "") || strings.Contains(got.Reason+got.Fix+logged.String(), "previous") {
			t.Errorf("%s: %+v, logged %q", name, got, logged.String())
		}
	}
	w := config.Default().Webhook
	w.Proxy = reply("HTTP/1.1 407 " + words + "\r\nContent-Length: 0\r\n\r\n")
	through, err := Listed(config.Endpoint{URL: "https://hooks.example.com/"}, w, t.TempDir())
	must(t, err)
	c, _ := withoutPauses(t, through)
	if got := c.Deliver(t.Context(), document); got.Verdict != Unreached || !strings.Contains(got.Reason, "webhook.proxy answered with status 407") || strings.Contains(got.Reason, "previous") {
		t.Errorf("proxy: %+v", got)
	}
}

// names is a name server on loopback that gives one address for every name.
func names(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	s := &dns.Server{PacketConn: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		m.RecursionAvailable = true
		for _, text := range answers {
			a := netip.MustParseAddr(text)
			head := dns.RR_Header{Name: q.Question[0].Name, Rrtype: q.Question[0].Qtype, Class: dns.ClassINET, Ttl: 1}
			switch {
			case q.Question[0].Qtype == dns.TypeA && a.Is4():
				m.Answer = append(m.Answer, &dns.A{Hdr: head, A: a.AsSlice()})
			case q.Question[0].Qtype == dns.TypeAAAA && !a.Is4():
				m.Answer = append(m.Answer, &dns.AAAA{Hdr: head, AAAA: a.AsSlice()})
			}
		}
		w.WriteMsg(m)
	})}
	go s.ActivateAndServe()
	t.Cleanup(func() { s.Shutdown() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", l.LocalAddr().String())
	}}
}

// forbidden are addresses that no name may lead to.
var forbidden = []string{
	"169.254.169.254", "169.254.170.2", "0.0.0.0", "100.100.100.200", "192.0.0.192", "168.63.129.16", "224.0.0.1", "255.255.255.255",
	"fe80::1", "fd00:ec2::254", "fd20:ce::254", "::", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "ff02::1",
	"::ffff:0:a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0", "fd00:ec2::23", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1",
}

// control is that of a configured endpoint.
func control(t *testing.T, url string) func(network, address string, _ syscall.RawConn) error {
	t.Helper()
	return dialControl(endpoint(t, url, nil, config.Endpoint{}), func() ([]netip.Addr, error) {
		t.Error("the addresses of this machine were asked for")
		return nil, nil
	})
}

// A receiver on this machine is one that the configuration names: whoever else chooses host, port and
// path could give orders to services that trust this machine.
func TestUnlistedReceiversAreOnOtherMachines(t *testing.T) {
	own := func() ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}, nil
	}
	u, err := target.ParseURL("https://hooks.example.com/")
	must(t, err)
	e := Unlisted(u, config.Default().Webhook)
	for address, allowed := range map[string]bool{
		"127.0.0.1:443": false, "127.255.0.9:443": false, "[::1]:443": false, "[::ffff:127.0.0.1]:443": false, "192.0.2.1:443": false, "[2001:db8::1]:443": false,
		"[::ffff:192.0.2.1]:443": false, "[64:ff9b::192.0.2.1]:443": false, "[2002:c000:201::1]:443": false, "0.0.0.0:443": false, "[::]:443": false, "169.254.1.1:443": false,
		"192.0.2.7:443": true, "[2001:db8::7]:443": true, "10.0.0.1:443": true,
	} {
		if err := dialControl(e, own)("tcp", address, nil); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	unknown := func() ([]netip.Addr, error) { return nil, errors.New("netlink") }
	if dialControl(e, unknown)("tcp", "192.0.2.7:443", nil) == nil {
		t.Error("a machine whose own addresses cannot be read sends")
	}
	for text, here := range map[string]bool{
		"http://127.0.0.1:9090/-/quit": true, "http://localhost:9090/": true, "https://[::1]/": true, "https://127.0.0.2/": true, "https://[::ffff:127.0.0.1]/": true,
		"https://a.localhost/": true, "https://hooks.example.com/": false,
	} {
		u, err := target.ParseURL(text)
		must(t, err)
		if e := Unlisted(u, config.Default().Webhook); (e.Elsewhere() != "") != here {
			t.Errorf("%s: %q", text, e.Elsewhere())
		}
		if e := Unsigned(u, config.Default().Webhook); e.Elsewhere() != "" {
			t.Errorf("%s of the configuration: %q", text, e.Elsewhere())
		}
	}
}

// A name may lead to this machine.
func TestNamesOfThisMachineAreNotFollowed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	u, err := target.ParseURL("https://hooks.example.com:" + port + "/-/quit")
	must(t, err)
	c := NewClient(Unlisted(u, config.Default().Webhook), "", names(t, "127.0.0.1"))
	defer c.Close()
	got := c.Deliver(t.Context(), document)
	if !got.OwnMachine || got.Attempts != 1 || got.Fix != OwnMachineFix || !strings.Contains(got.Reason, "127.0.0.1 is this machine") {
		t.Errorf("%+v", got)
	}
	must(t, l.(*net.TCPListener).SetDeadline(time.Now())) // what was connected is accepted all the same
	if conn, err := l.Accept(); err == nil {
		t.Errorf("%v connected", conn.RemoteAddr())
	}
}

func TestForbiddenAddressesAreNotConnectedTo(t *testing.T) {
	for _, address := range forbidden {
		err := control(t, "https://hooks.example.com/")("tcp", netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), nil)
		if e, ok := errors.AsType[forbiddenError](err); !ok || e.why == "" {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What a name leads to is judged when the connection is made, whatever it led to
// before. The test is in a network of its own, where nothing is reached should it fail.
func TestNamesThatLeadToMetadataAreNotFollowed(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, address := range forbidden {
		e := endpoint(t, "https://hooks.example.com/", nil, config.Endpoint{})
		c := NewClient(e, "", names(t, address))
		got := c.Deliver(t.Context(), document)
		if got.Verdict != Unreached || got.Attempts != 1 || !strings.Contains(got.Reason, "leads to an address that nothing is sent to") || got.Fix == "" {
			t.Errorf("%s: %+v", address, got)
		}
		c.Close()
	}
}

// A name that leads to two addresses reaches the one that is allowed.
func TestNamesAreResolvedOnce(t *testing.T) {
	a := newAuthority(t)
	r := receive(t, a, nil)
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	must(t, err)
	e := endpoint(t, "https://hooks.example.com:"+port, map[string]string{"ca": string(a.pem)}, config.Endpoint{CAFile: "ca"})
	c := NewClient(e, "", names(t, "169.254.169.254", "127.0.0.1"))
	defer c.Close()
	if got := c.Deliver(t.Context(), document); got.Verdict != Delivered {
		t.Errorf("%+v", got)
	}
	nobody := NewClient(e, "", names(t))
	if got := nobody.Deliver(t.Context(), document); got.Attempts != 1 || !strings.Contains(got.Reason, "without any address") {
		t.Errorf("a name without address: %+v", got)
	}
}

func TestWhatIsNotEncryptedStaysOnThisMachine(t *testing.T) {
	for address, allowed := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "192.0.2.7:80": false, "10.0.0.1:80": false, "[2001:db8::1]:80": false} {
		if err := control(t, "http://localhost/")("tcp", address, nil); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
		if err := control(t, "https://hooks.example.com/")("tcp", address, nil); err != nil {
			t.Errorf("%s, encrypted: %v", address, err)
		}
	}
	if control(t, "https://hooks.example.com/")("tcp", "[fe80::1%eth0]:443", nil) == nil || control(t, "https://hooks.example.com/")("unix", "/run/x", nil) == nil {
		t.Error("an address of a link, or none, is allowed")
	}
}

// The environment belongs to the caller.
func TestOnlyTheConfiguredProxyIsUsed(t *testing.T) {
	a := newAuthority(t)
	r := receive(t, a, nil)
	var asked atomic.Int32
	proxy := plain(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		if q.Method != http.MethodConnect || q.Host != r.Listener.Addr().String() || q.Header.Get("Authorization") != "" {
			t.Errorf("the proxy was asked %s %s %v", q.Method, q.Host, q.Header)
		}
		w.WriteHeader(502)
	}))
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, proxy)
	}
	e := endpoint(t, r.URL, map[string]string{"ca": string(a.pem)}, config.Endpoint{CAFile: "ca"})
	c, _ := withoutPauses(t, e)
	if got := c.Deliver(t.Context(), document); got.Verdict != Delivered || asked.Load() != 0 {
		t.Errorf("%+v, the proxy was asked %d times", got, asked.Load())
	}
	w := config.Default().Webhook
	w.Proxy = proxy
	through, err := Listed(config.Endpoint{URL: r.URL}, w, t.TempDir())
	must(t, err)
	c, _ = withoutPauses(t, through)
	if got := c.Deliver(t.Context(), document); got.Verdict != Unreached || asked.Load() != 4 {
		t.Errorf("%+v, the proxy was asked %d times", got, asked.Load())
	}
	c, _ = withoutPauses(t, Unsigned(e.URL, w))
	c.Deliver(t.Context(), document)
	if asked.Load() != 4 {
		t.Error("the proxy was asked for a receiver that is not in the configuration")
	}
}

func TestReasonsNeverShowTheQuery(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l.Close()
	c, _ := withoutPauses(t, endpoint(t, "http://"+l.Addr().String()+"/?token=SECRET", nil, config.Endpoint{}))
	if got := c.Deliver(t.Context(), document); strings.Contains(got.Reason+got.Fix, "SECRET") {
		t.Errorf("%+v", got)
	}
}

func TestFilesOfEndpointsAreChecked(t *testing.T) {
	const url = "https://hooks.example.com/"
	certificate, keyPEM := newAuthority(t).issue(t, nil)
	for name, c := range map[string]struct {
		file string
		as   config.Endpoint
	}{
		"key without its prefix": {strings.TrimPrefix(key("a"), keyPrefix), config.Endpoint{SecretFile: "f"}},
		"key that is no base64":  {"whsec_%%%", config.Endpoint{SecretFile: "f"}},
		"short key":              {"whsec_" + base64.StdEncoding.EncodeToString([]byte("SECRETSECRET")), config.Endpoint{SecretFile: "f"}},
		"long key":               {"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)), config.Endpoint{SecretFile: "f"}},
		"no key":                 {"\n", config.Endpoint{SecretFile: "f"}},
		"too many keys":          {strings.Repeat(key("a")+"\n", 5), config.Endpoint{SecretFile: "f"}},
		"two lines of token":     {"SECRET\nX-Other: 1", config.Endpoint{AuthorizationFile: "f"}},
		"empty token":            {" \n", config.Endpoint{AuthorizationFile: "f"}},
		"control character":      {"SECRET\x01", config.Endpoint{AuthorizationFile: "f"}},
		"header without value":   {"X-A:\n", config.Endpoint{HeadersFile: "f"}},
		"header with a blank":    {"X A: SECRET\n", config.Endpoint{HeadersFile: "f"}},
		"no header":              {"SECRET\n", config.Endpoint{HeadersFile: "f"}},
		"host":                   {"Host: SECRET\n", config.Endpoint{HeadersFile: "f"}},
		"another signature":      {"Webhook-Signature: SECRET\n", config.Endpoint{HeadersFile: "f"}},
		"content length":         {"content-length: 1\n", config.Endpoint{HeadersFile: "f"}},
		"too many headers":       {strings.Repeat("X-A: SECRET\n", 33), config.Endpoint{HeadersFile: "f"}},
		"long header":            {"X-A: " + strings.Repeat("a", 5000), config.Endpoint{HeadersFile: "f"}},
		"no authority":           {"SECRET", config.Endpoint{CAFile: "f"}},
		"certificate alone":      {string(certificate), config.Endpoint{CertificateFile: "f", KeyFile: "f"}},
		"key alone":              {string(keyPEM), config.Endpoint{CertificateFile: "f", KeyFile: "f"}},
		"missing":                {"", config.Endpoint{SecretFile: "other"}},
		"missing key":            {string(certificate), config.Endpoint{CertificateFile: "f", KeyFile: "other"}},
		"huge":                   {strings.Repeat("a", maxFile<<10+1), config.Endpoint{AuthorizationFile: "f"}},
	} {
		_, err := loaded(t, url, map[string]string{"f": c.file}, c.as)
		if err == nil || fault.From(err).Code != fault.ConfigInvalid || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), strings.TrimPrefix(key("a"), keyPrefix)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A soak: the memory does not grow with what was delivered.
func TestTenThousandDeliveriesNeedNoMoreMemoryThanAHundred(t *testing.T) {
	a := newAuthority(t)
	var count atomic.Int64
	r := receive(t, a, nil)
	r.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Webhook-Id") != "" {
			count.Add(1)
		}
	})
	c, _ := withoutPauses(t, endpoint(t, r.URL, map[string]string{"ca": string(a.pem), "k": key("a")}, config.Endpoint{CAFile: "ca", SecretFile: "k"}))
	d := Document{Body: []byte(`{"x":"` + strings.Repeat("a", 10_000) + `"}`)}
	send := func(n int) {
		for range n {
			d.ID = NewID()
			if got := c.Deliver(t.Context(), d); got.Verdict != Delivered {
				t.Fatalf("%+v", got)
			}
		}
	}
	send(100)
	before, threads := heap(), runtime.NumGoroutine()
	send(9_900)
	after := heap()
	if count.Load() != 10_000 || after > before+2<<20 || runtime.NumGoroutine() > threads+5 {
		t.Errorf("%d arrived; heap %d KiB, before %d KiB; %d goroutines, before %d", count.Load(), after>>10, before>>10, runtime.NumGoroutine(), threads)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
