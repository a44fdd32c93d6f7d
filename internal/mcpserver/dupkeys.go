// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"sentinel/internal/sanitize"
)

// envelopeKeys and paramsKeys are the keys with a meaning at the top level of a
// message and in its params.
var (
	envelopeKeys = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsKeys   = []string{
		"_meta", "argument", "arguments", "capabilities", "clientInfo", "cursor", "inputResponses", "level", "name",
		"notifications", "progressToken", "protocolVersion", "reason", "ref", "requestId", "requestState", "task", "taskId", "uri",
	}
)

// errNoObject reports JSON that is no object.
var errNoObject = errors.New("no object")

// eachKey calls f with every key of the JSON object raw and its value, in
// order, until f returns an error.
func eachKey(raw []byte, f func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNoObject
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// ambiguousKey returns a sentence about a key of the object raw that two parsers
// may read differently, or "". encoding/json takes "ID" for "id", and the last of two
// equal keys; a proxy between the client and this server may do otherwise, and would
// have seen a different request.
func ambiguousKey(raw json.RawMessage, known []string) string {
	const most = 40
	spelled := map[string]string{}
	for _, key := range known {
		spelled[fold(key)] = key
	}
	seen := map[string]bool{}
	err := eachKey(raw, func(key string, _ json.RawMessage) error {
		folded := fold(key)
		right, isKnown := spelled[folded]
		switch {
		case seen[folded]:
			return fmt.Errorf("Invalid request: the key %q is there twice", sanitize.Text(key, most)) //nolint:staticcheck // a sentence for the client
		case isKnown && right != key:
			return fmt.Errorf("Invalid request: the key %q must be written %q", sanitize.Text(key, most), right) //nolint:staticcheck // a sentence for the client
		}
		seen[folded] = true
		return nil
	})
	if err == nil || errors.Is(err, errNoObject) {
		return ""
	}
	return err.Error()
}

// fold returns the same text for two keys if and only if [strings.EqualFold]
// takes them for equal, as encoding/json does.
func fold(key string) string {
	return strings.Map(func(c rune) rune {
		least := c
		for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, key)
}
