// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"sentinel/internal/target"
)

// OTLP names the OpenTelemetry Collector that reports go to as well. Proxy, timeout, tags and spool are
// those of the webhook.
type OTLP struct {
	// Endpoint is the base URL of its receiver over HTTP; "" means none.
	Endpoint          string `yaml:"endpoint"`
	AuthorizationFile string `yaml:"authorization_file,omitempty"` // value of the Authorization header
	HeadersFile       string `yaml:"headers_file,omitempty"`       // further headers, one per line
	CAFile            string `yaml:"ca_file,omitempty"`            // certificates (PEM) to trust instead of the system's
	CertificateFile   string `yaml:"certificate_file,omitempty"`   // of this client (PEM)
	KeyFile           string `yaml:"key_file,omitempty"`
}

// Signals are what is sent over OTLP, as the specification of OTLP/HTTP names their paths.
const (
	metricsPath = "/v1/metrics"
	logsPath    = "/v1/logs"
)

// Metrics returns where metrics go.
func (o OTLP) Metrics() Endpoint { return o.at(metricsPath) }

// Logs returns where log records go.
func (o OTLP) Logs() Endpoint { return o.at(logsPath) }

func (o OTLP) at(path string) Endpoint {
	return Endpoint{
		URL: strings.TrimSuffix(o.Endpoint, "/") + path, AuthorizationFile: o.AuthorizationFile, HeadersFile: o.HeadersFile,
		CAFile: o.CAFile, CertificateFile: o.CertificateFile, KeyFile: o.KeyFile,
	}
}

// check accepts files without an endpoint: another file of the configuration may name that, or take it away.
func (o OTLP) check() error {
	if err := o.Metrics().check(); err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	if o.Endpoint == "" {
		return nil
	}
	if _, err := target.ParseURL(o.Endpoint); err != nil {
		return fmt.Errorf("otlp.endpoint: %w", err)
	}
	base := strings.TrimSuffix(o.Endpoint, "/")
	if strings.Contains(base, "?") || strings.HasSuffix(base, metricsPath) || strings.HasSuffix(base, logsPath) {
		return fmt.Errorf("otlp.endpoint is not a base URL such as https://otel.example.com:4318, to which %s and %s are added", metricsPath, logsPath)
	}
	return nil
}
