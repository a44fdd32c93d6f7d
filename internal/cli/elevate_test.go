// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/host"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// behindSudo plays sudo, and keeps what it was asked and the requests.
type behindSudo struct {
	run, list sysexec.Result
	seen      []string
}

func (b *behindSudo) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path != "/usr/bin/sudo" || !c.NoKill || c.Timeout == 0 || c.Args[0] != "-n" && c.Args[0] != "-k" {
		return sysexec.Result{}, errors.New("sudo must neither ask nor be killed, and has to be bounded")
	}
	b.seen = append(b.seen, strings.TrimSpace(strings.Join(c.Args, " ")+" "+string(c.Stdin)))
	if c.Args[1] == "-l" {
		return b.list, nil
	}
	return b.run, nil
}

// shell is sentinel as a user types it on a machine with the package; groups are those of the
// session.
func shell(t *testing.T, sudo *behindSudo, groups ...int) Program {
	t.Helper()
	root := testenv.Plant(t, map[string]string{
		"usr/bin/sentinel": "x", "usr/bin/sudo": "x", "etc/sudoers.d/sentinel": "x",
		"etc/passwd": "ann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n", "etc/group": "sudo:x:27:bob\nsentinel:x:990:ann\n",
	})
	return Program{
		Open: func() (*host.Host, error) {
			return &host.Host{OS: "linux", Root: root, Live: true, Programs: sudo}, nil
		},
		ConfigPath: root + "/none", StateDir: t.TempDir(), Journal: journal.New(t.TempDir(), t.TempDir()), UID: 1000, Groups: groups,
		Own: func() (string, error) { return "/usr/bin/sentinel", nil }, Trusted: func(string) error { return nil },
	}
}

func TestWhatNeedsRootTakesTheRulesOfSudo(t *testing.T) {
	const through = "-k -n /usr/bin/sentinel --request "
	blocked := sysexec.Result{Stdout: []byte(`{"success":true,"action":"block_ip","timestamp":"2026-01-02T03:04:05Z","hostname":"h","version":"1","ip":"203.0.113.7","backend":"nftables","directions":["inbound"],"journal_seq":7}`)}
	protected := sysexec.Result{Exit: 4, Stdout: []byte(`{"success":false,"action":"block_ip","error":"It is the gateway.","error_code":"PROTECTED_ADDRESS","fix":"Block another one.","ip":"203.0.113.7"}`)}
	refused := sysexec.Result{Exit: 1, Stderr: []byte("sudo: a password is required\n")}
	mine := sysexec.Result{Stdout: []byte("User ann may run the following commands on h:\n    (root) NOPASSWD: /usr/bin/sentinel --request list_blocked_ips\n")}
	all := sysexec.Result{Stdout: []byte("User ann may run the following commands on h:\n    (ALL : ALL) ALL\n")}
	for name, test := range map[string]struct {
		args   string
		change func(*Program)
		sudo   behindSudo
		groups []int
		seen   []string
		exit   int
		says   []string
	}{
		"allowed": {"--block-ip 203.0.113.7 --ttl 1h", nil, behindSudo{run: blocked}, []int{990},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7","ttl":"1h"}`}, 0, []string{`"success":true`, `"backend":"nftables"`, `"journal_seq":7`}},
		"refused by a rule of sentinel": {"--block-ip 203.0.113.7", nil, behindSudo{run: protected}, []int{990},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`}, 4, []string{"PROTECTED_ADDRESS", "Block another one.", `"ip":"203.0.113.7"`}},
		"member who may only read": {"--block-ip 203.0.113.7", nil, behindSudo{run: refused, list: mine}, []int{990},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`, "-n -l"}, 3, []string{"PERMISSION_DENIED", "do not allow it to ann", "visudo -f /etc/sudoers.d/sentinel"}},
		"member of an older session": {"--block-ip 203.0.113.7", nil, behindSudo{run: refused, list: mine}, []int{1000},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`, "-n -l"}, 3, []string{"PERMISSION_DENIED", "Log out and in again"}},
		"older session, of which sudo tells nothing": {"--block-ip 203.0.113.7", nil, behindSudo{run: refused, list: refused}, []int{1000},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`, "-n -l"}, 3, []string{"PERMISSION_DENIED", "Log out and in again", "newgrp sentinel"}},
		"administrator in an older session": {"--block-ip 203.0.113.7", nil, behindSudo{run: refused, list: all}, []int{1000},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`, "-n -l"}, 3, []string{"Run it with sudo: sudo sentinel --block-ip 203.0.113.7"}},
		"what only an administrator may, in an older session": {"--block-ip 203.0.113.7 --force", nil, behindSudo{list: refused}, []int{1000},
			[]string{"-n -l"}, 3, []string{"Run it with sudo: sudo sentinel --block-ip 203.0.113.7 --force"}},
		"administrator": {"--block-ip 203.0.113.7", func(p *Program) { p.UID = 1001 }, behindSudo{run: refused, list: refused}, []int{1001},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`}, 3, []string{"Run it with sudo: sudo sentinel --block-ip 203.0.113.7"}},
		"member and administrator": {"--block-ip 203.0.113.7 --force", nil, behindSudo{list: refused}, []int{990},
			[]string{"-n -l"}, 3, []string{"Run it with sudo: sudo sentinel --block-ip 203.0.113.7 --force"}},
		"what has no literal form": {"--block-ip 203.0.113.7 --force", nil, behindSudo{list: mine}, []int{990},
			[]string{"-n -l"}, 3, []string{"have no form for --force"}},
		"a clone beside the package": {"--block-ip 203.0.113.7", func(p *Program) {
			p.Own = func() (string, error) { return "/home/ann/bin/sentinel", nil }
			p.Trusted = func(path string) error {
				if strings.Contains(path, "/home/") {
					return errors.New("someone else could change it")
				}
				return nil
			}
		}, behindSudo{list: mine}, []int{990}, []string{"-n -l"}, 3, []string{"Run the sentinel that root has installed: /usr/bin/sentinel --block-ip 203.0.113.7"}},
		"a dry run that has a form": {"--fix-firewall --dry-run", nil, behindSudo{run: sysexec.Result{Stdout: []byte(`{"success":true,"action":"enable_firewall","dry_run":true,"details":"Would do it.","preview":{"manager":"ufw"}}`)}}, []int{990},
			[]string{through + `enable_firewall {"confirm":false,"dry_run":true}`}, 0, []string{`"dry_run":true`, "Would do it.", `"manager":"ufw"`}},
		"a document of something else": {"--block-ip 203.0.113.7", nil, behindSudo{run: sysexec.Result{Stdout: []byte(`{"success":true,"action":"health"}`)}}, []int{990},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`}, 1, []string{"BAD_OUTPUT"}},
		"nothing at all": {"--block-ip 203.0.113.7", nil, behindSudo{run: sysexec.Result{Exit: 2, Stderr: []byte("panic: x\n")}}, []int{990},
			[]string{through + `block_ip_address {"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`}, 1, []string{"BAD_OUTPUT", "panic: x"}},
		"a wrong argument asks nobody": {"--block-ip 203.0.113.7 --ttl", nil, behindSudo{}, []int{990}, nil, 2, []string{"USAGE"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := shell(t, &test.sudo, test.groups...)
			if test.change != nil {
				test.change(&p)
			}
			var out, errs bytes.Buffer
			exit := p.Run(t.Context(), strings.Fields(test.args), strings.NewReader(""), &out, &errs)
			if diff := cmp.Diff(test.seen, test.sudo.seen); diff != "" {
				t.Errorf("asked of sudo (-want +got):\n%s", diff)
			}
			for _, text := range test.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%s\nwant %q", out.String(), text)
				}
			}
			if exit != test.exit || errs.Len() > 0 {
				t.Errorf("exit %d, want %d; %s", exit, test.exit, errs.String())
			}
		})
	}
}

