// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/testenv"
)

// Every command whose recorded outputs are known by their content is read by a test of the package
// that reads it, and every known folder holds what its name says, as far as content tells.
func TestEveryRecordedCommandIsRead(t *testing.T) {
	tests := testsOfRecorded(t)
	for _, command := range testenv.RecordedCommands() {
		if !strings.Contains(tests, `"`+command+`"`) {
			t.Errorf("nobody reads the recorded outputs of %s", command)
		}
	}
}

// A folder of another name is no mistake: what is in it goes by its content, to whoever reads that.
func TestRecordedOutputsGoByTheirContent(t *testing.T) {
	for content, want := range map[string]string{
		"Note: No thermal warning level has been recorded\n": "pmset", "en0: flags=8863<UP> metric 1 mtu 1500\n": "ifconfig", "\nHardware Port: Wi-Fi\nDevice: en0\n": "networksetup",
		"Software Update Tool\n\nNo new software available.\n": "softwareupdate", "Filesystem 1024-blocks Used\n": "df", "System Integrity Protection status: enabled.\n": "csrutil",
		"hw.memsize: 17179869184\n": "sysctl", "Darwin mac 25.6.0 Darwin\n": "uname", "hello\n": "",
	} {
		var got []string
		for _, command := range testenv.RecordedCommands() {
			if (testenv.Recorded{Raw: []byte(content)}).PrintedBy(command) {
				got = append(got, command)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q goes to %q, want %q", content, got, want)
		}
	}
	unknown := testenv.Plant(t, map[string]string{"darwin/a-new-folder/b/printed.log": "Darwin mac 25.6.0 Darwin\n", "darwin/a-new-folder/other": "hello\n", "darwin/INDEX.md": "Darwin mac 25\n"})
	t.Setenv("SENTINEL_TRANSCRIPTS", unknown)
	if got := testenv.RecordedOutputs(t, "uname"); len(got) != 1 || got[0].Name != "printed.log" {
		t.Errorf("%+v", got)
	}
	if got := testenv.RecordedOutputs(t, "df"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// testsOfRecorded returns the tests that read recorded outputs.
func testsOfRecorded(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../../platform/darwin", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), "testenv.RecordedOutputs(") {
			all.Write(raw)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// unrecorded are the command lines of the made-up Macs that a recording leaves out
// though they may only read, with the reason.
var unrecorded = map[string]string{
	"/bin/launchctl kickstart ":                        "it restarts a service",
	"/usr/local/bin/sentinel --read-sensors-as-child":  "it is sentinel itself, which may not be installed",
	"/usr/bin/sqlite3 -readonly -batch -json /Library": "a statement is no list of words that could be told harmless",
	"/usr/sbin/traceroute ":                            "it sends packets",
	"/usr/bin/last ":                                   "it tells when the people of a Mac were there",
	"/usr/bin/dscl . -list /Users ":                    "it names the people of a Mac",
	"/usr/bin/sfltool dumpbtm":                         "it names what everybody on a Mac has start by itself, and may ask for a password",
	"/usr/bin/log show ":                               "it may print anything that any program has logged",
}

// Whoever records a Mac gets every command line that the tests play, unless there is a
// reason against it.
func TestEveryCommandLineOfTheMacsIsRecordedOrNeedNotBe(t *testing.T) {
	files, err := filepath.Glob("../../testdata/macs/*/exec/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		argv, _, _ := strings.Cut(strings.TrimPrefix(string(txtar.Parse(raw).Comment), "argv: "), "\n")
		known := false
		for prefix := range unrecorded {
			known = known || strings.HasPrefix(argv, prefix)
		}
		if readsOnly(argv) == known {
			t.Errorf("%s: recorded and left out with a reason are both %v: %s", filepath.Base(file), known, argv)
		}
	}
}
