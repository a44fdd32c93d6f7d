// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"sentinel/internal/target"
)

// Bounds of what a receiver may answer.
const (
	maxAnswer       = 64 << 10 // bytes of the body
	maxAnswerHeader = 32 << 10
	maxRedirects    = 2
	bodyLimit       = time.Second // for the body, which says nothing or little
)

// A Client delivers documents to one endpoint. It is safe for concurrent use.
type Client struct {
	endpoint Endpoint
	agent    string
	http     *http.Client
	now      func() time.Time
	wait     func(ctx context.Context, d time.Duration) error
	jitter   func() float64 // from 0 to 1
}

// NewClient returns a client with the given User-Agent and resolver; nil is the
// system's resolver. It does not connect yet.
func NewClient(e Endpoint, agent string, resolver *net.Resolver) *Client {
	dialer := net.Dialer{Timeout: e.timeout, Resolver: resolver, Control: dialControl(e, ownAddresses)}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig(e),
		TLSHandshakeTimeout:    e.timeout,
		ResponseHeaderTimeout:  e.timeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
	}
	if e.proxy != nil && !e.URL.Plain() {
		transport.Proxy = http.ProxyURL(e.proxy)
		transport.OnProxyConnectResponse = proxyResponse
	}
	log.SetOutput(io.Discard) // net/http logs what a server sends unasked, and has no other switch
	return &Client{
		endpoint: e, agent: agent, http: &http.Client{Transport: transport, CheckRedirect: sameHost},
		now: time.Now, wait: sleep, jitter: rand.Float64,
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func tlsConfig(e Endpoint) *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.roots}
	if t.RootCAs == nil && !e.URL.Plain() {
		t.RootCAs = systemRoots()
	}
	if e.certificate != nil {
		t.Certificates = []tls.Certificate{*e.certificate}
	}
	return t
}

// A forbiddenError is an address to which no connection is made.
type forbiddenError struct {
	address, why string
	own          bool // of this machine, which only the configuration can name
}

func (e forbiddenError) Error() string { return e.address + " " + e.why }

// ownAddresses are those of the interfaces of this machine.
func ownAddresses() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	var own []netip.Addr
	for _, a := range list {
		if p, ok := a.(*net.IPNet); ok {
			ip, _ := netip.AddrFromSlice(p.IP)
			own = append(own, ip.Unmap())
		}
	}
	return own, err
}

// dialControl checks each address right before connecting to it: an earlier lookup
// of the name may have given another one. Plain HTTP may only go to this machine.
func dialControl(e Endpoint, addresses func() ([]netip.Addr, error)) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if why := target.Forbidden(to.Addr()); why != "" {
			return forbiddenError{to.Addr().String(), why, false}
		}
		if e.URL.Plain() && !to.Addr().Unmap().IsLoopback() {
			return forbiddenError{to.Addr().String(), "is not this machine, and http:// is for that alone", false}
		}
		if !e.elsewhere {
			return nil
		}
		own, err := addresses()
		if err != nil || target.Own(to.Addr(), own) || deliveredHere(to) {
			return forbiddenError{to.Addr().String(), "is this machine", true}
		}
		return nil
	}
}

// deliveredHere reports whether this machine takes what it sends to an address, which may be on none of its
// interfaces (ip-route(8), "local"): such an address is its own source. No packet is sent.
func deliveredHere(to netip.AddrPort) bool {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return false // and so is a connection
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	from, ok := c.LocalAddr().(*net.UDPAddr)
	return ok && from.AddrPort().Addr().Unmap() == to.Addr().Unmap()
}

// sameHost follows a redirect that repeats the request at the same host (307 and
// 308, RFC 9110). Any other is treated as a failure: it would send the document to somebody else,
// or become a GET without it.
func sameHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if next.Method != http.MethodPost || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || next.URL.User != nil || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// A proxyError is the status with which a proxy refused to connect.
type proxyError int

func (e proxyError) Error() string { return statusText(int(e)) }

// proxyResponse makes an error without text of the proxy.
func proxyResponse(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return proxyError(r.StatusCode)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// innermost unwraps the error that names the URL, which may hold secrets.
func innermost(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
