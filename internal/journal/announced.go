// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"bytes"
	"context"
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
	maxAnnounced = 200_000   // different heads that are compared
	maxLog       = 256 << 20 // bytes
)

// Announced is what a log that syslog kept says of the journal.
type Announced struct {
	Signed     int    `json:"signed"`                // different heads with a signature of this machine, or of the key that was given, which were compared with the journal
	Unsigned   int    `json:"unsigned,omitempty"`    // heads without a signature: anybody may have written them, and they are not compared
	Forged     int    `json:"forged,omitempty"`      // heads with a signature that does not hold
	UnknownKey int    `json:"unknown_key,omitempty"` // heads with a key that this machine does not have or did not keep
	NotKept    int    `json:"not_kept,omitempty"`    // signed heads of records that were removed for their age
	First      uint64 `json:"first,omitempty"`       // where the journal began by the newest head that tells it; absent where all are of earlier versions, and then nothing but the journal itself says that what is not kept was removed for its age
	Cut        bool   `json:"cut,omitempty"`         // the log has more than is read of it: not all was compared
}

var announcedLine = lazyregexp.New(`journal head seq=([0-9]{1,16}) hash=([0-9a-f]{64})(?: key=([A-Za-z0-9+/]{43}) sig=([A-Za-z0-9+/]{86})(?: first=([0-9]{1,16}) first_sig=([A-Za-z0-9+/]{86}))?)?`)

// heads are what signed lines say of records, one for each hash. First is 0 where only earlier versions tell.
type heads map[uint64][]Head

// readAnnounced reads the heads in a log, whatever syslog put before them. lost are the keys in kept that this
// machine does not know.
func (j *Journal) readAnnounced(ctx context.Context, log io.Reader, kept [][]byte) (found heads, count *Announced, lost [][]byte, err error) {
	if log == nil {
		return nil, nil, nil, nil
	}
	keys, err := j.publicKeys()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, key := range kept {
		if !hasKey(keys, key) {
			lost = append(lost, key)
		}
	}
	found, count = heads{}, &Announced{}
	return found, count, lost, found.read(ctx, log, count, append(keys, lost...))
}

func hasKey(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
}

func (h heads) read(ctx context.Context, log io.Reader, count *Announced, keys [][]byte) error {
	limited := &io.LimitedReader{R: log, N: maxLog}
	lines := bufio.NewReaderSize(limited, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = skipLine(lines)
			line = nil
		}
		if part := announcedLine.Get().FindSubmatch(line); part != nil {
			h.add(count, keys, part)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case count.Signed >= maxAnnounced, errors.Is(err, io.EOF) && limited.N == 0:
			count.Cut = true
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// add counts a head, and keeps it where its signatures hold. A line that was there before says nothing new:
// whoever repeats one takes no place away from others.
func (h heads) add(count *Announced, keys [][]byte, part [][]byte) {
	a, err := parseAnnouncement(part)
	switch {
	case err != nil:
		count.Forged++
	case a.Signature == nil:
		count.Unsigned++
	case h.tells(a.Head):
	case !a.holds():
		count.Forged++
	case !hasKey(keys, a.Key):
		count.UnknownKey++
	default:
		h.keep(count, a.Head)
	}
}

// parseAnnouncement reads what the expression has found.
func parseAnnouncement(part [][]byte) (a Announcement, err error) {
	var bad [4]error
	a.Seq, bad[0] = strconv.ParseUint(string(part[1]), 10, 64)
	a.Hash = string(part[2])
	decode := base64.RawStdEncoding.DecodeString
	if part[3] != nil {
		a.Key, bad[1] = decode(string(part[3]))
		a.Signature, bad[2] = decode(string(part[4]))
	}
	if part[5] != nil {
		a.First, _ = strconv.ParseUint(string(part[5]), 10, 64) //nolint:errcheck // 16 digits
		a.FirstSignature, bad[3] = decode(string(part[6]))
	}
	return a, errors.Join(bad[:]...)
}

// holds says whether the key made the signatures.
func (a Announcement) holds() bool {
	return ed25519.Verify(a.Key, signedText(a.Seq, a.Hash), a.Signature) &&
		(a.FirstSignature == nil || ed25519.Verify(a.Key, a.signedFirst(), a.FirstSignature))
}

func (h heads) index(a Head) int {
	return slices.IndexFunc(h[a.Seq], func(b Head) bool { return b.Hash == a.Hash })
}

func (h heads) tells(a Head) bool {
	i := h.index(a)
	return i >= 0 && (a.First == 0 || h[a.Seq][i].First == a.First)
}

// keep adds a head. Of two that differ only in where the journal began, whoever became root signed the later.
func (h heads) keep(count *Announced, a Head) {
	i := h.index(a)
	if i < 0 {
		h[a.Seq] = append(h[a.Seq], a)
		count.Signed++
		return
	}
	if known := &h[a.Seq][i]; known.First == 0 || a.First < known.First {
		known.First = a.First
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

// beginnings notes where the journal begins by the newest head that tells it. Heads of a journal that has
// lost more than rotation removes are problems, however long ago that was.
func (h heads) beginnings(c *checker, fewest uint64) {
	for _, seq := range sortedKeys(h) {
		for _, a := range h[seq] {
			if a.First > 1 && seq < a.First+fewest {
				c.problem(seq, "syslog got the head of record %d, when those before %d were missing, and not for their age", seq, a.First)
			}
			if a.First > 0 {
				c.report.Announced.First, c.told = a.First, seq
			}
		}
	}
}

// compare takes out of h what is said of a record.
func (h heads) compare(c *checker, r Record) {
	for _, a := range h[r.Seq] {
		if a.Hash != r.Hash {
			c.problem(r.Seq, "the record is not the one whose head was sent to syslog")
		}
	}
	delete(h, r.Seq)
}

// rest judges the heads of records that are not in the journal.
func (h heads) rest(c *checker) {
	first := max(c.report.FirstSeq, 1)
	if said := c.report.Announced; said != nil && said.First > 0 && said.First < first && !said.Cut {
		since := ""
		if c.told < c.report.LastSeq {
			since = ". Where the log has no later heads because it is an old one or a part, they may have been removed for their age since"
		}
		c.problem(0, "records %d to %d are missing: by the newest signed head in the log, of record %d, they are kept%s", said.First, first-1, c.told, since)
		first = said.First
	}
	for _, seq := range sortedKeys(h) {
		if seq < first && c.report.RotatedBefore > 0 {
			c.report.Announced.NotKept += len(h[seq])
			if len(h[seq]) > 1 {
				c.problem(seq, "syslog got different heads of record %d, which is not kept", seq)
			}
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
