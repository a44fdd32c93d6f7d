// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"sentinel/internal/lazyregexp"
)

// Bounds of a log with announced heads.
const (
	maxAnnounced = 200_000   // heads that are compared
	maxLog       = 256 << 20 // bytes
)

// Announced is what a log that syslog kept says of the journal.
type Announced struct {
	Signed     int  `json:"signed"`                // heads with a signature of this machine, which were compared with the journal
	Unsigned   int  `json:"unsigned,omitempty"`    // heads without a signature: anybody may have written them, and they are not compared
	Forged     int  `json:"forged,omitempty"`      // heads with a signature that does not hold
	UnknownKey int  `json:"unknown_key,omitempty"` // heads with a key that this machine does not have or did not keep
	NotKept    int  `json:"not_kept,omitempty"`    // signed heads of records that were removed for their age
	Cut        bool `json:"cut,omitempty"`         // the log is longer than what is read of it
}

var announcedLine = lazyregexp.New(`journal head seq=([0-9]{1,16}) hash=([0-9a-f]{64})(?: key=([A-Za-z0-9+/]{43}) sig=([A-Za-z0-9+/]{86}))?`)

// heads are the hashes that signed lines give to records.
type heads map[uint64][]string

// readAnnounced reads the heads in a log, whatever syslog put before them.
func (j *Journal) readAnnounced(log io.Reader) (heads, *Announced, error) {
	keys, err := j.publicKeys()
	if err != nil {
		return nil, nil, err
	}
	limited := &io.LimitedReader{R: log, N: maxLog}
	lines := bufio.NewReaderSize(limited, maxLine)
	found, count := heads{}, &Announced{}
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = skipLine(lines)
			line = nil
		}
		if part := announcedLine.Get().FindSubmatch(line); part != nil {
			found.add(count, keys, part)
		}
		switch {
		case count.Signed >= maxAnnounced, errors.Is(err, io.EOF) && limited.N == 0:
			count.Cut = true
			return found, count, nil
		case errors.Is(err, io.EOF):
			return found, count, nil
		case err != nil:
			return nil, nil, err
		}
	}
}

// add counts a head, and keeps it where its signature holds.
func (h heads) add(count *Announced, keys [][]byte, part [][]byte) {
	seq, err := strconv.ParseUint(string(part[1]), 10, 64)
	hash := string(part[2])
	if err != nil {
		return
	}
	if part[3] == nil {
		count.Unsigned++
		return
	}
	key, keyErr := base64.RawStdEncoding.DecodeString(string(part[3]))
	signature, err := base64.RawStdEncoding.DecodeString(string(part[4]))
	switch known := slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }); {
	case errors.Join(keyErr, err) != nil || !ed25519.Verify(key, signedText(seq, hash), signature):
		count.Forged++
	case !known:
		count.UnknownKey++
	default:
		count.Signed++
		if !slices.Contains(h[seq], hash) {
			h[seq] = append(h[seq], hash)
		}
	}
}

// publicKeys are those that heads may be signed with; none where nothing was ever announced.
func (j *Journal) publicKeys() ([][]byte, error) {
	k, err := j.readKeys()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append(k.Former, k.public()), nil
}

// compare takes out of h what is said of a record.
func (h heads) compare(c *checker, r Record) {
	for _, hash := range h[r.Seq] {
		if hash != r.Hash {
			c.problem(r.Seq, "the record is not the one whose head was sent to syslog")
		}
	}
	delete(h, r.Seq)
}

// rest judges the heads of records that are not in the journal.
func (h heads) rest(c *checker) {
	first := max(c.report.FirstSeq, 1)
	for _, seq := range sortedKeys(h) {
		if seq < first && c.report.RotatedBefore > 0 {
			c.report.Announced.NotKept++
			continue
		}
		c.problem(seq, "syslog got the head of record %d, which is not in the journal", seq)
	}
}

func sortedKeys(h heads) []uint64 {
	var list []uint64
	for seq := range h {
		list = append(list, seq)
	}
	slices.Sort(list)
	return list
}
