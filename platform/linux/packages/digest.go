// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"crypto/md5"  //nolint:gosec // dpkg holds nothing better
	"crypto/sha1" //nolint:gosec // apk holds nothing better
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"
)

// maxHashed bounds a file whose digest is computed, in bytes.
const maxHashed = 256 << 20

var (
	errNoDigest = errors.New("the package data hold no digest of it")
	errTooBig   = errors.New("it is too big to read")
)

// Same reports whether what r has is the content that was packaged. It reads r whole, at most 256 MiB.
func (f File) Same(r io.Reader) (bool, error) {
	h := hasher(f.Digest)
	if h == nil {
		return false, errNoDigest
	}
	n, err := io.Copy(h, io.LimitReader(r, maxHashed+1))
	switch {
	case err != nil:
		return false, err
	case n > maxHashed:
		return false, errTooBig
	}
	return hex.EncodeToString(h.Sum(nil)) == f.Digest, nil
}

// hasher returns the function that makes digests of this length; nil for none.
func hasher(digest string) hash.Hash {
	switch len(digest) {
	case 2 * md5.Size:
		return md5.New() //nolint:gosec // see above
	case 2 * sha1.Size:
		return sha1.New() //nolint:gosec // see above
	case 2 * sha256.Size:
		return sha256.New()
	default:
		return nil
	}
}

func isDigest(text string) bool {
	return hasher(text) != nil && strings.Trim(text, "0123456789abcdef") == ""
}
