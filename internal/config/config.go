// SPDX-License-Identifier: Apache-2.0

// Package config reads the configuration of sentinel: one strict YAML file, owned
// by root, with a documented default for every key.
//
// A missing file means the defaults. A file that cannot be read, that somebody else
// could have written, or that holds an unknown key is an error: a security tool
// must not fall back to its defaults silently.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/identity"
	"sentinel/internal/trust"
)

// DefaultPath is the configuration file unless --config names another.
const DefaultPath = "/etc/sentinel/config.yaml"

// maxSize is the largest configuration file, in KiB.
const maxSize = 64

// A Config is the whole configuration, with defaults filled in.
type Config struct {
	// AgentID names this host in documents; "" means SENTINEL-<short hostname>.
	AgentID string `yaml:"agent_id"`
	// Thresholds are the bounds behind threat_level.
	Thresholds Thresholds `yaml:"thresholds"`
	// Policy limits callers that use sudo.
	Policy Policy `yaml:"policy"`
	// Protect lists addresses, processes and services that must not be touched.
	Protect Protect `yaml:"protect"`
	// Scan limits what scan_ports may scan.
	Scan Scan `yaml:"scan"`
	// Audit holds the settings of security_audit.
	Audit Audit `yaml:"audit"`
	// Webhook lists the receivers of telemetry.
	Webhook Webhook `yaml:"webhook"`
}

// Default returns the configuration that applies without a file.
func Default() Config {
	return Config{
		Thresholds: Thresholds(health.DefaultThresholds()), Policy: defaultPolicy(), Protect: defaultProtect(), Scan: defaultScan(), Audit: Audit{Exempt: []Exemption{}},
		Webhook: defaultWebhook(),
	}
}

// Load reads the configuration at path. If required, because somebody named the
// file, a missing file is an error. Every error is CONFIG_INVALID.
func Load(path string, required bool) (Config, error) {
	raw, err := trust.RootOrSelf.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return Default(), nil
	}
	if err != nil {
		return Config{}, invalid(path, err)
	}
	c, err := parse(raw)
	if err != nil {
		return Config{}, invalid(path, err)
	}
	return c, nil
}

// parse decodes and checks one YAML document. An empty one yields the defaults.
func parse(raw []byte) (Config, error) {
	c := Default()
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, readableError(err)
	}
	if c.Thresholds == nil { // the key has no value
		c.Thresholds = Default().Thresholds
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("it holds more than one YAML document")
	}
	if err := checkAgentID(c.AgentID); err != nil {
		return Config{}, err
	}
	return c, cmp.Or(c.Thresholds.check(), c.Policy.check(), c.Protect.check(), c.Scan.check(), c.Audit.check(), c.Webhook.check())
}

// readableError rewrites errors of the YAML library, which name Go types, for the
// people who write the configuration. Line numbers stay.
func readableError(err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	unknownKey := regexp.MustCompile(`field (\S+) not found in type \S+`)
	var lines []string
	for _, e := range wrong.Errors {
		e = unknownKey.ReplaceAllString(e, "there is no setting $1")
		e, kind, _ := strings.Cut(e, " into ")
		if strings.Contains(kind, "health.Level") {
			e += "; write {warning: N, critical: N}"
		}
		lines = append(lines, e)
	}
	return errors.New(strings.Join(lines, "; "))
}

// checkAgentID makes sure that the ID can be used as a label.
func checkAgentID(id string) error {
	if len(id) > identity.MaxAgentID {
		return fmt.Errorf("agent_id is longer than %d characters", identity.MaxAgentID)
	}
	for _, r := range id {
		if !identity.Allowed(r) {
			return fmt.Errorf("agent_id holds %q; letters, digits, '-', '_' and '.' are allowed", r)
		}
	}
	return nil
}

// invalid reports what is wrong with the file at path, and how to fix it.
func invalid(path string, err error) error {
	e := fault.Wrap(fault.ConfigInvalid, "The configuration "+path+" cannot be used", err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.WithFix("Create the file, or leave --config out to use the defaults.")
	case errors.Is(err, fs.ErrPermission):
		return e.WithFix("Let everyone read it: chmod 0644 " + path)
	default:
		return e
	}
}
