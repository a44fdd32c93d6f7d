// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxRequest is the largest request that --request reads from stdin, in bytes.
const MaxRequest = 64 << 10

// Arguments holds the checked arguments of one call by field name, with defaults
// filled in.
type Arguments map[string]any

// Int returns an Integer argument.
func (a Arguments) Int(name string) int {
	n, _ := a[name].(int64)
	return int(n)
}

// Text returns a Text argument.
func (a Arguments) Text(name string) string {
	s, _ := a[name].(string)
	return s
}

// Bool returns a Boolean argument.
func (a Arguments) Bool(name string) bool {
	b, _ := a[name].(bool)
	return b
}

// A Request is a checked call as a program sends it: the arguments and, under
// "_context", what belongs to the call itself.
type Request struct {
	Arguments Arguments
	Context
}

// ParseFlags checks the arguments of o as typed on a command line, by flag name.
func (o Operation) ParseFlags(given map[string]string) (Arguments, error) {
	args := o.defaults()
	for _, f := range o.Fields {
		text, ok := given[f.Flag]
		if !ok || f.Kind != Boolean && IsOption(f.Flag) || text == "" && f.Optional() { // people have the option, or gave the flag alone
			continue
		}
		value, err := f.fromText("--"+f.Flag, text)
		if err != nil {
			return nil, err
		}
		args[f.Name] = value
	}
	return args, nil
}

// ParseRequest checks one JSON object with the arguments of o. It rejects unknown
// and repeated keys, wrong types, values out of range, and anything after the
// object. Empty input counts as the empty object.
func (o Operation) ParseRequest(raw []byte) (Request, error) {
	members, err := object(raw)
	if err != nil {
		return Request{}, err
	}
	request := Request{Arguments: o.defaults()}
	if sent, ok := members["_context"]; ok {
		if request.Context, err = parseContext(sent); err != nil {
			return Request{}, err
		}
		delete(members, "_context")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		f, err := o.field(name)
		if err != nil {
			return Request{}, err
		}
		if request.Arguments[name], err = f.fromJSON(members[name]); err != nil {
			return Request{}, err
		}
	}
	for _, f := range o.Fields {
		if _, sent := members[f.Name]; f.Required && !sent {
			return Request{}, f.missing()
		}
	}
	return request, nil
}

// Lengthened reports whether args ask for more than the usual answer: for more rows, or for all of it.
func (o Operation) Lengthened(args Arguments) bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool {
		usual, counted := f.Default.(int64)
		return counted && args.Int(f.Name) > int(usual)
	}) || args.Bool("verbose")
}

func (o Operation) defaults() Arguments {
	args := Arguments{}
	for _, f := range o.Fields {
		if f.Default != nil {
			args[f.Name] = f.Default
		}
	}
	return args
}

func (o Operation) field(name string) (Field, error) {
	var known []string
	for _, f := range o.Fields {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	fix := o.Name + " takes no arguments: send {}."
	if len(known) > 0 {
		fix = o.Name + " takes only: " + strings.Join(known, ", ") + "."
	}
	return Field{}, &ArgumentError{Message: fmt.Sprintf("%s has no argument %q.", o.Name, shown(name)), Fix: fix}
}

// InputSchema returns the JSON Schema of the operation's arguments.
func (o Operation) InputSchema() json.RawMessage {
	properties := map[string]any{}
	var required []string
	for _, f := range o.Fields {
		properties[f.Name] = f.schema()
		if f.Required {
			required = append(required, f.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic("ops: the table holds a default that is no JSON value: " + err.Error())
	}
	return raw
}

// object splits one JSON object into its members without decoding them.
// encoding/json silently keeps the last of two equal keys; here the second is an
// error, because all readers of a request must see the same value.
func object(raw []byte) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return members, nil
	}
	if !utf8.Valid(raw) {
		return nil, notObject("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, notObject("it does not begin with {")
	}
	for d.More() {
		if err := member(d, members); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, notObject("it is cut off")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, notObject("something follows the object")
	}
	return members, nil
}

func member(d *json.Decoder, members map[string]json.RawMessage) error {
	token, err := d.Token()
	if err != nil {
		return notObject("it is not valid JSON")
	}
	key, ok := token.(string)
	if !ok {
		return notObject("it is not valid JSON")
	}
	if _, twice := members[key]; twice {
		return &ArgumentError{Message: fmt.Sprintf("The argument %q is there twice.", shown(key)), Fix: "Send each argument once."}
	}
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return notObject("it is not valid JSON")
	}
	members[key] = value
	return nil
}

func notObject(why string) error {
	return &ArgumentError{
		Message: "The arguments must be one JSON object, and " + why + ".",
		Fix:     `Send an object such as {} or {"name": value}.`,
	}
}
