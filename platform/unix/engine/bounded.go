// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"

	"sentinel/internal/containers"
)

// Engines of users answer what these like, and a list takes up to a hundred times the memory of its text:
// no more of it is kept than is used.

// elements calls use before each element of a list, or value of an object, which it is to decode.
func elements(raw []byte, open json.Delim, use func(name string, d *json.Decoder) error) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := d.Token(); begin == nil || err != nil { // null
		return err
	} else if begin != open {
		return errForm
	}
	for d.More() {
		name := ""
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, _ = key.(string)
		}
		if err := use(name, d); err != nil {
			return err
		}
	}
	return nil
}

var errForm = errors.New("it has another form than is known")

// skipped is a value that is decoded into nothing.
type skipped struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// A first is the first elements of a list.
type first[T any] struct {
	kept  []T
	count int // of the whole list
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *first[T]) UnmarshalJSON(raw []byte) error {
	return elements(raw, '[', func(_ string, d *json.Decoder) error {
		if f.count++; f.count > maxContainers {
			return d.Decode(&skipped{})
		}
		var one T
		err := d.Decode(&one)
		f.kept = append(f.kept, one)
		return err
	})
}

// A lastOutput is what the last check of health printed.
type lastOutput string

// UnmarshalJSON implements [json.Unmarshaler].
func (o *lastOutput) UnmarshalJSON(raw []byte) error {
	return elements(raw, '[', func(_ string, d *json.Decoder) error {
		var check struct{ Output string }
		err := d.Decode(&check)
		*o = lastOutput(check.Output)
		return err
	})
}

// publishedPorts are those that a container publishes, the same for IPv4 and IPv6 once.
type publishedPorts []containers.Port

// UnmarshalJSON implements [json.Unmarshaler].
func (l *publishedPorts) UnmarshalJSON(raw []byte) error {
	return elements(raw, '{', func(inside string, d *json.Decoder) error {
		if len(*l) >= maxContainers {
			return d.Decode(&skipped{})
		}
		var at first[struct{ HostIP, HostPort string }]
		err := d.Decode(&at)
		for _, p := range at.kept {
			address, bad := netip.ParseAddr(cmp.Or(p.HostIP, "0.0.0.0"))
			if bad != nil || address == netip.IPv6Unspecified() && at.count > 1 {
				continue
			}
			*l = append(*l, containers.Port{Address: net.JoinHostPort(address.String(), clip(p.HostPort, maxWord)), Container: clip(inside, maxWord), Exposed: !address.IsLoopback()})
		}
		return err
	})
}

// Bounds of texts, in bytes; less of them is told.
const (
	maxWord = 80
	maxText = 1 << 10
)

// clip returns the beginning of a text, without keeping the rest of it.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(text[:most])
}
