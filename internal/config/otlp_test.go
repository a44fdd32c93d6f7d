// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

func TestTheCollectorIsRead(t *testing.T) {
	for base, want := range map[string]string{
		"https://otel.example.com:4318": "https://otel.example.com:4318/v1/metrics", "https://otel.example.com/": "https://otel.example.com/v1/metrics",
		"https://otel.example.com/otlp/": "https://otel.example.com/otlp/v1/metrics", "http://127.0.0.1:4318": "http://127.0.0.1:4318/v1/metrics",
	} {
		c, err := parse([]byte(`otlp: {endpoint: "` + base + `", authorization_file: token, headers_file: headers, ca_file: ca.pem, certificate_file: crt, key_file: key}`))
		if err != nil {
			t.Fatal(err)
		}
		m := c.OTLP.Metrics()
		if m != (Endpoint{URL: want, AuthorizationFile: "token", HeadersFile: "headers", CAFile: "ca.pem", CertificateFile: "crt", KeyFile: "key"}) {
			t.Errorf("%+v", m)
		}
		if l := c.OTLP.Logs(); l.URL != strings.Replace(want, "metrics", "logs", 1) || l.KeyFile != "key" {
			t.Errorf("%+v", l)
		}
	}
	if o := Default().OTLP; o != (OTLP{}) {
		t.Errorf("%+v", o)
	}
	c, err := parse([]byte("otlp: {ca_file: ca.pem}\n"))
	if err == nil {
		err = c.parse([]byte("otlp: {endpoint: 'https://otel.example.com'}\n"))
	}
	if err != nil || c.OTLP.Metrics().CAFile != "ca.pem" {
		t.Errorf("in two files: %+v, %v", c.OTLP, err)
	}
	if err := c.parse([]byte("otlp: {endpoint: ''}\n")); err != nil || c.OTLP.Endpoint != "" {
		t.Errorf("taken away: %+v, %v", c.OTLP, err)
	}
}

func TestACollectorIsRefusedWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"endpoint: otel.example.com:4318":                                     "otlp.endpoint: It is not a URL of plain characters",
		"endpoint: 'http://otel.example.com:4318'":                            "http:// is for receivers on this machine alone",
		"endpoint: 'https://me:secret@otel.example.com'":                      "holds a user name or a password",
		"endpoint: 'https://169.254.169.254'":                                 "Nothing is sent to 169.254.169.254",
		"endpoint: 'https://otel.example.com/v1/logs'":                        "otlp.endpoint is not a base URL",
		"endpoint: 'https://otel.example.com/v1/metrics/'":                    "otlp.endpoint is not a base URL",
		"endpoint: 'https://otel.example.com/?key=secret'":                    "otlp.endpoint is not a base URL",
		"endpoint: 'https://otel.example.com', headers_file: ../shadow":       `otlp: "../shadow" is not the name of a file`,
		"endpoint: 'https://otel.example.com', key_file: key":                 "otlp: certificate_file and key_file go together",
		"endpoint: 'https://otel.example.com', secret_file: key":              "there is no setting secret_file",
		"endpoint: 'https://otel.example.com', headers: {authorization: abc}": "there is no setting headers",
		"ca_file: /etc/ca.pem":                                                `otlp: "/etc/ca.pem" is not the name of a file`,
	} {
		_, err := parse([]byte("otlp: {" + text + "}\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "key=secret") || strings.Contains(err.Error(), "me:secret") {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}
