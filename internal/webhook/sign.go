// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bounds of a key, in bytes, by the specification of Standard Webhooks.
const (
	minKey  = 24
	maxKey  = 64
	maxKeys = 4 // at a time, while keys are rotated
)

const keyPrefix = "whsec_"

// parseKeys reads signing keys, one per line: whsec_ and base64.
func parseKeys(raw []byte) ([][]byte, error) {
	var keys [][]byte
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, found := strings.CutPrefix(line, keyPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		switch {
		case !found || err != nil:
			return nil, errors.New("a line is not " + keyPrefix + " and base64")
		case len(key) < minKey || len(key) > maxKey:
			return nil, fmt.Errorf("a key has %d bytes; %d to %d are allowed", len(key), minKey, maxKey)
		case len(keys) == maxKeys:
			return nil, fmt.Errorf("it holds more than %d keys", maxKeys)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("it holds no key")
	}
	return keys, nil
}

// signature signs a document sent at the given time, with every key.
func signature(keys [][]byte, d Document, at time.Time) string {
	var signed []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(d.ID + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(d.Body)
		signed = append(signed, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signed, " ")
}
