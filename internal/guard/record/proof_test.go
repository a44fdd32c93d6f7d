// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// independent checks a proof as somebody does who has no guard: with what the documents say of its
// fields, and two packages.
func independent(raw []byte, key string) error {
	var p struct {
		Line, File, Head string
		Index            int64
		TreeSize         int64 `json:"tree_size"`
		Root             tlog.Hash
		Path             tlog.RecordProof
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	head, err := note.Open([]byte(p.Head), note.VerifierList(verifier))
	if err != nil {
		return err
	}
	listed := fmt.Sprintf(" %d %s\n", p.TreeSize, p.Root)
	if !strings.Contains(head.Text, "\n"+p.File+" open"+listed) && !strings.Contains(head.Text, "\n"+p.File+" closed"+listed) {
		return errors.New("the head does not list it")
	}
	return tlog.CheckRecord(p.Path, p.TreeSize, p.Root, p.Index, tlog.RecordHash([]byte(p.Line)))
}

func TestEverySignedLineIsProvedWithoutTheOthers(t *testing.T) {
	dir, paths := written(t)
	raw, err := os.ReadFile(filepath.Join(dir, keyName))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(raw), "\n")[1]
	file, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(file), "\n")
	for seq := 1; seq <= 8; seq++ {
		p, err := Prove(t.Context(), dir, fmt.Sprintf("BBBB:%d", seq))
		if err != nil || p.Line != lines[seq-1] || p.Verifier != key {
			t.Fatalf("line %d: %v %+v", seq, err, p)
		}
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := independent(raw, key); err != nil {
			t.Errorf("line %d: %v\n%s", seq, err, raw)
		}
		changed := bytes.Replace(raw, []byte("files"), []byte("filez"), 1)
		if bytes.Equal(raw, changed) || independent(changed, key) == nil {
			t.Errorf("line %d: a changed line is proved", seq)
		}
		if e, err := p.Check(key); err != nil || e.Seq != uint64(seq) {
			t.Errorf("line %d: %v %+v", seq, err, e)
		}
	}
}

func TestAProofOfSomethingElseDoesNotHold(t *testing.T) {
	dir, _ := written(t)
	other, _ := written(t)
	stranger, err := Prove(t.Context(), other, "AAAA:2")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *Proof){
		"line":  func(p *Proof) { p.Line = strings.Replace(p.Line, "files", "filez", 1) },
		"index": func(p *Proof) { p.Index++ },
		"below": func(p *Proof) { p.Index = -1 },
		"size":  func(p *Proof) { p.TreeSize-- },
		"root":  func(p *Proof) { p.Root[0] ^= 1 },
		"path":  func(p *Proof) { p.Path = p.Path[1:] },
		"file":  func(p *Proof) { p.File = strings.Replace(p.File, "AAAA", "BBBB", 1) },
		"head":  func(p *Proof) { p.Head = strings.Replace(p.Head, "closed", "opened", 1) },
		"whole": func(p *Proof) { *p = stranger },
	} {
		p, err := Prove(t.Context(), dir, "AAAA:2")
		if err != nil {
			t.Fatal(err)
		}
		key := p.Verifier
		change(&p)
		if _, err := p.Check(key); !errors.Is(err, ErrNotTheRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNotProved(t *testing.T) {
	dir, paths := written(t)
	for event, want := range map[string]error{"AAAA:9": ErrUnsigned, "AAAA:10": ErrNoLine, "AAAA:x": ErrNoLine, "CCCC-1": ErrNoLine} {
		if _, err := Prove(t.Context(), dir, event); !errors.Is(err, want) {
			t.Errorf("%s: %v", event, err)
		}
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], bytes.Replace(raw, []byte("read"), []byte("rEad"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"AAAA:2", "AAAA:5"} { // the line that was changed, and one beside it
		if _, err := Prove(t.Context(), dir, event); !errors.Is(err, ErrNotTheRecord) {
			t.Errorf("%s: %v", event, err)
		}
	}
	if _, err := Prove(t.Context(), t.TempDir(), "AAAA:1"); !errors.Is(err, ErrNoLine) {
		t.Error(err)
	}
}
