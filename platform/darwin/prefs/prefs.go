// SPDX-License-Identifier: Apache-2.0

// Package prefs reads the preference files of macOS that apply to all users, and
// the settings with which configuration profiles override them.
//
// An absent key does not mean that a setting is off: the default differs between
// releases. Each value is therefore returned together with whether it is set.
package prefs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sentinel/platform/darwin/plist"
	"sentinel/platform/unix/hostfile"
)

// Directories of the preferences of the machine and of those set by profiles.
const (
	Local   = "/Library/Preferences"
	Managed = "/Library/Managed Preferences"
)

// maxFile bounds a preference file, in bytes. The largest ones of macOS have some
// hundred kilobytes.
const maxFile = 4 << 20

// ErrDomainName means that a text is not the name of a preference domain.
var ErrDomainName = errors.New("is not the name of a preference domain")

// A Domain is the settings of one part of the system, "com.apple.loginwindow".
type Domain struct {
	layers []layer // by precedence
}

type layer struct {
	file   string
	values map[string]any
}

// Read reads the settings of a domain below root, "/" on a live system. Missing
// files set nothing. An existing file that cannot be read is an error: its settings might
// override the others.
func Read(root, domain string) (Domain, error) {
	if domain == "" || strings.HasPrefix(domain, ".") || strings.Contains(domain, "..") || strings.ContainsRune(domain, 0) {
		return Domain{}, fmt.Errorf("%q %w", domain, ErrDomainName)
	}
	var d Domain
	for _, dir := range []string{Managed, Local} {
		if err := d.add(root, dir+"/"+domain+".plist"); err != nil {
			return Domain{}, err
		}
	}
	return d, nil
}

// ReadFile reads the settings in a file below root, which must exist.
func ReadFile(root, file string) (Domain, error) {
	var d Domain
	if err := d.add(root, file); err != nil {
		return Domain{}, err
	}
	if len(d.layers) == 0 {
		_, err := hostfile.Read(filepath.Join(root, file), 1)
		return Domain{}, err
	}
	return d, nil
}

// Parse returns the settings in the content of a file.
func Parse(file string, raw []byte) (Domain, error) {
	var values map[string]any
	if err := plist.Decode(raw, &values); err != nil {
		return Domain{}, fmt.Errorf("read %s: %w", file, err)
	}
	return Domain{[]layer{{file, values}}}, nil
}

func (d *Domain) add(root, file string) error {
	raw, err := hostfile.Read(filepath.Join(root, file), maxFile)
	if hostfile.Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	one, err := Parse(file, raw)
	d.layers = append(d.layers, one.layers...)
	return err
}

// Set reports whether any file sets something in the domain.
func (d Domain) Set() bool { return len(d.layers) > 0 }

// value returns the effective value of a key.
func (d Domain) value(key string) (any, bool) {
	for _, l := range d.layers {
		if v, set := l.values[key]; set {
			return v, true
		}
	}
	return nil, false
}

// Where returns the file that sets a key, "" if none does.
func (d Domain) Where(key string) string {
	for _, l := range d.layers {
		if _, set := l.values[key]; set {
			return l.file
		}
	}
	return ""
}

// Bool returns a boolean. Old tools write 1 or "YES" instead. set is false if the
// value is absent or something else.
func (d Domain) Bool(key string) (on, set bool) {
	v, _ := d.value(key)
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(v) {
		case "yes", "true", "1":
			return true, true
		case "no", "false", "0":
			return false, true
		}
	default:
		if n, is := number(v); is && (n == 0 || n == 1) {
			return n == 1, true
		}
	}
	return false, false
}

// Int returns an integer. set is false if the value is absent or something else.
func (d Domain) Int(key string) (n int64, set bool) {
	v, _ := d.value(key)
	return number(v)
}

// number converts any kind of integer that a property list may hold.
func number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case uint64:
		return int64(n), n < 1<<63
	case float64:
		return int64(n), n == float64(int64(n))
	default:
		return 0, false
	}
}

// Text returns a string. set is false if the value is absent or something else.
func (d Domain) Text(key string) (text string, set bool) {
	v, _ := d.value(key)
	text, set = v.(string)
	return text, set
}

// Time returns a date. set is false if the value is absent or something else.
func (d Domain) Time(key string) (at time.Time, set bool) {
	v, _ := d.value(key)
	at, set = v.(time.Time)
	return at, set
}

// Dict returns a dictionary. set is false if the value is absent or something
// else.
func (d Domain) Dict(key string) (inner Domain, set bool) {
	v, _ := d.value(key)
	values, set := v.(map[string]any)
	if !set {
		return Domain{}, false
	}
	return Domain{[]layer{{d.Where(key), values}}}, true
}
