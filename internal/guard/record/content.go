// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"strings"

	"sentinel/internal/sanitize"
)

// maxContent bounds the arguments or the result that are kept as they are, in bytes: a line has 16 KiB.
const maxContent = 4 << 10

// content returns a value without its secrets, nil where it is too long or no JSON. whole says that
// nothing was taken out.
func content(raw []byte) (kept json.RawMessage, whole bool) {
	if len(raw) > maxContent {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	whole = true
	text, err := json.Marshal(withoutSecrets("", v, &whole))
	if err != nil || len(text) > 2*maxContent {
		return nil, false
	}
	return text, whole
}

// withoutSecrets returns a member of a value. What its name says to be a secret is none of ours to keep.
func withoutSecrets(name string, v any, whole *bool) any {
	switch v := v.(type) {
	case string:
		return withoutSecret(name, v, whole)
	case json.Number:
		if withoutSecret(name, v.String(), whole) != v.String() {
			return sanitize.Redacted
		}
		return v
	case []any:
		for i := range v {
			v[i] = withoutSecrets(name, v[i], whole)
		}
		return v
	case map[string]any:
		kept := make(map[string]any, len(v))
		for inner, value := range v {
			kept[withoutSecret("", inner, whole)] = withoutSecrets(inner, value, whole)
		}
		return kept
	default:
		return v
	}
}

func withoutSecret(name, text string, whole *bool) string {
	kept := sanitize.Reason(text, maxContent)
	if kept == text && name != "" && strings.Contains(sanitize.Command([]string{"--" + name + "=" + text}, maxContent), sanitize.Redacted) {
		kept = sanitize.Redacted
	}
	if kept != text {
		*whole = false
	}
	return kept
}
