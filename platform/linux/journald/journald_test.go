// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

const (
	ownID   = "0123456789abcdef0123456789abcdef"
	otherID = "fedcba9876543210fedcba9876543210"
)

// machine is a root with a journal folder.
func machine(t *testing.T, folders ...string) string {
	files := map[string]string{"etc/machine-id": ownID + "\n"}
	for _, folder := range folders {
		files[folder+"/"] = ""
	}
	return testenv.Plant(t, files)
}

func TestEntriesAreReadAndNothingCanBeAnOption(t *testing.T) {
	root := machine(t, "var/log/journal/"+ownID)
	run := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte("-- No entries --\n" + `{"__REALTIME_TIMESTAMP":"1772600767000000","MESSAGE":"a"}` + "\n" + `{"MESSAGE":"no time"}` + "\n" + `{"__REALTIME_TIMESTAMP":"1772600766000000","MESSAGE":"cut o`)}}}
	var got []string
	notes, err := Journal{Root: root, Runner: run}.Read(t.Context(), Query{Unit: "nginx.service", Since: time.Unix(1000, 5000), Until: time.Unix(2000, 0), Priority: 4, Last: 7}, func(e *Entry) bool {
		got = append(got, fmt.Sprint(e.Time().Unix(), " ", string(e.Message)))
		return true
	})
	if err != nil || notes != nil || !slices.Equal(got, []string{"1772600767 a", "1772600766 cut o"}) {
		t.Errorf("%q, %q, %v", got, notes, err)
	}
	want := "/usr/bin/journalctl --root=" + root + " --no-pager --output=json --reverse --output-fields=" + fields + " --since=@1000.000005 --until=@2000.000000 --lines=7 --priority=4 --unit=nginx.service"
	if run.Ran[0] != want {
		t.Errorf("ran  %s\nwant %s", run.Ran[0], want)
	}
}

func TestTheKernelIsAskedForByItsTransport(t *testing.T) {
	if args := (Query{Unit: Kernel, Priority: -1, Since: time.Unix(-5, 0)}).args(); args[len(args)-1] != "_TRANSPORT=kernel" || !slices.Contains(args, "--since=@0.000000") {
		t.Errorf("%q", args)
	}
}

// What journalctl says of trouble is told, and what it had read before counts.
func TestATroubledJournalGivesWhatThereIs(t *testing.T) {
	root := machine(t, "var/log/journal/"+ownID)
	entry := []byte(`{"__REALTIME_TIMESTAMP":"1772600767000000","MESSAGE":"a"}` + "\n")
	for name, c := range map[string]struct {
		result sysexec.Result
		notes  []string
		err    string
	}{
		"corrupt": {sysexec.Result{Exit: 1, Stdout: entry, Stderr: []byte("Failed to iterate through journal: Bad message\n")}, []string{"Failed to iterate through journal: Bad message"}, "journalctl ended with status 1"},
		"ignored": {sysexec.Result{Stdout: entry, Stderr: []byte("Journal file /var/log/journal/x/system.journal is truncated, ignoring file.\n")}, []string{"Journal file /var/log/journal/x/system.journal is truncated, ignoring file."}, ""},
		"user": {sysexec.Result{Stdout: entry, Stderr: []byte("Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm', 'systemd-journal' can see all messages.\n      Pass -q to turn off this notice.\n")},
			[]string{NotPermitted}, ""},
		"nobody": {sysexec.Result{Exit: 1, Stdout: entry, Stderr: []byte("Hint: You are currently not seeing messages from other users and the system.\nNo journal files were opened due to insufficient permissions.\n")}, []string{NotPermitted}, ""},
	} {
		n := 0
		notes, err := Journal{Root: root, Runner: &replay.Sequence{Results: []sysexec.Result{c.result}}}.Read(t.Context(), Query{Priority: -1}, func(*Entry) bool { n++; return true })
		if said := fmt.Sprint(err); !slices.Equal(notes, c.notes) || c.err == "" && err != nil || !strings.Contains(said, c.err) || n != 1 {
			t.Errorf("%s: %q, %v, %d entries", name, notes, err, n)
		}
	}
}

