// SPDX-License-Identifier: Apache-2.0

// Package config reads the configuration of sentinel: one strict YAML file,
// owned by root, with a documented default for every key.
//
// A missing file means the defaults. A file that cannot be read, that someone
// else could have written, or that holds a key sentinel does not know is an error:
// a guard that silently falls back to its defaults guards nothing.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/fault"
	"sentinel/internal/trust"
)

// DefaultPath is where the configuration lives unless --config names another
// file.
const DefaultPath = "/etc/sentinel/config.yaml"

// maxSize is the largest configuration in bytes.
const maxSize = 64 << 10

// A Config is the whole configuration, defaults filled in.
type Config struct {
	// AgentID names this host in documents; "" means SENTINEL-<short hostname>.
	AgentID string `yaml:"agent_id"`
	// Thresholds decide threat_level.
	Thresholds Thresholds `yaml:"thresholds"`
}

// Default returns the configuration that holds without a file.
func Default() Config { return Config{Thresholds: defaultThresholds()} }

// Load reads the configuration at path. required says that somebody named the
// file, so that its absence is an error. Every error is CONFIG_INVALID.
func Load(path string, required bool) (Config, error) {
	raw, err := read(path)
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

// read returns the content of path after checking who could have written it.
// The check is made on the opened file and on the folders above it.
func read(path string) ([]byte, error) {
	if err := trust.RootOrSelf.Folders(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if err := trust.RootOrSelf.Info(path, info); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(raw) > maxSize {
		return nil, fmt.Errorf("it is larger than %d KiB", maxSize>>10)
	}
	return raw, err
}

// parse decodes and checks one YAML document. An empty one is the defaults.
func parse(raw []byte) (Config, error) {
	c := Default()
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, plain(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("it holds more than one YAML document")
	}
	if err := checkAgentID(c.AgentID); err != nil {
		return Config{}, err
	}
	return c, c.Thresholds.check()
}

// plain rewrites the errors of the YAML library, which name Go types, for
// people who write configuration. The line stays.
func plain(err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	unknownKey := regexp.MustCompile(`field (\S+) not found in type \S+`)
	var lines []string
	for _, e := range wrong.Errors {
		e = unknownKey.ReplaceAllString(e, "there is no setting $1")
		e, _, _ = strings.Cut(e, " into ")
		lines = append(lines, e)
	}
	return errors.New(strings.Join(lines, "; "))
}

// checkAgentID keeps the id usable as a label: it ends up in documents of
// fleets, in file names and in headers.
func checkAgentID(id string) error {
	const most = 64
	if len(id) > most {
		return fmt.Errorf("agent_id is longer than %d characters", most)
	}
	for _, r := range id {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '-' && r != '_' && r != '.' {
			return fmt.Errorf("agent_id holds %q; letters, digits, '-', '_' and '.' are allowed", r)
		}
	}
	return nil
}

func invalid(path string, err error) error {
	return fault.Wrap(fault.ConfigInvalid, "The configuration "+path+" cannot be used", err)
}
