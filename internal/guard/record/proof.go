// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Proof shows that one line stands in the record that a head signs, without the other lines: an
// inclusion proof (RFC 6962, section 2.1.1) in the tree of one file, whose root is in the head.
// Hashes are written in base64.
type Proof struct {
	Line     string           `json:"line"` // without its newline: the leaf
	File     string           `json:"file"`
	Index    int64            `json:"index"`     // of the line in the file, from 0
	TreeSize int64            `json:"tree_size"` // lines of the file that the head signs
	Root     tlog.Hash        `json:"root"`      // of the file, as in the head
	Path     tlog.RecordProof `json:"path"`      // from the leaf to the root
	Head     string           `json:"head"`      // a signed note (C2SP signed-note)
	Verifier string           `json:"verifier"`  // the key that signs it, as sumdb/note writes one
}

// maxProof bounds a proof in KiB: a line, the head of many files, and what JSON adds.
const maxProof = 2 << 10

var (
	// ErrNoLine is that the record has no line of that name.
	ErrNoLine = errors.New("the record has no such line")
	// ErrUnsigned is that the head does not sign a line yet.
	ErrUnsigned = errors.New("the line is not signed yet; that takes a minute at most while its guard runs")
	// ErrNotTheRecord is that the record, or a proof of it, is not what was signed.
	ErrNotTheRecord = errors.New("not what was signed")
)

// Prove returns the proof of the line of an event, as EVENT or as SESSION:SEQ. The first line of an
// event counts.
func Prove(ctx context.Context, dir, event string) (Proof, error) {
	k, err := loadKey(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return Proof{}, ErrNoLine
	}
	if err != nil {
		return Proof{}, err
	}
	signed, h, err := signedHead(dir, k)
	if errors.Is(err, errHead) {
		err = fmt.Errorf("the head is %w", ErrNotTheRecord)
	}
	if err != nil {
		return Proof{}, err
	}
	name, index, err := find(ctx, dir, event)
	if err != nil {
		return Proof{}, err
	}
	p := Proof{File: name, Index: index, Head: signed, Verifier: k.public}
	return p, p.prove(dir, h)
}

// prove fills in what the file and its mark say.
func (p *Proof) prove(dir string, h head) error {
	at := slices.IndexFunc(h.marks, func(m mark) bool { return m.file == p.File })
	if at < 0 || p.Index >= h.marks[at].records {
		return ErrUnsigned
	}
	p.TreeSize, p.Root = h.marks[at].records, h.marks[at].root
	f, err := open(filepath.Join(dir, p.File))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	var stored hashes
	lines := bufio.NewReaderSize(io.LimitReader(f, maxRead), maxLine+1)
	for n := range p.TreeSize {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("%s has lost lines: it is %w", p.File, ErrNotTheRecord)
		}
		line = line[:len(line)-1]
		if n == p.Index {
			p.Line = string(line)
		}
		more, err := tlog.StoredHashes(n, line, stored)
		if err != nil {
			return err
		}
		stored = append(stored, more...)
	}
	if p.Path, err = tlog.ProveRecord(p.TreeSize, p.Index, stored); err != nil {
		return err
	}
	_, err = p.Check("")
	return err
}

// hashes are those of a tree, in the order of tlog.StoredHashIndex.
type hashes []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		found[i] = h[at]
	}
	return found, nil
}

// find returns where the line of an event is.
func find(ctx context.Context, dir, event string) (name string, index int64, err error) {
	session, text, bySeq := strings.Cut(event, ":")
	seq, err := strconv.ParseUint(text, 10, 64)
	if bySeq && err != nil {
		return "", 0, ErrNoLine
	}
	names, err := files(dir)
	if err != nil {
		return "", 0, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		index, err := indexOf(filepath.Join(dir, name), func(e Event) bool {
			return bySeq && e.SessionID == session && e.Seq == seq || !bySeq && e.EventID == event
		})
		if err != nil && !passed(err) {
			return "", 0, err
		}
		if err == nil && index >= 0 {
			return name, index, nil
		}
	}
	return "", 0, ErrNoLine
}

// indexOf returns which line of a file is wanted, -1 when none is. Lines that were changed count,
// so that Check tells of them.
func indexOf(path string, want func(Event) bool) (int64, error) {
	f, err := open(path)
	if err != nil {
		return -1, err
	}
	defer f.Close() //nolint:errcheck // only read from
	lines := bufio.NewReaderSize(io.LimitReader(f, maxRead), maxLine+1)
	for n := int64(0); ; n++ {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // no line of the record
			line = nil
			_, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return -1, nil
		}
		if err != nil {
			return -1, err
		}
		if line == nil {
			continue
		}
		if e, _, _, ok := parseEvent(line[:len(line)-1]); ok && want(e) {
			return n, nil
		}
	}
}

// Check returns the event of the line when the proof holds: the key signs the head, the head has the
// root of the file, and the path leads from the line to that root. A key that is not "" must be the
// one that signs; else who reads compares.
func (p Proof) Check(key string) (Event, error) {
	if key == "" {
		key = p.Verifier
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(key))
	if err != nil {
		return Event{}, fmt.Errorf("the key %w", err)
	}
	n, err := note.Open([]byte(p.Head), note.VerifierList(verifier))
	if err != nil {
		return Event{}, fmt.Errorf("the head is %w by this key", ErrNotTheRecord)
	}
	h, err := parseHead(n.Text)
	if err != nil {
		return Event{}, fmt.Errorf("the head is %w", ErrNotTheRecord)
	}
	signs := func(m mark) bool { return m.file == p.File && m.records == p.TreeSize && m.root == p.Root }
	if !slices.ContainsFunc(h.marks, signs) {
		return Event{}, fmt.Errorf("%s is %w: the head has another root or size", p.File, ErrNotTheRecord)
	}
	if p.Index < 0 || p.Index >= p.TreeSize || tlog.CheckRecord(p.Path, p.TreeSize, p.Root, p.Index, tlog.RecordHash([]byte(p.Line))) != nil {
		return Event{}, fmt.Errorf("line %d of %s is %w", p.Index+1, p.File, ErrNotTheRecord)
	}
	e, _, intact, ok := parseEvent([]byte(p.Line))
	if !ok || !intact {
		return Event{}, fmt.Errorf("the line is %w: it is none of a record", ErrNotTheRecord)
	}
	e.visible()
	return e, nil
}

// ReadProof reads a proof from a file, or from r when the path is "-".
func ReadProof(path string, r io.Reader) (Proof, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return Proof{}, err
		}
		defer f.Close() //nolint:errcheck // only read from
		r = f
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxProof<<10))
	if err != nil {
		return Proof{}, err
	}
	var p Proof
	if err := json.Unmarshal(raw, &p); err != nil {
		return Proof{}, fmt.Errorf("this is no proof: %w", err)
	}
	return p, nil
}
