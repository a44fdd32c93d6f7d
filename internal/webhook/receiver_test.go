// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sentinel/internal/config"
)

// An authority signs certificates that a test trusts.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	made, err := x509.ParseCertificate(raw)
	must(t, err)
	return authority{made, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}
}

// issue makes a certificate with its key, both PEM.
func (a authority) issue(t *testing.T, change func(*x509.Certificate)) (certificate, keyPEM []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost", "hooks.example.com"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	must(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A receiver is a server on loopback that keeps what it was sent.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  []request
	then http.HandlerFunc // answers; nil is 200
}

type request struct {
	header http.Header
	path   string
	body   []byte
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	r.got = append(r.got, request{q.Header, q.URL.RequestURI(), body})
	then := r.then
	r.mu.Unlock()
	if then != nil {
		then(w, q)
	}
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

// receive starts a receiver with TLS.
func receive(t *testing.T, a authority, then http.HandlerFunc) *receiver {
	t.Helper()
	return receiveWith(t, a, then, nil, func(*tls.Config) {})
}

func receiveWith(t *testing.T, a authority, then http.HandlerFunc, change func(*x509.Certificate), adapt func(*tls.Config)) *receiver {
	t.Helper()
	r := &receiver{then: then}
	certificate, key := a.issue(t, change)
	pair, err := tls.X509KeyPair(certificate, key)
	must(t, err)
	r.Server = httptest.NewUnstartedServer(r)
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	adapt(r.TLS)
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

// endpoint is what the configuration would say of a receiver, with files that
// hold what the test gives.
func endpoint(t *testing.T, url string, files map[string]string, c config.Endpoint) Endpoint {
	t.Helper()
	e, err := loaded(t, url, files, c)
	must(t, err)
	return e
}

func loaded(t *testing.T, url string, files map[string]string, c config.Endpoint) (Endpoint, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secrets")
	must(t, os.Mkdir(dir, 0o700))
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	c.URL = url
	w := config.Default().Webhook
	w.TimeoutSeconds = 1
	return Listed(c, w, dir)
}

// withoutPauses is a client that does not wait between attempts, and says how long
// it would have.
func withoutPauses(t *testing.T, e Endpoint) (*Client, *[]time.Duration) {
	t.Helper()
	c := NewClient(e, "sentinel/test", nil)
	t.Cleanup(c.Close)
	waited := &[]time.Duration{}
	c.jitter = func() float64 { return 0 }
	c.wait = func(ctx context.Context, d time.Duration) error {
		*waited = append(*waited, d)
		return ctx.Err()
	}
	return c, waited
}

func status(codes ...int) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(codes[0])
		if len(codes) > 1 {
			codes = codes[1:]
		}
	}
}
