// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func TestTheServiceOfPostfixThatRunsNothingIsTested(t *testing.T) {
	if test, ok := testOf("postfix.service", [][]string{{"/bin/true"}}); !ok || len(test.args) != 1 || test.args[0] != "-n" {
		t.Errorf("%+v, %v", test, ok)
	}
}

// The test is chosen by what a service runs, and is a literal.
func TestTestsOfConfigurations(t *testing.T) {
	for _, c := range []struct{ runs, want string }{
		{"/usr/sbin/nginx -g daemon on;", "-t"},
		{"/usr/sbin/nginx -c /etc/nginx/nginx.conf", "-t"},
		{"/usr/sbin/nginx -c /srv/other.conf", "none"},
		{"/usr/sbin/nginx -c/srv/other.conf", "none"},
		{"/usr/sbin/sshd -D $SSHD_OPTS", "-t"},
		{"/usr/sbin/sshd -D -f /srv/sshd_config", "none"},
		{"/usr/sbin/apachectl start", "-t"},
		{"/usr/sbin/httpd $OPTIONS -DFOREGROUND", "-t"},
		{"/usr/sbin/named -f $OPTIONS", ""},
		{"/usr/sbin/named -t /var/lib/chroot", "none"},
		{"/usr/sbin/haproxy -Ws -f $CONFIG -p $PIDFILE", "-c -f /etc/haproxy/haproxy.cfg"},
		{"/usr/sbin/haproxy -Ws -f /srv/h.cfg", "none"},
		{"/usr/sbin/postfix start-fg", "-n"},
		{"/usr/bin/python3 nginx", "none"},
		{"", "none"},
	} {
		test, ok := testOf("x.service", [][]string{{"/bin/mkdir", "-c", "/x"}, strings.Fields(c.runs)})
		got := strings.Join(test.args, " ")
		if !ok {
			got = "none"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.runs, got, c.want)
		}
	}
}

func TestATestOfAConfigurationRunsAProgramOfRootAlone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	const root = "/mnt"
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "usr/sbin/nginx")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	run := &runner{result: sysexec.Result{Exit: 1, Stderr: []byte("nginx: [emerg] bad\n"), Stdout: []byte("more\n\n")}}
	m := manager{root: root, runner: run}
	unit := services.Unit{Commands: [][]string{{"/usr/sbin/nginx"}}}
	if got := m.TestConfiguration(t.Context(), unit); got != nil {
		t.Errorf("without the program: %+v", got)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&services.ConfigTest{Command: "nginx -t", Lines: []string{"nginx: [emerg] bad", "more"}}, m.TestConfiguration(t.Context(), unit)); diff != "" {
		t.Error(diff)
	}
	if run.asked.Path != "/usr/sbin/nginx" || run.asked.Timeout == 0 || run.asked.MaxOutput == 0 {
		t.Errorf("%+v", run.asked)
	}
	run.result.Exit = 0
	if got := m.TestConfiguration(t.Context(), unit); !got.Passed || got.Err != nil {
		t.Errorf("%+v", got)
	}
	if err := os.Chown(program, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	run.asked = sysexec.Command{}
	if got := m.TestConfiguration(t.Context(), unit); got.Err == nil || got.Passed || run.asked.Path != "" {
		t.Errorf("a program of a user: %+v, ran %q", got, run.asked.Path)
	}
}

// A runner returns the same result for every command.
type runner struct {
	result sysexec.Result
	asked  sysexec.Command
}

func (r *runner) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	r.asked = c
	return r.result, nil
}
