// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
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
	v, ok := decode(string(raw))
	if !ok {
		return nil, false
	}
	whole = true
	text, err := json.Marshal(withoutSecrets("", v, &whole))
	if err != nil || len(text) > 2*maxContent {
		return nil, false
	}
	return text, whole
}

// withoutSecrets returns a member of a value. What its name says to be a secret is none of ours to keep,
// whatever it consists of.
func withoutSecrets(name string, v any, whole *bool) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		if v == "" {
			return v
		}
	}
	if sanitize.SecretName(name) {
		*whole = false
		return sanitize.Redacted
	}
	switch v := v.(type) {
	case string:
		return withoutSecret(v, whole)
	case []any:
		return listWithoutSecrets(v, whole)
	case map[string]any:
		return objectWithoutSecrets(v, whole)
	default:
		return v
	}
}

// objectWithoutSecrets looks at the members of an object. One that has the name of a secret as a value,
// as headers and variables are listed, has the secret in its "value".
func objectWithoutSecrets(object map[string]any, whole *bool) any {
	named := slices.ContainsFunc([]string{"name", "key", "header"}, func(member string) bool {
		name, _ := object[member].(string)
		return sanitize.SecretName(name)
	})
	kept := make(map[string]any, len(object))
	for name, value := range object {
		as := name
		if named && (name == "value" || name == "values") {
			as = "secret"
		}
		kept[withoutSecret(name, whole)] = withoutSecrets(as, value, whole)
	}
	return kept
}

// listWithoutSecrets looks at the items of a list, each by itself and as a word of a command line, in
// which --password announces a secret and mysql takes one behind -p. In a pair the name announces it.
func listWithoutSecrets(list []any, whole *bool) any {
	kept := make([]any, len(list))
	words := make([]string, len(list))
	for i, item := range list {
		kept[i] = withoutSecrets("", item, whole)
		words[i], _ = item.(string)
		if i == 0 || words[i] == "" {
			continue
		}
		shown := lastWord(words[0], words[i])
		if len(list) == 2 && sanitize.SecretName(words[0]) || lastWord(words[0], words[i-1], words[i]) == sanitize.Redacted {
			shown = sanitize.Redacted
		}
		if shown != lastWord(words[i]) {
			kept[i], *whole = shown, false
		}
	}
	return kept
}

// lastWord returns the last word of a command line as it is shown.
func lastWord(words ...string) string {
	before := sanitize.Command(words[:len(words)-1], maxContent) + " "
	return strings.TrimPrefix(strings.TrimPrefix(sanitize.Command(words, 2*maxContent), before), " ")
}

// withoutSecret looks at a text. One that is an object or a list is looked at as that.
func withoutSecret(text string, whole *bool) string {
	switch nested, _ := decode(text); nested.(type) {
	case map[string]any, []any:
		safe := true
		raw, err := json.Marshal(withoutSecrets("", nested, &safe))
		if err != nil || safe {
			return text
		}
		*whole = false
		return string(raw)
	}
	kept := sanitize.Reason(text, maxContent)
	if kept != text {
		*whole = false
	}
	return kept
}

// decode returns the one value that a text is.
func decode(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, errors.Is(err, io.EOF)
}
