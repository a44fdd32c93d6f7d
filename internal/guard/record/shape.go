// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"sentinel/internal/jsonrpc"
	"sentinel/internal/sanitize"
)

// Bounds of a shape.
const (
	maxShaped  = 256 << 10 // bytes of a value that is looked at
	maxMembers = 24        // in all
	maxDepth   = 3
	maxName    = 64
)

// value returns what is kept of a value: size, digest and, if wanted, its shape and content. The digest is
// keyed, because short values could be guessed.
func (l *Log) value(raw []byte, shaped bool) *Value {
	if raw == nil {
		return nil
	}
	v := &Value{Size: len(raw), Digest: l.digest(raw)}
	if shaped && len(raw) <= maxShaped {
		left := maxMembers
		v.Shape, _ = json.Marshal(shape(raw, maxDepth, &left)) //nolint:errcheck // of texts and maps alone
	}
	if l.options.Values != nil && l.options.Values() {
		v.Content, v.Whole = content(raw)
	}
	return v
}

// digest is "" while there is no key, and so no record either.
func (l *Log) digest(raw []byte) string {
	mac, ok := l.macs.Get().(hash.Hash)
	if !ok {
		l.mu.Lock() // waits for Open
		key := l.digestKey
		l.mu.Unlock()
		if key == nil {
			return ""
		}
		mac = hmac.New(sha256.New, key)
	}
	defer l.macs.Put(mac)
	mac.Reset()
	mac.Write(raw)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil))
}

// shape returns the names and kinds of a value and nothing of what it says.
func shape(raw []byte, depth int, left *int) any {
	switch raw[0] {
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '[':
		return "array"
	case '{':
	default:
		return "number"
	}
	members, ok := jsonrpc.ParseObject(raw)
	if !ok || depth == 0 {
		return "object"
	}
	shapes := map[string]any{}
	for _, m := range members {
		if *left--; *left < 0 {
			shapes["…"] = "more"
			break
		}
		shapes[sanitize.Reason(m.Name, maxName)] = shape(m.Value, depth-1, left)
	}
	return shapes
}
