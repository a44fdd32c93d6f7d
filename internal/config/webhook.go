// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/target"
)

// Webhook holds the receivers of telemetry and how it is sent.
type Webhook struct {
	// Endpoints get the whole health document; documents that cannot be delivered
	// are spooled.
	Endpoints []Endpoint `yaml:"endpoints"`
	// Tags are included in every document that is sent.
	Tags map[string]string `yaml:"tags"`
	// Proxy is the HTTP proxy in front of the endpoints; "" means none.
	Proxy string `yaml:"proxy"`
	// TimeoutSeconds is how long a receiver may take to answer.
	TimeoutSeconds int `yaml:"timeout_seconds"`
	// Spool bounds what is stored for an endpoint that does not answer.
	Spool Spool `yaml:"spool"`
}

// An Endpoint is one receiver. Its files are in the directory "secrets" next to the
// configuration.
type Endpoint struct {
	URL               string `yaml:"url"`
	SecretFile        string `yaml:"secret_file,omitempty"`        // keys of the signature, one per line
	AuthorizationFile string `yaml:"authorization_file,omitempty"` // value of the Authorization header
	HeadersFile       string `yaml:"headers_file,omitempty"`       // further headers, one per line
	CAFile            string `yaml:"ca_file,omitempty"`            // certificates (PEM) to trust instead of the system's
	CertificateFile   string `yaml:"certificate_file,omitempty"`   // of this client (PEM)
	KeyFile           string `yaml:"key_file,omitempty"`
}

// A Spool bounds what is stored for each endpoint.
type Spool struct {
	MaxMegabytes int `yaml:"max_megabytes"`
	MaxAgeHours  int `yaml:"max_age_hours"`
}

// MaxBytes returns the size limit.
func (s Spool) MaxBytes() int64 { return int64(s.MaxMegabytes) << 20 }

// MaxAge returns the age limit.
func (s Spool) MaxAge() time.Duration { return time.Duration(s.MaxAgeHours) * time.Hour }

// Timeout returns how long a receiver may take to answer.
func (w Webhook) Timeout() time.Duration { return time.Duration(w.TimeoutSeconds) * time.Second }

// Endpoint returns the configured endpoint with the given URL, if there is one.
func (w Webhook) Endpoint(u target.URL) (Endpoint, bool) {
	for _, e := range w.Endpoints {
		if own, err := target.ParseURL(e.URL); err == nil && own.String() == u.String() {
			return e, true
		}
	}
	return Endpoint{}, false
}

func defaultWebhook() Webhook {
	return Webhook{Endpoints: []Endpoint{}, Tags: map[string]string{}, TimeoutSeconds: 10, Spool: Spool{MaxMegabytes: 32, MaxAgeHours: 72}}
}

// Bounds of the settings.
const (
	maxEndpoints = 8
	maxTags      = 32
	maxTagName   = 64  // characters
	maxTagValue  = 200 // characters
	maxTimeout   = 20  // seconds; a call has to have time for more than one attempt
	maxMegabytes = 1024
	maxAgeHours  = 24 * 30
)

func (w Webhook) check() error {
	if len(w.Endpoints) > maxEndpoints || len(w.Tags) > maxTags {
		return fmt.Errorf("webhook has more than %d endpoints or %d tags", maxEndpoints, maxTags)
	}
	return cmp.Or(
		between("webhook.timeout_seconds", w.TimeoutSeconds, maxTimeout),
		between("webhook.spool.max_megabytes", w.Spool.MaxMegabytes, maxMegabytes),
		between("webhook.spool.max_age_hours", w.Spool.MaxAgeHours, maxAgeHours),
		w.checkEndpoints(), w.checkTags(), w.checkProxy(),
	)
}

func between(name string, value, most int) error {
	if value < 1 || value > most {
		return fmt.Errorf("%s is %d; it must be from 1 to %d", name, value, most)
	}
	return nil
}

func (w Webhook) checkEndpoints() error {
	seen := map[string]bool{}
	for i, e := range w.Endpoints {
		u, err := target.ParseURL(e.URL)
		if err != nil {
			return fmt.Errorf("webhook.endpoints, number %d: %w", i+1, err)
		}
		if seen[u.String()] {
			return fmt.Errorf("webhook.endpoints names %s twice", u.Shown())
		}
		seen[u.String()] = true
		if err := e.check(); err != nil {
			return fmt.Errorf("webhook.endpoints, number %d: %w", i+1, err)
		}
	}
	return nil
}

// check makes sure that file names cannot lead out of their directory.
func (e Endpoint) check() error {
	for _, name := range []string{e.SecretFile, e.AuthorizationFile, e.HeadersFile, e.CAFile, e.CertificateFile, e.KeyFile} {
		if name != "" && (strings.ContainsAny(name, "/\x00") || name[0] == '.') {
			return fmt.Errorf("%q is not the name of a file in the folder secrets", name)
		}
	}
	if (e.CertificateFile == "") != (e.KeyFile == "") {
		return errors.New("certificate_file and key_file go together")
	}
	return nil
}

func (w Webhook) checkTags() error {
	for _, name := range slices.Sorted(maps.Keys(w.Tags)) {
		value := w.Tags[name]
		switch {
		case name == "" || len(name) > maxTagName || strings.ContainsFunc(name, func(r rune) bool { return !tagRune(r) }):
			return fmt.Errorf("webhook.tags: %q is no name of 1 to %d letters, digits, '-', '_', '.' and '/'", name, maxTagName)
		case sanitize.Text(value, maxTagValue) != value:
			return fmt.Errorf("webhook.tags: the value of %s is longer than %d characters, or holds one that cannot be seen", name, maxTagValue)
		}
	}
	return nil
}

func tagRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)
}

func (w Webhook) checkProxy() error {
	if w.Proxy == "" {
		return nil
	}
	u, err := url.Parse(w.Proxy)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !possiblePort(u) || u.User != nil || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(w.Proxy, "?#") {
		return errors.New("webhook.proxy is not a URL such as http://proxy.example.net:3128, without user name and password")
	}
	return nil
}

// possiblePort reports whether a URL names a port that there can be, or none.
func possiblePort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}
