// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// unread are the commands with published outputs that sentinel does not run, with
// the reason.
var unread = map[string]string{
	"alf-plist":       "a file that macOS 15 and later do not keep up to date; socketfilterfw is asked",
	"arp":             "which neighbours there are is no question of any operation",
	"id":              "only id -P is run, whose line is that of master.passwd(5)",
	"ioreg":           "system_profiler tells the serial number and the hardware UUID",
	"last":            "sysctl kern.boottime tells the start",
	"memory_pressure": "sysctl kern.memorystatus_vm_pressure_level tells the level",
	"nettop":          "netstat and lsof tell the sockets",
	"networksetup":    "ifconfig tells the interfaces",
	"sudo":            "sentinel-mcp and the doctor run it alike on every system",
	"uptime":          "sysctl vm.loadavg and kern.boottime tell both",
	"w":               "lsof tells the sessions of sshd",
	"who":             "lsof tells the sessions of sshd",
}

// Every command of the recorded outputs is put to the package that reads it, or
// is one that sentinel does not run.
func TestEveryRecordedCommandIsReadOrNeedNotBe(t *testing.T) {
	root := os.Getenv("SENTINEL_TRANSCRIPTS")
	if root == "" {
		t.Skip("SENTINEL_TRANSCRIPTS names no directory of recorded outputs")
	}
	dirs, err := os.ReadDir(filepath.Join(root, "darwin"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOfRecorded(t)
	for _, dir := range dirs {
		name := dir.Name()
		if !dir.IsDir() {
			continue
		}
		read := strings.Contains(tests, `"`+name+`"`)
		if _, known := unread[name]; !read && !known {
			t.Errorf("nobody reads the recorded outputs of %s", name)
		}
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
