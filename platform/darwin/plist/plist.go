// SPDX-License-Identifier: Apache-2.0

// Package plist decodes property lists as programs of macOS print them and
// as its preference files hold them (plist(5)).
package plist

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"howett.net/plist"
)

// ErrNoList means that there is no property list where one should be.
var ErrNoList = errors.New("there is no property list")

// Decode stores the property list raw in value, a pointer. It accepts only the XML
// and the binary format: as an old-style list the library would also accept an empty text or an
// error message. It ignores text around an XML list, such as a log line.
//
// It rejects lists that expand to far more than their size or are nested too deeply.
func Decode(raw []byte, value any) (err error) {
	raw = document(raw)
	if len(raw) == 0 {
		return ErrNoList
	}
	if err := checkBounds(raw); err != nil {
		return err
	}
	defer func() {
		if recover() != nil { // the library panics on some damaged lists
			err = errBinary
		}
	}()
	var format any
	kind, err := plist.Unmarshal(raw, &format)
	if err != nil {
		return fmt.Errorf("read the property list: %w", err)
	}
	if kind != plist.XMLFormat && kind != plist.BinaryFormat {
		return ErrNoList
	}
	if _, err := plist.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("read the property list: %w", err)
	}
	return nil
}

// document cuts an XML list out of the text around it.
func document(raw []byte) []byte {
	raw = bytes.Trim(raw, "\x00")
	if bytes.HasPrefix(raw, []byte("bplist")) {
		return raw
	}
	begin := bytes.Index(raw, []byte("<?xml"))
	if begin < 0 {
		begin = bytes.Index(raw, []byte("<plist"))
	}
	end := bytes.LastIndex(raw, []byte("</plist>"))
	if begin < 0 || end < begin {
		return nil
	}
	return raw[begin : end+len("</plist>")]
}

// Split separates the lists that a program such as powermetrics(1) joins with NUL
// bytes, without empty parts.
func Split(raw []byte) [][]byte {
	var lists [][]byte
	for part := range bytes.SplitSeq(raw, []byte{0}) {
		if part = bytes.TrimSpace(part); len(part) > 0 {
			lists = append(lists, part)
		}
	}
	return lists
}

// MaxFile is how much of a preference file is read, in bytes.
const MaxFile = 4 << 20

// Read decodes the list in r, which may have at most [MaxFile] bytes.
func Read(r io.Reader, value any) error {
	raw, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return err
	}
	if len(raw) > MaxFile {
		return fmt.Errorf("the property list is larger than %d MiB", MaxFile>>20)
	}
	return Decode(raw, value)
}
