// SPDX-License-Identifier: Apache-2.0

// Package config reads the configuration of sentinel: strict YAML files, owned
// by root, with a documented default for every key.
//
// What stands in the file is overridden by the files of the directory beside it, in the order
// of their names. Missing files mean the defaults. A file that cannot be read, that somebody else
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
	"maps"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/identity"
	"sentinel/internal/remote"
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
	// Hosts lists other machines that tools may be run on over SSH, as ssh takes their names.
	Hosts []string `yaml:"hosts"`
	// Webhook lists the receivers of telemetry.
	Webhook Webhook `yaml:"webhook"`
	// Record holds the settings of the flight recorder.
	Record Record `yaml:"record"`
	// OTLP names an OpenTelemetry Collector that gets it, too.
	OTLP OTLP `yaml:"otlp"`

	// Files lists those that it was read from, in their order.
	Files []string `yaml:"-"`
}

// Default returns the configuration that applies without a file.
func Default() Config {
	return Config{
		Thresholds: Thresholds(health.DefaultThresholds()), Policy: defaultPolicy(), Protect: defaultProtect(), Scan: defaultScan(), Audit: Audit{Exempt: []Exemption{}},
		Hosts: []string{}, Webhook: defaultWebhook(), Record: Record{Enabled: true, Resolver: true},
	}
}

// Load reads the configuration at path and the files of the directory beside it.
// A file that somebody named is required, and is the whole configuration. Every error is
// CONFIG_INVALID.
func Load(path string, named bool) (Config, error) {
	c := Default()
	err := c.add(path)
	if named || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c.orInvalid(path, err)
	}
	dir := filepath.Join(filepath.Dir(path), DropInDir)
	names, err := dropIns(dir)
	if err != nil {
		return c.orInvalid(dir, err)
	}
	for _, name := range names {
		if err := c.add(filepath.Join(dir, name)); err != nil {
			return c.orInvalid(filepath.Join(dir, name), err)
		}
	}
	return c, nil
}

func (c Config) orInvalid(path string, err error) (Config, error) {
	if err != nil {
		return Config{}, invalid(path, err)
	}
	return c, nil
}

// add reads one file on top of what is known already.
func (c *Config) add(path string) error {
	raw, err := trust.RootOrSelf.Read(path, maxSize)
	if err != nil {
		return err
	}
	if err := c.parse(raw); err != nil {
		return err
	}
	c.Files = append(c.Files, path)
	return nil
}

// parse decodes one YAML document on top of c and checks the result. An empty one
// changes nothing. A list replaces the one before it.
func (c *Config) parse(raw []byte) error {
	before := *c
	before.Thresholds = maps.Clone(c.Thresholds)
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return readableError(err)
	}
	if err := checkNumbers(raw); err != nil {
		return err
	}
	c.keepWithoutValue(before)
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one YAML document")
	}
	return cmp.Or(checkAgentID(c.AgentID), c.Thresholds.check(), c.Policy.check(), c.Protect.check(), c.Scan.check(), c.Audit.check(), checkHosts(c.Hosts), c.Webhook.check(), c.OTLP.check())
}

// checkNumbers rejects a number that begins with 0: to YAML 1.1, and to its library, 010 is 8.
func checkNumbers(raw []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(raw, &root); err != nil {
		return err
	}
	if n := octal(&root); n != nil {
		return fmt.Errorf("line %d: %s begins with 0; write the number without it", n.Line, n.Value)
	}
	return nil
}

// octal finds the first such number. Lists, agent_id and tags are of texts, which may begin with 0. What an alias
// stands for is looked at where it stands, since an anchor may contain itself.
func octal(n *yaml.Node) *yaml.Node {
	switch n.Kind {
	case yaml.DocumentNode:
		return octal(n.Content[0])
	case yaml.ScalarNode:
		if n.ShortTag() != "!!str" && leadingZero(n.Value) {
			return n
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; key == "agent_id" || key == "tags" {
				continue
			}
			if found := octal(n.Content[i+1]); found != nil {
				return found
			}
		}
	}
	return nil
}

func leadingZero(number string) bool {
	digits, zero := strings.CutPrefix(strings.TrimLeft(number, "+-"), "0")
	return zero && digits != "" && strings.ContainsRune("0123456789_", rune(digits[0]))
}

// keepWithoutValue takes back what keys without a value have emptied, such as one whose list was
// commented out: that switches off no policy of a file before. "[]" empties a list.
func (c *Config) keepWithoutValue(before Config) {
	if c.Thresholds == nil {
		c.Thresholds = before.Thresholds
	}
	if c.Webhook.Tags == nil {
		c.Webhook.Tags = before.Webhook.Tags
	}
	keep(&c.Webhook.Endpoints, before.Webhook.Endpoints)
	keep(&c.Policy.DisabledTools, before.Policy.DisabledTools)
	keep(&c.Policy.EnabledTools, before.Policy.EnabledTools)
	keep(&c.Protect.Addresses, before.Protect.Addresses)
	keep(&c.Protect.Processes, before.Protect.Processes)
	keep(&c.Protect.Services, before.Protect.Services)
	keep(&c.Scan.Targets, before.Scan.Targets)
	keep(&c.Audit.Exempt, before.Audit.Exempt)
	keep(&c.Hosts, before.Hosts)
}

func keep[T any](list *[]T, before []T) {
	if *list == nil {
		*list = before
	}
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

// checkHosts makes sure that ssh can be given each name.
func checkHosts(names []string) error {
	if err := remote.CheckNames(names); err != nil {
		return fmt.Errorf("hosts: %w", err)
	}
	return nil
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
		return e.WithFix("Create the file, or leave out what names it to use the defaults.")
	case errors.Is(err, fs.ErrPermission):
		return e.WithFix("Let everyone read it: chmod 0644 " + path)
	default:
		return e
	}
}
