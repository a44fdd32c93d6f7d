// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
)

var nameCases = []struct {
	asked, want string
	code        fault.Code
}{
	{"nginx", "nginx.service", ""},
	{"nginx.service", "nginx.service", ""},
	{"php8.2-fpm", "php8.2-fpm.service", ""},
	{"getty@tty1", "getty@tty1.service", ""},
	{"a@b@c", "a@b@c.service", ""},
	{`dev-disk\x2dby`, `dev-disk\x2dby.service`, ""},
	{"a:b_c", "a:b_c.service", ""},
	{strings.Repeat("a", 247), strings.Repeat("a", 247) + ".service", ""},
	{strings.Repeat("a", 248), "", fault.InvalidService},
	{strings.Repeat("a", 1<<20), "", fault.InvalidService},
	{"", "", fault.InvalidService},
	{".service", "", fault.InvalidService},
	{"@.service", "", fault.InvalidService},
	{"@a", "", fault.InvalidService},
	{"getty@", "", fault.InvalidService},
	{"getty@.service", "", fault.InvalidService},
	{"x.service.d", "", fault.InvalidService},
	{"x.service.service", "", fault.InvalidService},
	{"..", "", fault.InvalidService},
	{"../x", "", fault.InvalidService},
	{"/etc/passwd", "", fault.InvalidService},
	{"x/y", "", fault.InvalidService},
	{"a b", "", fault.InvalidService},
	{" nginx", "", fault.InvalidService},
	{"nginx\n", "", fault.InvalidService},
	{"nginx\x00", "", fault.InvalidService},
	{"nginx;reboot", "", fault.InvalidService},
	{"*", "", fault.InvalidService},
	{"ngin?", "", fault.InvalidService},
	{"n[a]", "", fault.InvalidService},
	{"-x", "", fault.InvalidService},
	{"--user", "", fault.InvalidService},
	{"-.mount", "", fault.InvalidService},
	{"ñginx", "", fault.InvalidService},
	{"nginx\u202e", "", fault.InvalidService},
	{"nginx.socket", "", fault.InvalidService},
	{"apt-daily.timer", "", fault.InvalidService},
	{"system.slice", "", fault.InvalidService},
	{"poweroff.target", "", fault.ProtectedService},
	{"x y.target", "", fault.ProtectedService},
	{"session-3.scope", "", fault.ProtectedService},
}

func TestNamesOfServices(t *testing.T) {
	for _, c := range nameCases {
		got, err := unitName(c.asked)
		if got != c.want || code(err) != c.code {
			t.Errorf("%.40q: %q, %v", c.asked, got, err)
		}
		if err != nil && len(fault.NewDocument("", err).Error) > 300 {
			t.Errorf("%.40q is told in %d bytes", c.asked, len(err.Error()))
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, c := range nameCases {
		f.Add(c.asked)
	}
	f.Fuzz(func(t *testing.T, asked string) {
		name, err := unitName(asked)
		if err != nil {
			if code(err) != fault.InvalidService && code(err) != fault.ProtectedService {
				t.Errorf("%q: %v", asked, err)
			}
			return
		}
		again, err := unitName(name)
		if again != name || err != nil || len(name) > maxName || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "/ *?[") || !strings.HasSuffix(name, suffix) {
			t.Errorf("%q became %q, and that %q, %v", asked, name, again, err)
		}
	})
}

func TestSimilarNames(t *testing.T) {
	names := []string{
		"apache2.service", "nginx.service", "mysql.service", "mysqld.service", "postgresql.service", "postgresql@15-main.service", "ssh.service",
		"cron.service", "systemd-journald.service", "reboot.service", "many@.service", "php8.2-fpm.service", "php8.1-fpm.service", "php8.3-fpm.service", "php7.4-fpm.service",
		"shop-covers.service", "shop-covers-import.service",
	}
	for _, c := range []struct {
		asked string
		want  []string
	}{
		{"ngnix.service", []string{"nginx.service"}},
		{"Nginx.service", []string{"nginx.service"}},
		{"apache.service", []string{"apache2.service"}},
		{"postgres.service", []string{"postgresql.service", "postgresql@15-main.service"}},
		{"sshd.service", []string{"ssh.service"}},
		{"crond.service", []string{"cron.service"}},
		{"covers.service", []string{"shop-covers.service", "shop-covers-import.service"}},
		{"cover.service", nil},
		{"mysq.service", []string{"mysql.service", "mysqld.service"}},
		{"php8.0-fpm.service", []string{"php8.1-fpm.service", "php8.2-fpm.service", "php8.3-fpm.service"}},
		{"systemd-journalf.service", nil},
		{"rebot.service", nil},
		{"x.service", nil},
		{"abh.service", nil},
		{"entirely-else.service", nil},
		{"many.service", nil},
	} {
		if diff := cmp.Diff(c.want, systemdKind.Similar(c.asked, names)); diff != "" {
			t.Errorf("%s: %s", c.asked, diff)
		}
	}
}
