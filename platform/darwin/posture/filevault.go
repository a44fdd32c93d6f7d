// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"context"
	"math"
	"strconv"
	"strings"

	"sentinel/internal/sysexec"
)

// A Vault is a state of FileVault.
type Vault string

// The states of FileVault.
const (
	VaultOn         Vault = "on"
	VaultOff        Vault = "off"
	VaultEncrypting Vault = "encrypting" // on, and the disk is not completely encrypted yet
	VaultDecrypting Vault = "decrypting" // turned off, and the disk is not completely decrypted yet
	VaultDeferred   Vault = "deferred"   // off, and will be turned on when a user logs in or out
	VaultRestart    Vault = "restart"    // off until the next restart
)

// A FileVault is the encryption state of the startup disk.
type FileVault struct {
	State Vault
	// Percent is the progress of encryption or decryption, 0 to 100; nil if unknown.
	Percent *float64
	// Unfinished means that the change needs a restart to finish.
	Unfinished bool
}

// ReadFileVault asks fdesetup(8), which needs no root.
func ReadFileVault(ctx context.Context, runner sysexec.Runner) (FileVault, error) {
	r, err := run(ctx, runner, "/usr/bin/fdesetup", "status")
	if err != nil {
		return FileVault{}, err
	}
	return ParseFileVault(r.Stdout)
}

// ParseFileVault parses the output of fdesetup status: a sentence about the state,
// and others about the progress (macOS 10.13 to 26).
func ParseFileVault(out []byte) (FileVault, error) {
	said, found := lineAfter(out, "FileVault is ")
	if !found {
		return FileVault{}, ErrFormat
	}
	word, more, _ := strings.Cut(said, ",")
	on, err := onOff(word, true, "On", "Off")
	if err != nil {
		return FileVault{}, err
	}
	v := FileVault{State: VaultOff, Unfinished: strings.Contains(more, "needs to be restarted")}
	if on {
		v.State = VaultOn
	}
	if strings.Contains(more, "will be enabled after the next restart") {
		v.State = VaultRestart
	}
	v.setProgress(out)
	return v, nil
}

// setProgress reads the sentences after the first. Some releases write "Percent",
// others "percent".
func (v *FileVault) setProgress(out []byte) {
	for _, p := range []struct {
		sentence string
		state    Vault
	}{{"Encryption in progress:", VaultEncrypting}, {"Decryption in progress:", VaultDecrypting}} {
		if rest, found := lineAfter(out, p.sentence); found {
			v.State, v.Percent = p.state, percent(rest)
			return
		}
	}
	if _, deferred := lineAfter(out, "Deferred enablement appears to be active"); deferred && v.State == VaultOff {
		v.State = VaultDeferred
	}
}

// percent parses "Percent completed = 42".
func percent(s string) *float64 {
	_, number, _ := strings.Cut(s, "=")
	p, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(number), "%")), 64)
	if err != nil || math.IsNaN(p) || p < 0 || p > 100 {
		return nil
	}
	return &p
}
