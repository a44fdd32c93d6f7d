// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// maxDepth is how deep the values of a call may be nested.
const maxDepth = 512

var errJSON = errors.New("it is no JSON")

// A value is one of JSON. Numbers keep their digits; an object keeps a name as often as it is
// there.
type value struct {
	kind    kind
	text    string // of a string; the digits of a number; true, false, null
	members []member
	items   []value
}

type member struct {
	name string
	value
}

type kind byte

const (
	isNull kind = iota + 1
	isBool
	isNumber
	isString
	isArray
	isObject
	isName // of a member, where names are looked at as values are
)

// parseJSON reads one value.
func parseJSON(raw []byte) (value, error) {
	if raw == nil {
		return value{kind: isObject}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return value{}, errJSON
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return value{}, errJSON
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (value, error) {
	token, err := d.Token()
	if err != nil {
		return value{}, err
	}
	return decodeToken(d, token, depth)
}

func decodeToken(d *json.Decoder, token json.Token, depth int) (value, error) {
	switch t := token.(type) {
	case nil:
		return value{kind: isNull, text: "null"}, nil
	case bool:
		return value{kind: isBool, text: strconv.FormatBool(t)}, nil
	case json.Number:
		return value{kind: isNumber, text: t.String()}, nil
	case string:
		return value{kind: isString, text: t}, nil
	}
	if depth == maxDepth {
		return value{}, errJSON
	}
	v := value{kind: isObject}
	if token == json.Delim('[') {
		v.kind = isArray
	}
	for d.More() {
		if err := v.decodeNext(d, depth); err != nil {
			return value{}, err
		}
	}
	_, err := d.Token()
	return v, err
}

func (v *value) decodeNext(d *json.Decoder, depth int) error {
	var name string
	if v.kind == isObject {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ = token.(string)
	}
	inner, err := decodeValue(d, depth+1)
	if v.kind == isObject {
		v.members = append(v.members, member{name, inner})
	} else {
		v.items = append(v.items, inner)
	}
	return err
}

// equal compares values by what they mean: numbers exactly, objects without regard to order.
func (v value) equal(other value) bool {
	switch {
	case v.kind != other.kind:
		return false
	case v.kind == isNumber:
		return compareNumbers(v.text, other.text) == 0
	case v.kind == isArray:
		if len(v.items) != len(other.items) {
			return false
		}
		for i := range v.items {
			if !v.items[i].equal(other.items[i]) {
				return false
			}
		}
		return true
	case v.kind == isObject:
		return len(v.members) == len(other.members) && v.covers(other) && other.covers(v)
	default:
		return v.text == other.text
	}
}

// covers says that each member of other is in v.
func (v value) covers(other value) bool {
	for _, m := range other.members {
		found := false
		for _, own := range v.members {
			found = found || own.name == m.name && own.equal(m.value)
		}
		if !found {
			return false
		}
	}
	return true
}
