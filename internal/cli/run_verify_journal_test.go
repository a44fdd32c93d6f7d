// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
)

// What is in the rest of a log that was not read to its end is not known, so the journal is not called intact.
func TestALogThatWasNotComparedToItsEndIsAFailure(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.log")
	if err := os.WriteFile(long, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, 256<<20+1); err != nil {
		t.Fatal(err)
	}
	op := ops.Actions()[slices.IndexFunc(ops.Actions(), func(o ops.Operation) bool { return o.Flag == "verify-journal" })]
	call := invocation{op: op, args: ops.Arguments{"heads": long}}
	_, err := runVerifyJournal(t.Context(), session{journal: quietJournal(dir)}, call)
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.JournalFailed || !strings.Contains(known.Message, "not all of the log was compared") {
		t.Errorf("%v", err)
	}
}

// The page says what the log does not prove.
func TestThePageTellsOfHeadsThatAreNotKept(t *testing.T) {
	r := journal.Report{Records: 5000, FirstSeq: 9, LastSeq: 5008, RotatedBefore: 9, Announced: &journal.Announced{Signed: 12, NotKept: 8}}
	p := newPage(200, false)
	verifyDocument{Report: r}.view(p)
	got := string(p.bytes())
	for _, want := range []string{"4 signed heads of this machine", "8 more signed heads of records that are not kept", "No head there tells where the journal begins"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
