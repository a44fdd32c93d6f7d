// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/target"
	"sentinel/internal/trust"
)

// An Endpoint is a receiver and everything needed to reach it.
type Endpoint struct {
	URL         target.URL
	keys        [][]byte // to sign with; none leaves the signature out
	header      http.Header
	roots       *x509.CertPool   // nil means the system's
	certificate *tls.Certificate // client certificate; nil is none
	proxy       *url.URL         // nil is none
	timeout     time.Duration    // of one attempt
	elsewhere   bool             // it must not be this machine
	collector   bool             // it speaks OTLP/HTTP
	setting     string           // of the configuration, which names it
}

// Signed reports whether documents are signed.
func (e Endpoint) Signed() bool { return len(e.keys) > 0 }

// Unlisted returns the endpoint of a receiver that is not in the configuration. It is on another
// machine: services of this one trust whoever reaches them, and a POST of any content to a path of the
// caller's may be an order. Otherwise it is as one that is [Unsigned].
func Unlisted(u target.URL, w config.Webhook) Endpoint {
	e := Unsigned(u, w)
	e.elsewhere = true
	return e
}

// Unsigned returns the endpoint of a receiver whose keys cannot be read. It gets no signature and no
// configured header, and is not reached through the proxy.
func Unsigned(u target.URL, w config.Webhook) Endpoint {
	return Endpoint{URL: u, header: http.Header{}, timeout: w.Timeout(), setting: "webhook.endpoints"}
}

// Elsewhere returns why nothing is sent to an endpoint whose URL names this machine; "" if it does not,
// or may. A name is judged when it is connected to.
func (e Endpoint) Elsewhere() string {
	if !e.elsewhere || !e.URL.Local() {
		return ""
	}
	return "is this machine, and the configuration does not name it"
}

// Listed returns an endpoint of the configuration, with the content of its files
// in dir. An error in one of them is CONFIG_INVALID and never quotes the file.
func Listed(e config.Endpoint, w config.Webhook, dir string) (Endpoint, error) {
	u, err := target.ParseURL(e.URL)
	if err != nil {
		return Endpoint{}, err
	}
	return Unsigned(u, w).with(e, w, dir)
}

// Collector is [Listed] for one signal of the OpenTelemetry Collector: its metrics or its logs.
func Collector(e config.Endpoint, w config.Webhook, dir string) (Endpoint, error) {
	u, err := target.ParseURL(e.URL)
	if err != nil {
		return Endpoint{}, err
	}
	made := Unsigned(u, w)
	made.collector, made.setting = true, "otlp"
	return made.with(e, w, dir)
}

// with adds what the configuration says about an endpoint.
func (e Endpoint) with(c config.Endpoint, w config.Webhook, dir string) (_ Endpoint, err error) {
	if w.Proxy != "" {
		if e.proxy, err = url.Parse(w.Proxy); err != nil {
			return Endpoint{}, fault.Wrap(fault.ConfigInvalid, "webhook.proxy cannot be used", err)
		}
	}
	directory := secrets{dir, e.setting}
	for _, part := range []struct {
		name string
		take func(raw []byte) error
	}{
		{c.SecretFile, e.takeKeys}, {c.AuthorizationFile, e.takeAuthorization}, {c.HeadersFile, e.takeHeaders}, {c.CAFile, e.takeRoots},
	} {
		if err := directory.use(part.name, part.take); err != nil {
			return Endpoint{}, err
		}
	}
	return e, directory.useCertificate(c, &e)
}

// secrets is the directory with the files of the endpoints, for one that a setting names.
type secrets struct{ dir, setting string }

// maxFile bounds each file, in KiB.
const maxFile = 256

// use reads a file, if one is named, and passes its content to take.
func (s secrets) use(name string, take func(raw []byte) error) error {
	if name == "" {
		return nil
	}
	raw, err := s.read(name)
	if err == nil {
		err = take(raw)
	}
	return s.invalid(name, err)
}

// read requires that no other user can read the file: it may hold a secret.
func (s secrets) read(name string) ([]byte, error) {
	path := filepath.Join(s.dir, name)
	raw, err := trust.RootOrSelf.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = errReadable
	}
	return raw, err
}

var errReadable = errors.New("others can read it")

func (s secrets) invalid(name string, err error) error {
	if err == nil {
		return nil
	}
	path := filepath.Join(s.dir, name)
	e := fault.Wrap(fault.ConfigInvalid, path+" cannot be used", err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.WithFix("Create it with mode 0600, or take its name out of " + s.setting + ".")
	case errors.Is(err, errReadable):
		return e.WithFix("Keep it to root, and change the secret if somebody may have seen it: sudo chmod 0600 " + path)
	default:
		return e
	}
}

// useCertificate reads the client certificate and its key.
func (s secrets) useCertificate(e config.Endpoint, to *Endpoint) error {
	if e.CertificateFile == "" {
		return nil
	}
	chain, err := s.read(e.CertificateFile)
	if err != nil {
		return s.invalid(e.CertificateFile, err)
	}
	return s.use(e.KeyFile, func(key []byte) error {
		pair, err := tls.X509KeyPair(chain, key)
		if err != nil { // which may quote the file
			return errors.New("it is no key (PEM) that belongs to the certificate in " + e.CertificateFile)
		}
		to.certificate = &pair
		return nil
	})
}

func (e *Endpoint) takeKeys(raw []byte) (err error) {
	e.keys, err = parseKeys(raw)
	return err
}

func (e *Endpoint) takeRoots(raw []byte) error {
	e.roots = x509.NewCertPool()
	if !e.roots.AppendCertsFromPEM(raw) {
		return errors.New("it holds no certificate (PEM)")
	}
	return nil
}

func (e *Endpoint) takeAuthorization(raw []byte) error {
	value := strings.TrimSpace(string(raw))
	if err := checkValue(value); err != nil {
		return err
	}
	e.header.Set("Authorization", value)
	return nil
}

// Bounds of what a file of headers holds.
const (
	maxHeaders = 32
	maxValue   = 4096 // characters
)

// takeHeaders reads lines of "Name: value". Lines that begin with # are comments.
func (e *Endpoint) takeHeaders(raw []byte) error {
	count := 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found || !isToken(name) {
			return errors.New("a line is not NAME: VALUE")
		}
		value = strings.TrimSpace(value)
		if reserved(name) {
			return errors.New("the header " + name + " is not for this file")
		}
		if err := checkValue(value); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
		if count++; count > maxHeaders {
			return fmt.Errorf("it holds more than %d headers", maxHeaders)
		}
		e.header.Add(name, value)
	}
	return nil
}

// reserved reports whether a header is set by this package or by the protocol.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "sentinel-") || strings.HasPrefix(name, "proxy-") || slices.Contains([]string{
		"authorization", "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer",
		"expect", "user-agent",
	}, name)
}

// isToken reports whether text is a valid header name (RFC 9110, section 5.1).
func isToken(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func checkValue(value string) error {
	if value == "" || len(value) > maxValue || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("the value is not one line of 1 to %d plain characters", maxValue)
	}
	return nil
}