func TestWhereThereIsNoJournal(t *testing.T) {
	none := &replay.Sequence{Results: []sysexec.Result{{Stderr: []byte("No journal files were found.\n")}}}
	for name, j := range map[string]Journal{
		"no folder": {machine(t), none}, "another machine's": {machine(t, "var/log/journal/"+otherID), none}, "no files": {machine(t, "run/log/journal/"+ownID), none},
	} {
		if _, err := j.Read(t.Context(), Query{Priority: -1}, nil); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := (Journal{Root: machine(t, "var/log/journal/"+otherID, "var/log/journal/remote", "run/log/journal/"+ownID+".extra")}).Others(); n != 2 {
		t.Errorf("%d others", n)
	}
	apart := Journal{Root: machine(t, "var/log/journal/"+ownID, "run/log/journal/"+ownID+".extra")}.Namespaces()
	if none := (Journal{Root: machine(t, "var/log/journal/"+ownID, "var/log/journal/"+otherID+".extra")}).Namespaces(); none != nil || !slices.Equal(apart, []string{"--namespace=*"}) {
		t.Errorf("options for namespaces: %q, without any %q", apart, none)
	}
	if !(Journal{Root: machine(t, "run/log/journal/"+ownID)}).Volatile() || (Journal{Root: machine(t, "var/log/journal/"+ownID)}).Volatile() {
		t.Error("which journal is kept")
	}
}

func TestNamesOfUnits(t *testing.T) {
	for typed, want := range map[string]string{
		"nginx": "nginx.service", "nginx.service": "nginx.service", "backup.timer": "backup.timer", "getty@tty1": "getty@tty1.service", "-.mount": "-.mount", `dev-disk-by\x2did.swap`: `dev-disk-by\x2did.swap`,
		"": "", ".service": "", "-x": "", "a b": "", "a*": "", "../x": "", "a\n": "", "getty@": "", strings.Repeat("a", 300): "", "ä": "",
	} {
		if got, err := UnitName(typed); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", typed, got, err)
		}
	}
}

// realJournal makes a journal of n entries below a root, as journald would.
func realJournal(t *testing.T, n int) (root, file string) {
	t.Helper()
	var export strings.Builder
	for i := range n {
		fmt.Fprintf(&export, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\nPRIORITY=%d\n_PID=812\nSYSLOG_IDENTIFIER=sshd\n_SYSTEMD_UNIT=ssh.service\nMESSAGE=Failed password, attempt %d\n\n",
			1772600000000000+int64(i)*1000000, 1+i, otherID, ownID, 3+i%4, i)
	}
	return imported(t, export.String())
}

// imported makes a journal of entries in the export format of systemd.
func imported(t *testing.T, export string) (root, file string) {
	t.Helper()
	root = machine(t, "var/log/journal/"+ownID)
	file = filepath.Join(root, "var/log/journal", ownID, "system.journal")
	testenv.Journal(t, file, export)
	return root, file
}

