// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sentinel/internal/atomicfile"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/trust"
)

// StatePath is where the ports of the own rule set are kept for the next boot.
const StatePath = "/var/lib/sentinel/firewall.json"

// setAsideSuffix ends the name of a definition that is not to come back.
const setAsideSuffix = ".old"

// Bounds of the state file.
const (
	maxState = 64 // KiB
	maxPorts = 1000
)

// A stateFile holds the definition of the own rule set: which ports it lets in.
// The owner may edit it.
type stateFile struct {
	path string
}

// A definition is the content.
type definition struct {
	Version int      `json:"version"` // 1
	Allow   []string `json:"allow"`   // "22/tcp"
}

// read returns the ports. present is false when there is no file. A file that
// is damaged or that others can write is an error, never an empty list: it would
// lock the owner out.
func (s stateFile) read() (ports []firewall.Port, present bool, err error) {
	raw, err := trust.RootOnly.Read(s.path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		ports, err = parseState(raw)
	}
	if err != nil {
		return nil, true, fault.Wrap(fault.StateCorrupt, "The definition of the firewall in "+s.path+" cannot be relied on", err).
			WithFix("Look at " + s.path + ". Correct it, then run: sudo sentinel --restore-blocklist. Or remove it, then run: sudo sentinel --fix-firewall")
	}
	return ports, true, nil
}

func parseState(raw []byte) ([]firewall.Port, error) {
	var d definition
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&d); err != nil {
		return nil, err
	}
	if strict.More() || d.Version != 1 || d.Allow == nil || len(d.Allow) > maxPorts {
		return nil, errors.New("it does not have the form {\"version\":1,\"allow\":[\"22/tcp\"]}")
	}
	var ports []firewall.Port
	for _, text := range d.Allow {
		p, err := firewall.ParseOpening(text)
		if err != nil {
			return nil, err
		}
		ports = append(ports, p)
	}
	return ports, nil
}

// remove deletes the file. One that is not there is no error.
func (s stateFile) remove() error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(s.path))
}

// setAside renames the file, over one that was set aside before. moved is false when there is none.
func (s stateFile) setAside() (moved bool, err error) {
	err = os.Rename(s.path, s.path+setAsideSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, errors.Join(err, atomicfile.SyncDir(filepath.Dir(s.path)))
}

// fits refuses more ports than are read back.
func fits(ports []firewall.Port) error {
	if len(ports) <= maxPorts {
		return nil
	}
	return fault.New(fault.FirewallFailed, fmt.Sprintf("It would let in %d ports, and at most %d are kept for the next boot", len(ports), maxPorts)).
		WithFix("Take out of " + StatePath + " what need not be open, then run: sudo sentinel --restore-blocklist")
}

// write replaces the file. It is atomic.
func (s stateFile) write(ports []firewall.Port) error {
	if err := fits(ports); err != nil {
		return err
	}
	d := definition{Version: 1, Allow: []string{}}
	for _, p := range ports {
		d.Allow = append(d.Allow, p.String())
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	directory := filepath.Dir(s.path)
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // the directory is for everyone to look into
		return err
	}
	if err := trust.RootOnly.File(directory); err != nil {
		return err
	}
	if err := atomicfile.Write(s.path, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	return nil
}
