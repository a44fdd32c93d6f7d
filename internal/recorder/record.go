// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"unicode/utf8"
)

// maxRecord bounds one record with its frame, in bytes.
const maxRecord = 1480

// checksum is CRC-32C (RFC 3720, appendix B.4). Its table is made when it is needed: every run of sentinel
// would have to wait for it.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// encode makes a record of s: a line with the CRC-32C of the payload, its length and the payload,
// which is JSON and so has no newline.
func encode(s Sample) ([]byte, error) {
	s, err := s.bounded()
	if err != nil {
		return nil, err
	}
	return frame(s)
}

func frame(s Sample) ([]byte, error) {
	var payload bytes.Buffer
	e := json.NewEncoder(&payload)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(payload.Bytes(), []byte("\n"))
	return fmt.Appendf(nil, "%08x %d %s\n", checksum(text), len(text), text), nil
}

var errRecord = errors.New("it is no record")

// A Record is a sample on the disk. When it was taken is known before the rest is read.
type Record struct {
	Time    int64   // as in [Sample]
	Boot    string  // as in [Sample]
	Up      float64 // as in [Sample]
	Right   bool    // as in [Sample]
	payload []byte
}

// parse reads a line without its newline, which the record refers to. It accepts only what encode can have
// written.
func parse(line []byte) (Record, error) {
	sum, rest, _ := bytes.Cut(line, []byte(" "))
	length, payload, _ := bytes.Cut(rest, []byte(" "))
	want, err := hex.DecodeString(string(sum))
	n, bad := strconv.Atoi(string(length))
	if err != nil || bad != nil || len(want) != crc32.Size || n != len(payload) || len(line) >= maxRecord {
		return Record{}, errRecord
	}
	if got := checksum(payload); !bytes.Equal(want, []byte{byte(got >> 24), byte(got >> 16), byte(got >> 8), byte(got)}) {
		return Record{}, errRecord
	}
	if r, ok := head(payload); ok {
		return r, nil
	}
	r := Record{payload: payload}
	s, err := r.Sample()
	r.Time, r.Boot, r.Up, r.Right = s.Time, s.Boot, s.Up, s.Right
	return r, err
}

// head finds when a sample was taken in its first members, which are always these.
func head(payload []byte) (Record, bool) {
	rest, ok := bytes.CutPrefix(payload, []byte(`{"t":`))
	moment, rest, timed := bytes.Cut(rest, []byte(`,"b":"`))
	boot, rest, known := bytes.Cut(rest, []byte(`","u":`))
	end := bytes.IndexAny(rest, ",}")
	if !ok || !timed || !known || end < 0 || bytes.ContainsAny(boot, `"\`) || !utf8.Valid(boot) {
		return Record{}, false
	}
	at, err := strconv.ParseInt(string(moment), 10, 64)
	up, bad := strconv.ParseFloat(string(rest[:end]), 64)
	right := bytes.HasPrefix(rest[end:], []byte(`,"y":true`))
	return Record{at, string(boot), up, right, payload}, err == nil && bad == nil && up >= 0
}

// Sample reads the rest.
func (r Record) Sample() (Sample, error) {
	var s Sample
	if json.Unmarshal(r.payload, &s) != nil || s.Up < 0 || s.Span < 0 {
		return Sample{}, errRecord
	}
	return s, nil
}