func TestARealJournal(t *testing.T) {
	root, file := realJournal(t, 2000)
	j := Journal{Root: root, Runner: sysexec.Host{}}
	read := func(q Query, enough int) (list []string, notes []string, err error) {
		notes, err = j.Read(t.Context(), q, func(e *Entry) bool {
			list = append(list, fmt.Sprint(e.Priority, " ", e.PID, " ", string(e.Unit), " ", string(e.Message)))
			return len(list) != enough
		})
		return list, notes, err
	}
	all := Query{Unit: "ssh.service", Since: time.Unix(1772600000, 0), Until: time.Unix(1772610000, 0), Priority: -1}
	if list, notes, err := read(all, 0); err != nil || len(list) != 2000 || len(notes) > 0 || list[0] != "6 812 ssh.service Failed password, attempt 1999" {
		t.Fatalf("%d entries, first %q, %q, %v", len(list), list[:min(len(list), 1)], notes, err)
	}
	if list, _, err := read(all, 3); err != nil || len(list) != 3 {
		t.Errorf("%d entries, %v", len(list), err)
	}
	worst := all
	worst.Priority, worst.Since = 3, time.Unix(1772601000, 0)
	if list, _, err := read(worst, 0); err != nil || len(list) != 250 {
		t.Errorf("%d entries, %v", len(list), err)
	}
	if oldest := j.Oldest(t.Context()); oldest.Unix() != 1772600000 {
		t.Error(oldest)
	}
	if units, err := j.Units(t.Context()); err != nil || !slices.Equal(units, []string{"ssh.service"}) {
		t.Errorf("%q, %v", units, err)
	}

	if holes := j.Holes(all.Since, all.Until); holes != nil {
		t.Errorf("a whole journal lacks %v", holes)
	}

	// Of a journal whose end was lost, and of one with rubbish in it, there is what there is.
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"cut": whole[:len(whole)/3], "rubbish": append(slices.Clone(whole[:len(whole)/9]), slices.Repeat([]byte{0x5a}, len(whole)-len(whole)/9)...),
		"zeros": append(slices.Clone(whole[:len(whole)/9]), make([]byte, len(whole)-len(whole)/9)...)} {
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), testenv.HangLimit)
		defer cancel()
		want := []Hole{{From: time.Unix(1772600000, 0), To: time.Unix(1772601999, 0), File: "system.journal"}}
		if holes := j.Holes(all.Since, all.Until); !slices.Equal(holes, want) {
			t.Errorf("%s: holes %v", name, holes)
		}
		n := 0
		notes, err := j.Read(ctx, all, func(*Entry) bool { n++; return true })
		if n == 2000 || err == nil && len(notes) == 0 && !j.Oldest(ctx).IsZero() {
			t.Errorf("%s: %d entries, %q, %v", name, n, notes, err)
		}
	}
}

// A counter counts what programs print.
type counter struct {
	sysexec.Runner
	bytes int
}

func (c *counter) Run(ctx context.Context, command sysexec.Command) (sysexec.Result, error) {
	take := command.OnStdout
	command.OnStdout = func(piece []byte) bool {
		c.bytes += len(piece)
		return take(piece)
	}
	return c.Runner.Run(ctx, command)
}

// Any user can send a message of hundreds of megabytes, which takes a few kilobytes in the journal.
func TestAMessageOfAnyLengthIsNotPrinted(t *testing.T) {
	var export strings.Builder
	add := func(at int64, uid int, message string) {
		fmt.Fprintf(&export, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\nPRIORITY=6\n_UID=%d\nMESSAGE\n", 1772600000000000+at, 1+at, otherID, ownID, uid)
		export.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(message))))
		export.WriteString(message + "\n\n")
	}
	add(0, 0, "first\nand second line")
	for i := range 3 {
		add(int64(1+i), 1500, strings.Repeat("\xff", 8<<20))
	}
	add(4, 0, "last \xff")
	root, _ := imported(t, export.String())
	count := &counter{Runner: sysexec.Host{}}
	var got []string
	notes, err := Journal{Root: root, Runner: count}.Read(t.Context(), Query{Priority: -1}, func(e *Entry) bool {
		got = append(got, fmt.Sprint(e.UID, " ", e.TooLong, " ", string(e.Message)))
		return true
	})
	long := "1500 true (text of more than 4 KiB, not shown)"
	if want := []string{"0 false last \xff", long, long, long, "0 false first\nand second line"}; err != nil || len(notes) > 0 || !slices.Equal(got, want) {
		t.Errorf("%.300q, %q, %v", got, notes, err)
	}
	if count.bytes > 5*1000 {
		t.Errorf("%d bytes were printed of 5 entries", count.bytes)
	}
}
