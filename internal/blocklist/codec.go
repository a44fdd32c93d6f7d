// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// version is the version of the file format. A newer file is left alone: it may
// say what this program does not understand.
const version = 1

// members are the names that an object of the file may hold, in their exact
// spelling; encoding/json would ignore the case of letters.
var members = map[string]bool{
	"version": true, "entries": true, "ip": true, "reason": true, "blocked_by": true,
	"blocked_at": true, "expires_at": true, "suspended": true, "forced": true,
}

var (
	errNewer  = errors.New("it was written by a newer version of sentinel")
	errTwice  = errors.New("an address is there twice")
	errMember = errors.New("it has a repeated or unknown member")
)

// A fileFormat is the file as a whole.
type fileFormat struct {
	Version int     `json:"version"`
	Entries []entry `json:"entries"`
}

// encode writes entries one to a line, so that people can search the file. It
// writes what encoding/json would, several times faster: every block rewrites the file.
func encode(entries []entry) ([]byte, error) {
	raw := fmt.Appendf(make([]byte, 0, 64+usualLine*len(entries)), `{"version":%d,"entries":[`+"\n", version)
	for i, e := range entries {
		if i > 0 {
			raw = append(raw, ",\n"...)
		}
		var err error
		if raw, err = e.append(raw); err != nil {
			return nil, err
		}
	}
	if len(entries) > 0 {
		raw = append(raw, '\n')
	}
	return append(raw, "]}\n"...), nil
}

// usualLine is the usual length of a line, in bytes.
const usualLine = 200

func (e entry) append(raw []byte) ([]byte, error) {
	if !needsNoEscape(e.Reason) || !needsNoEscape(e.By) || !needsNoEscape(e.Suspended) {
		return appendAny(raw, e)
	}
	raw = e.Address.AppendTo(append(raw, `{"ip":"`...))
	raw = append(append(raw, `","reason":"`...), e.Reason...)
	raw = append(append(raw, `","blocked_by":"`...), e.By...)
	raw = e.At.AppendFormat(append(raw, `","blocked_at":"`...), time.RFC3339)
	if !e.Ends.IsZero() {
		raw = e.Ends.AppendFormat(append(raw, `","expires_at":"`...), time.RFC3339)
	}
	if e.Suspended != "" {
		raw = append(append(raw, `","suspended":"`...), e.Suspended...)
	}
	raw = append(raw, '"')
	if e.Forced {
		raw = append(raw, `,"forced":true`...)
	}
	return append(raw, '}'), nil
}

// appendAny writes an entry with texts that need escapes.
func appendAny(raw []byte, e entry) ([]byte, error) {
	var b bytes.Buffer
	line := json.NewEncoder(&b)
	line.SetEscapeHTML(false)
	err := line.Encode(e)
	return append(raw, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), err
}

// needsNoEscape says that text is the same within a string of JSON.
func needsNoEscape(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// decode reads the file strictly. Only blanks, the order of members and the zones
// of times may differ from what encode writes.
func decode(raw []byte) ([]entry, error) {
	var f fileFormat
	if err := unmarshal(raw, &f); err != nil {
		var peek struct{ Version int }
		if json.Unmarshal(raw, &peek) == nil && peek.Version > version {
			return nil, errNewer
		}
		return nil, err
	}
	if f.Version > version {
		return nil, errNewer
	}
	if f.Version != version || f.Entries == nil {
		return nil, errors.New("it has no version or no entries")
	}
	if err := check(f.Entries); err != nil {
		return nil, err
	}
	// What encode writes has no repeated members, and comparing is much faster than
	// looking at each.
	if own, err := encode(f.Entries); err != nil || !bytes.Equal(own, raw) {
		return f.Entries, repeated(json.NewDecoder(bytes.NewReader(raw)))
	}
	return f.Entries, nil
}

func unmarshal(raw []byte, f *fileFormat) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the list")
	}
	return nil
}

// repeated looks for a member that is there twice in one object, which decoding
// would settle in favour of the last.
func repeated(d *json.Decoder) error {
	token, err := d.Token()
	if _, inner := token.(json.Delim); err != nil || !inner {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		if token == json.Delim('{') {
			name, err := d.Token()
			text, ok := name.(string)
			if err != nil || !ok || seen[text] || !members[text] {
				return errors.Join(errMember, err)
			}
			seen[text] = true
		}
		if err := repeated(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// check refuses impossible entries, and brings times into the form in which they
// are written.
func check(entries []entry) error {
	if len(entries) > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	known := make(map[netip.Addr]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		switch {
		case !e.Address.IsValid() || e.Address.Zone() != "" || e.Address.Is4In6():
			return errors.New("an entry has no address that can be blocked")
		case known[e.Address]:
			return errTwice
		case e.At.IsZero() || !e.Ends.IsZero() && !e.Ends.After(e.At):
			return fmt.Errorf("the times of %s cannot be", e.Address)
		}
		known[e.Address] = true
		e.At, e.Ends = inSeconds(e.At), inSeconds(e.Ends)
	}
	return nil
}

// inSeconds returns t as it is written: whole seconds in UTC. The zero time stays
// zero.
func inSeconds(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}
