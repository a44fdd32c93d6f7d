// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strings"
	"testing"
)

func TestLinesOfLogsShowNoSecret(t *testing.T) {
	for line, want := range map[string]string{
		"auth: Login failed: password=hunter2 for ann":                              "auth: Login failed: password=[redacted] for ann",
		"connecting to postgres://shop:hunter2@db.example/shop":                     "connecting to postgres://[redacted]@db.example/shop",
		`POST /login HTTP/1.1 {"user":"ann","password":"hunter2"}`:                  `POST /login HTTP/1.1 {"user":"ann","password":[redacted]}`,
		"GET /cb?code=1&token=hunter2 HTTP/1.1":                                     "GET /cb?code=1&token=[redacted] HTTP/1.1",
		"root : TTY=pts/0 ; USER=root ; COMMAND=/usr/bin/mysql -phunter2 shop":      "root : TTY=pts/0 ; USER=root ; COMMAND=/usr/bin/mysql -p[redacted] shop",
		"Authorization: Bearer hunter2hunter2":                                      "Authorization:[redacted]",
		"level=info msg=started api_key=hunter2 port=80":                            "level=info msg=started api_key=[redacted] port=80",
		"ERROR 1045: Access denied, IDENTIFIED BY 'hunter2'":                        "ERROR 1045: Access denied, IDENTIFIED BY [redacted]",
		"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7hunter2hunter2hunter2": "[redacted]",
		"-----BEGIN RSA PRIVATE KEY-----":                                           "[redacted]",
	} {
		if got := Line(line, 400); got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%q\n is %q\nwant %q", line, got, want)
		}
	}
}

// What a log says of passwords and keys is no secret.
func TestLinesOfLogsStayReadable(t *testing.T) {
	for _, line := range []string{
		"Failed password for root from 2001:db8::7 port 51022 ssh2", "Failed password for invalid user admin from 203.0.113.7 port 22 ssh2",
		"Accepted publickey for ann from 2001:db8::7 port 22 ssh2: ED25519 SHA256:tIO6/Wyn3Pp8oTcyrMSxM0jr3GGGEVaXRCuDWvfsvZo",
		"pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=203.0.113.7  user=root", "pam_unix(sudo:session): session opened for user root(uid=0) by ann(uid=1000)",
		"error: maximum authentication attempts exceeded for root from 2001:db8::7 port 22 ssh2 [preauth]", "password check failed for user (ann): expired",
		"nginx.service: Main process exited, code=exited, status=1/FAILURE", "bind() to 0.0.0.0:80 failed (98: Address already in use)",
		"4f3a9c0012ab4f3a9c0012ab4f3a9c0012ab4f3a9c0012ab4f3a9c0012ab4f3a", "FATAL:  password authentication failed for user \"shop\": no match",
	} {
		line = strings.Join(strings.Fields(line), " ")
		if got := Line(line, 400); got != line {
			t.Errorf("%q\nis %q", line, got)
		}
	}
}
