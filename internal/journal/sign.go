// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sentinel/internal/atomicfile"
)

// Every user can write to syslog under any name, so a head there proves nothing by itself. It is signed
// with a key that root alone can read, and names the public half of it. Whoever became root can sign, too,
// but cannot take back what syslog has sent elsewhere: two signed heads with one number convict.
const (
	keyName   = "journal-key"
	maxKey    = 16 << 10 // bytes
	keyAge    = 365 * 24 * time.Hour
	maxFormer = 100 // public keys that are kept
)

// A keyring is the key that signs, and the public halves of those before it. It is made anew when it is
// a year old, or when somebody removes the file.
type keyring struct {
	Seed   []byte    `json:"seed"`
	Since  time.Time `json:"since"`
	Former [][]byte  `json:"former"` // public keys, the newest last
}

// An Announcement is a head as syslog gets it. Its signatures are empty where no key could be made.
type Announcement struct {
	Head
	Key, Signature, FirstSignature []byte
}

// signedText is what the first signature is of, the only one of earlier versions, which pass over the other.
func signedText(seq uint64, hash string) []byte {
	return fmt.Appendf(nil, "sentinel journal head seq=%d hash=%s", seq, hash)
}

// signedFirst is what the other signature is of: where the journal began when it ended with this record.
func (h Head) signedFirst() []byte {
	return fmt.Appendf(signedText(h.Seq, h.Hash), " first=%d", h.First)
}

// text is the line without what syslog puts before it.
func (a Announcement) text() string {
	line := fmt.Sprintf("journal head seq=%d hash=%s", a.Seq, a.Hash)
	if len(a.Signature) == 0 {
		return line + " unsigned"
	}
	encode := base64.RawStdEncoding.EncodeToString
	return line + " key=" + encode(a.Key) + " sig=" + encode(a.Signature) + fmt.Sprintf(" first=%d first_sig=%s", a.First, encode(a.FirstSignature))
}

// announcement signs a head. The lock is held, so that two processes do not make two keys.
func (j *Journal) announcement(h Head) Announcement {
	k, err := j.currentKey()
	if err != nil {
		return Announcement{Head: h}
	}
	private := ed25519.NewKeyFromSeed(k.Seed)
	return Announcement{h, k.public(), ed25519.Sign(private, signedText(h.Seq, h.Hash)), ed25519.Sign(private, h.signedFirst())}
}

func (k keyring) public() []byte {
	public, _ := ed25519.NewKeyFromSeed(k.Seed).Public().(ed25519.PublicKey)
	return public
}

// currentKey reads the key, and makes one where there is none, or an old one.
func (j *Journal) currentKey() (keyring, error) {
	k, err := j.readKeys()
	age := j.now().Sub(k.Since)
	switch {
	case err == nil && age < keyAge:
		return k, nil
	case err == nil:
		k.Former = append(k.Former, k.public())
		k.Former = k.Former[max(0, len(k.Former)-maxFormer):]
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errKey):
		return keyring{}, err
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return keyring{}, err
	}
	k.Seed, k.Since = private.Seed(), j.now().UTC().Truncate(time.Second)
	raw, err := json.Marshal(k)
	if err != nil {
		return keyring{}, err
	}
	return k, atomicfile.Write(filepath.Join(j.headDir, keyName), append(raw, '\n'), 0o600)
}

var errKey = errors.New("the key of the journal is damaged")

func (j *Journal) readKeys() (keyring, error) {
	f, err := openTrusted(filepath.Join(j.headDir, keyName), os.O_RDONLY)
	if err != nil {
		return keyring{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return keyring{}, err
	}
	var k keyring
	wrong := func(key []byte) bool { return len(key) != ed25519.PublicKeySize }
	if json.Unmarshal(raw, &k) != nil || len(k.Seed) != ed25519.SeedSize || len(k.Former) > maxFormer || slices.ContainsFunc(k.Former, wrong) {
		return keyring{}, errKey
	}
	return k, nil
}