// What is merely fuller as root names a command that sudo lets this user run, without asking it.
func TestPagesNameTheCommandThatShowsMore(t *testing.T) {
	for name, c := range map[string]struct {
		args   string
		uid    int
		groups []int
		want   string
	}{
		"member":                            {"", 1000, []int{1000, 990}, "sudo sentinel --request get_system_health < /dev/null"},
		"member, of a list":                 {"--list-blocked", 1000, []int{1000, 990}, "sudo sentinel --request list_blocked_ips < /dev/null"},
		"administrator":                     {"", 1001, []int{1001, 27}, "sudo sentinel"},
		"administrator, of a list":          {"--list-blocked --no-pager", 1001, []int{1001, 27}, "sudo sentinel --list-blocked"},
		"neither":                           {"", 1001, []int{1001}, ""},
		"session older than the membership": {"", 1000, []int{1000}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var sudo behindSudo
			p := shell(t, &sudo, c.groups...)
			p.UID = c.uid
			call, err := parse(strings.Fields(c.args))
			if err != nil {
				t.Fatal(err)
			}
			page := p.newOutput(t.Context(), call, io.Discard, io.Discard).page()
			page.gaps(answer.Gaps{{Field: "firewall", Reason: "Only root can use the packet filter."}})
			_, got, _ := strings.Cut(page.b.String(), "As root it shows more:\n")
			if strings.TrimSpace(got) != c.want || len(sudo.seen) > 0 {
				t.Errorf("%q, want %q; asked %q", page.b.String(), c.want, sudo.seen)
			}
		})
	}
}

// A request never takes sudo by itself: the run behind sudo is one.
func TestRequestDoesNotElevateItself(t *testing.T) {
	var sudo behindSudo
	p := shell(t, &sudo, 990)
	var out bytes.Buffer
	exit := p.Run(t.Context(), []string{"--request", "block_ip_address"}, strings.NewReader(`{"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`), &out, &out)
	if exit != 3 || len(sudo.seen) > 0 || !strings.Contains(out.String(), "PERMISSION_DENIED") {
		t.Errorf("exit %d, asked %q\n%s", exit, sudo.seen, out.String())
	}
}

// What comes from the run behind sudo is shown as if this run had made it.
func TestDocumentsSurviveTheWayThroughSudo(t *testing.T) {
	for _, op := range ops.All() {
		if op.Privilege != ops.NeedsRoot {
			continue
		}
		result := operations()[op.Name].result
		made := reflect.New(result)
		fill(made.Elem(), 0)
		want, err := json.Marshal(made.Interface())
		if err != nil {
			t.Fatal(err)
		}
		doc, err := decodeDocument(result, want)
		if err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		got, err := json.Marshal(doc)
		if err != nil || string(got) != string(want) || len(got) < 100 {
			t.Errorf("%s: %v\n%s\n%s", op.Name, err, want, got)
		}
	}
}

// fill gives every member of a value something.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous && v.Field(i).Kind() == reflect.Struct {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}
