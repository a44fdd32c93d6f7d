// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

func lately(t *testing.T, files map[string]string) (Lately, error) {
	t.Helper()
	return New(testenv.Plant(t, files), nil, func() time.Time { return now }).Lately(now.Add(-time.Hour))
}

func TestFailuresOfTheLastHour(t *testing.T) {
	old := strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.1", now.Add(-2*time.Hour)), 5)
	btmp := old + strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now.Add(-time.Minute)), 30) + record(6, "tty1", "mira", "", now) + record(6, "tty1", "x", "", now.Add(99*time.Hour))
	got, err := lately(t, map[string]string{"var/log/btmp": btmp})
	if diff := cmp.Diff(Lately{31, map[string]int{"203.0.113.9": 30}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	log := "Nov 23 11:59:00 host sshd[7]: Connection closed by authenticating user root 203.0.113.9 port 1 [preauth]\nNov 23 11:59:00 host cron[7]: x\nNov 23 09:59:00 host sshd[7]: Connection closed by authenticating user root 203.0.113.9 port 2 [preauth]\n"
	got, err = lately(t, map[string]string{"var/log/btmp": old, "var/log/auth.log": log})
	if diff := cmp.Diff(Lately{1, map[string]int{"203.0.113.9": 1}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	got, err = lately(t, map[string]string{"var/log/btmp": ""})
	if diff := cmp.Diff(Lately{0, map[string]int{}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := lately(t, nil); !hostfile.Missing(err) {
		t.Error(err)
	}
}

// A server on the internet has gigabytes of failures; the end of them is read.
func TestFailuresOfTheLastHourAreBounded(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/log/btmp": strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now), 5000)})
	got, err := New(root, nil, func() time.Time { return now }).Lately(now.Add(-time.Hour))
	if err != nil || got.Failures != maxLately {
		t.Errorf("%v, %+v", err, got)
	}
	if err := os.Truncate(filepath.Join(root, "var/log/btmp"), 1<<33); err != nil { // most of it a hole
		t.Fatal(err)
	}
	if got, err := New(root, nil, func() time.Time { return now }).Lately(now.Add(-time.Hour)); err != nil || got.Failures != 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

func BenchmarkLately(b *testing.B) {
	var log strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&log, "Nov 23 11:59:00 host sshd[7]: Failed password for invalid user admin from 203.0.113.9 port %d ssh2\n", n)
	}
	for name, files := range map[string]map[string]string{
		"btmp":     {"var/log/btmp": strings.Repeat(record(6, "ssh:notty", "root", "203.0.113.9", now), 5000)},
		"auth.log": {"var/log/auth.log": log.String()},
	} {
		b.Run(name, func(b *testing.B) {
			r := New(testenv.Plant(b, files), nil, func() time.Time { return now })
			for b.Loop() {
				if _, err := r.Lately(now.Add(-time.Hour)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
