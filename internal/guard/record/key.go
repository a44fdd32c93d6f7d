// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
)

const (
	keyName  = "log.key"
	signerID = "sentinel-guard"
)

// A key signs the head and keys the digests of values.
type key struct {
	signer   note.Signer
	verifier note.Verifier
	public   string // the verifier as text
	digests  []byte
}

// loadKey reads the key below dir. Where there is none it is made when that is wanted: of several
// guards that start at once one makes it, and the others read that.
func loadKey(dir string, create bool) (key, error) {
	path := filepath.Join(dir, keyName)
	raw, err := trust.RootOrSelf.Read(path, 1)
	if errors.Is(err, fs.ErrNotExist) && create {
		secret, public, err := note.GenerateKey(rand.Reader, signerID)
		if err != nil {
			return key{}, err
		}
		err = atomicfile.Create(path, []byte(secret+"\n"+public+"\n"), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return key{}, err
		}
		return loadKey(dir, false)
	}
	if err != nil {
		return key{}, err
	}
	lines := strings.Split(string(raw), "\n")
	if len(lines) != 3 {
		return key{}, fmt.Errorf("%s is damaged; move it away, and all that was signed with it can no longer be verified", path)
	}
	signer, err := note.NewSigner(lines[0])
	if err != nil {
		return key{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	verifier, err := note.NewVerifier(lines[1])
	if err != nil || verifier.KeyHash() != signer.KeyHash() {
		return key{}, fmt.Errorf("%s is damaged: its halves do not fit", path)
	}
	mac := hmac.New(sha256.New, []byte(lines[0]))
	mac.Write([]byte("sentinel-guard digests of values"))
	return key{signer, verifier, lines[1], mac.Sum(nil)}, nil
}
