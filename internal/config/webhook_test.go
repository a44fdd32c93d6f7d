// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sentinel/internal/target"
)

func TestWebhookSettingsAreRead(t *testing.T) {
	c, err := parse([]byte(`webhook:
  endpoints:
    - {url: "https://Hooks.example.com:443/in", secret_file: key, authorization_file: token, headers_file: headers, ca_file: ca.pem, certificate_file: crt, key_file: key.pem}
    - url: http://127.0.0.1:8080/
  tags: {role: web, "site/rack": "north 7"}
  proxy: http://proxy.example.net:3128
  timeout_seconds: 5
  spool: {max_megabytes: 1, max_age_hours: 24}
`))
	if err != nil {
		t.Fatal(err)
	}
	w := c.Webhook
	if w.Timeout() != 5*time.Second || w.Spool.MaxBytes() != 1<<20 || w.Spool.MaxAge() != 24*time.Hour || w.Tags["site/rack"] != "north 7" {
		t.Errorf("%+v", w)
	}
	for text, want := range map[string]string{
		"https://hooks.example.com/in": "key", "https://hooks.example.com./in": "key", "https://hooks.example.com/in?x": "-", "https://hooks.example.com/": "-",
		"https://hooks.example.com:8443/in": "-", "http://127.0.0.1:8080": "",
	} {
		u, err := target.ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		e, found := w.Endpoint(u)
		if got := map[bool]string{true: e.SecretFile, false: "-"}[found]; got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	if d := Default().Webhook; d.Timeout() != 10*time.Second || d.Spool.MaxBytes() != 32<<20 || d.Spool.MaxAge() != 72*time.Hour {
		t.Errorf("%+v", d)
	}
}

func TestWebhookSettingsAreRefusedWithTheReason(t *testing.T) {
	many := ""
	for n := range 9 {
		many += fmt.Sprintf("{url: 'https://%d.example.com'},", n)
	}
	for text, want := range map[string]string{
		"endpoints: [{}]": "number 1: The URL does not begin with https://",
		"endpoints: [{url: 'http://example.com/'}]":                                    "number 1: http:// is for receivers on this machine alone",
		"endpoints: [{url: 'https://a:b@example.com/'}]":                               "holds a user name or a password",
		"endpoints: [{url: 'https://169.254.169.254/'}]":                               "Nothing is sent to 169.254.169.254",
		"endpoints: [{url: 'https://example.com/'}, {url: 'https://EXAMPLE.com:443'}]": "names https://example.com twice",
		"endpoints: [{url: 'https://example.com/', secret_file: ../shadow}]":           `"../shadow" is not the name of a file`,
		"endpoints: [{url: 'https://example.com/', ca_file: /etc/ssl/x.pem}]":          `"/etc/ssl/x.pem" is not the name of a file`,
		"endpoints: [{url: 'https://example.com/', headers_file: .hidden}]":            `".hidden" is not the name of a file`,
		"endpoints: [{url: 'https://example.com/', certificate_file: crt}]":            "certificate_file and key_file go together",
		"endpoints: [{url: 'https://example.com/', secret: x}]":                        "there is no setting secret",
		"endpoints: [" + many + "]":                                                    "more than 8 endpoints",
		"tags: {'a b': x}":                                                             `"a b" is no name`,
		"tags: {'': x}":                                                                `"" is no name`,
		`tags: {a: "x\u202e"}`:                                                         "the value of a is longer",
		"tags: {a: " + strings.Repeat("x", 201) + "}":                                  "the value of a is longer",
		"timeout_seconds: 0":                                                           "webhook.timeout_seconds is 0; it must be from 1 to 20",
		"timeout_seconds: 21":                                                          "must be from 1 to 20",
		"spool: {max_megabytes: 0}":                                                    "webhook.spool.max_megabytes is 0",
		"spool: {max_age_hours: 721}":                                                  "webhook.spool.max_age_hours is 721",
		"timeout_seconds: 010":                                                         "line 2: 010 begins with 0",
		"timeout_seconds: !!int '010'":                                                 "line 2: 010 begins with 0",
		"timeout_seconds: 09":                                                          "line 2: ",
		"spool: {max_megabytes: +0_10}":                                                "line 2: +0_10 begins with 0",
		"proxy: 'http://p:99999'":                                                      "webhook.proxy is not a URL",
		"proxy: 'http://p:0'":                                                          "webhook.proxy is not a URL",
		"proxy: 'http://p:'":                                                           "webhook.proxy is not a URL",
		"proxy: 'http://p:3128/#x'":                                                    "webhook.proxy is not a URL",
		"proxy: 'http://p:3128/?'":                                                     "webhook.proxy is not a URL",
		"proxy: 'socks5://proxy.example.net'":                                          "webhook.proxy is not a URL",
		"proxy: 'http://me:secret@proxy.example.net'":                                  "webhook.proxy is not a URL",
		"proxy: 'proxy.example.net:3128'":                                              "webhook.proxy is not a URL",
	} {
		_, err := parse([]byte("webhook:\n  " + text + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestANumberIsTakenLiterallyOrNotAtAll(t *testing.T) {
	for text, want := range map[string]string{
		"thresholds: {disk: {warning: 050}}":                      "line 1: 050 begins with 0",
		"thresholds:\n  cpu: &level {warning: 10, critical: 090}": "line 2: 090 begins with 0",
		"thresholds: {load_per_core: {warning: 0.5}}":             "",
		"agent_id: 007": "",
		"webhook: {tags: {site: 0123}, proxy: 'https://p:65535/'}": "",
		"protect: {processes: [007]}":                              "",
		"":                                                         "",
	} {
		c, err := parse([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if site, given := c.Webhook.Tags["site"]; given && site != "0123" || c.AgentID != "" && c.AgentID != "007" {
			t.Errorf("%q: %+v", text, c)
		}
	}
}
