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
)

// maxRecord bounds one record with its frame, in bytes.
const maxRecord = 1480

// checksum is CRC-32C (RFC 3720, appendix B.4). Its table is made when it is needed: every run of sentinel
// would have to wait for it.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// encode makes a record of s: a line with the CRC-32C of the payload, its length and the payload,
// which is JSON and so has no newline.
func encode(s Sample) ([]byte, error) {
	var failed error
	size := func(s Sample) int {
		line, err := frame(s)
		failed = errors.Join(failed, err)
		return len(line)
	}
	line, err := frame(s.bounded(size))
	return line, errors.Join(failed, err)
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

// decode reads a line without its newline. It accepts only what encode can have written.
func decode(line []byte) (Sample, error) {
	sum, rest, _ := bytes.Cut(line, []byte(" "))
	length, payload, _ := bytes.Cut(rest, []byte(" "))
	want, err := hex.DecodeString(string(sum))
	n, bad := strconv.Atoi(string(length))
	if err != nil || bad != nil || len(want) != crc32.Size || n != len(payload) || len(line) >= maxRecord {
		return Sample{}, errRecord
	}
	if got := checksum(payload); !bytes.Equal(want, []byte{byte(got >> 24), byte(got >> 16), byte(got >> 8), byte(got)}) {
		return Sample{}, errRecord
	}
	var s Sample
	if json.Unmarshal(payload, &s) != nil || s.Up < 0 || s.Span < 0 {
		return Sample{}, errRecord
	}
	return s, nil
}
