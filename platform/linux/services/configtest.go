// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/privilege"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/trust"
)

const (
	// testLimit bounds the test of a configuration; it takes milliseconds.
	testLimit = 5 * time.Second
	// maxTestOutput bounds what it may print, in bytes, and maxTestLines what is kept of it.
	maxTestOutput = 256 << 10
	maxTestLines  = 40
)

// A configTest is the command by which a program tests its configuration. The commands are literals:
// nothing of a unit reaches them. That of Postfix is postconf(1), which reads both files of it; "postfix
// check" makes the folders that are missing.
type configTest struct {
	programs []string // base names of what the service runs
	files    []string // where the test is installed; the first that is there
	args     []string
	// other are options of the service after which it reads another file than the test would, unless
	// that file follows.
	other []string
	file  string
}

var configTests = []configTest{
	{[]string{"nginx"}, []string{"/usr/sbin/nginx", "/usr/bin/nginx"}, []string{"-t"}, []string{"-c", "-p"}, "/etc/nginx/nginx.conf"},
	{[]string{"sshd"}, []string{"/usr/sbin/sshd", "/usr/bin/sshd"}, []string{"-t"}, []string{"-f"}, "/etc/ssh/sshd_config"},
	{[]string{"apachectl", "apache2ctl", "apache2", "httpd"}, []string{"/usr/sbin/apachectl", "/usr/bin/apachectl"}, []string{"-t"}, []string{"-f", "-d"}, ""},
	{[]string{"named"}, []string{"/usr/bin/named-checkconf", "/usr/sbin/named-checkconf"}, nil, []string{"-c", "-t"}, ""},
	{[]string{"postfix", "postmulti", "master"}, []string{"/usr/sbin/postconf", "/usr/bin/postconf"}, []string{"-n"}, []string{"-c"}, "/etc/postfix"},
	{[]string{"haproxy"}, []string{"/usr/sbin/haproxy", "/usr/bin/haproxy"}, []string{"-c", "-f", "/etc/haproxy/haproxy.cfg"}, []string{"-f"}, "/etc/haproxy/haproxy.cfg"},
}

// TestConfiguration implements [services.Manager]. The test is that of the program which the service
// runs, as root, who alone can read all of its files. A service that reads another file than the test
// is not tested.
func (m *manager) TestConfiguration(ctx context.Context, u services.Unit) *services.ConfigTest {
	t, ok := testOf(u.Name, u.Commands)
	if !ok {
		return nil
	}
	program, ok := m.installed(t.files)
	if !ok {
		return nil
	}
	result := &services.ConfigTest{Command: strings.Join(append([]string{path.Base(program)}, t.args...), " ")}
	if !privilege.IsRoot() {
		result.Err = errors.New("it needs root")
		return result
	}
	if result.Err = trust.RootOnly.File(filepath.Join(m.root, program)); result.Err != nil {
		return result
	}
	r, err := m.runner.Run(ctx, sysexec.Command{Path: program, Args: t.args, MaxOutput: maxTestOutput, Timeout: testLimit})
	if result.Err = err; err == nil {
		result.Passed, result.Lines = r.Exit == 0, outputLines(r)
	}
	return result
}

// installed returns the first of the files that is there.
func (m *manager) installed(files []string) (string, bool) {
	for _, file := range files {
		if info, err := os.Stat(filepath.Join(m.root, file)); err == nil && info.Mode().IsRegular() {
			return file, true
		}
	}
	return "", false
}

// testOf finds the test for what a service runs. postfix.service of Debian runs nothing itself: its instances
// are restarted with it.
func testOf(name string, commands [][]string) (configTest, bool) {
	if name == "postfix"+suffix {
		commands = append([][]string{{"postfix"}}, commands...)
	}
	for _, command := range commands {
		if len(command) == 0 {
			continue
		}
		for _, t := range configTests {
			if slices.Contains(t.programs, path.Base(command[0])) {
				return t, !t.elsewhere(commands)
			}
		}
	}
	return configTest{}, false
}

// elsewhere says that a command of the service names another file than the test reads. What a variable
// of the unit holds is not known here, and taken for the usual file.
func (t configTest) elsewhere(commands [][]string) bool {
	for _, command := range commands {
		if len(command) == 0 || !slices.Contains(t.programs, path.Base(command[0])) {
			continue
		}
		for i, word := range command[1:] {
			for _, option := range t.other {
				value, joined := strings.CutPrefix(word, option)
				if word == option && i+2 < len(command) {
					value, joined = command[i+2], true
				}
				if joined && strings.HasPrefix(value, "/") && value != t.file {
					return true
				}
			}
		}
	}
	return false
}

// outputLines are the lines that a test printed, its errors first.
func outputLines(r sysexec.Result) []string {
	var lines []string
	for line := range strings.Lines(string(r.Stderr) + "\n" + string(r.Stdout)) {
		if line = strings.TrimSpace(line); line != "" && len(lines) < maxTestLines {
			lines = append(lines, line)
		}
	}
	return lines
}
