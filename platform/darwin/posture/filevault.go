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
	VaultEncrypting Vault = "encrypting" // on, and not all of the disk is encrypted yet
	VaultDecrypting Vault = "decrypting" // switched off, and not all of the disk is decrypted yet
	VaultDeferred   Vault = "deferred"   // off, and will be switched on when a user logs in or out
	VaultRestart    Vault = "restart"    // off, and will be on after the next restart
)

// A FileVault is how far the disk that the system starts from is encrypted.
type FileVault struct {
	State Vault
	// Percent is how much is done while it encrypts or decrypts, 0 to 100; nil when it is
	// not known.
	Percent *float64
	// Unfinished says that a restart is needed to finish what was begun.
	Unfinished bool
}

// ReadFileVault asks fdesetup(8), which needs no root for it.
func ReadFileVault(ctx context.Context, runner sysexec.Runner) (FileVault, error) {
	r, err := ask(ctx, runner, "/usr/bin/fdesetup", "status")
	if err != nil {
		return FileVault{}, err
	}
	return ParseFileVault(r.Stdout)
}

// ParseFileVault reads what fdesetup status prints: one sentence about the
// state, and others about what goes on (macOS 10.13 to 26).
func ParseFileVault(out []byte) (FileVault, error) {
	said, found := after(out, "FileVault is ")
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
	v.goingOn(out)
	return v, nil
}

// goingOn takes the sentences after the first. The number is taken where it is
// one: some releases write "Percent", some "percent".
func (v *FileVault) goingOn(out []byte) {
	for _, p := range []struct {
		sentence string
		state    Vault
	}{{"Encryption in progress:", VaultEncrypting}, {"Decryption in progress:", VaultDecrypting}} {
		if rest, found := after(out, p.sentence); found {
			v.State, v.Percent = p.state, percent(rest)
			return
		}
	}
	if _, deferred := after(out, "Deferred enablement appears to be active"); deferred && v.State == VaultOff {
		v.State = VaultDeferred
	}
}

// percent reads "Percent completed = 42".
func percent(s string) *float64 {
	_, number, _ := strings.Cut(s, "=")
	p, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(number), "%")), 64)
	if err != nil || math.IsNaN(p) || p < 0 || p > 100 {
		return nil
	}
	return &p
}
