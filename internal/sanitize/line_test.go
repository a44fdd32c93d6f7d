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
		"your password is hunter2, change it":                                       "your password is [redacted], change it",
		"Password for bob: hunter2":                                                 "Password for bob: [redacted]",
		"Password for user bob: correcthorsehunter2":                                "Password for user bob: [redacted]",
		"new password set to hunter2":                                               "new password set to [redacted]",
		"SET PASSWORD FOR 'x' = 'hunter2'":                                          "SET PASSWORD FOR 'x' = [redacted]",
		"token hunter2hunter2 accepted":                                             "token [redacted] accepted",
		"passwd[hunter2] password(hunter2)":                                         "passwd[[redacted]] password([redacted])",
		"OTP 482913 sent, OTP is 482914":                                            "OTP [redacted] sent, OTP is [redacted]",
		"encryption key hunter2; private key: hunter2":                              "encryption key [redacted]; private key: [redacted]",
		"api-key hunter2, authorization hunter2, secret hunter2":                    "api-key [redacted], authorization [redacted], secret [redacted]",
		"code=Xhunter2 session=Xhunter2 sid=Xhunter2 key=Xhunter2":                  "code=[redacted] session=[redacted] sid=[redacted] key=[redacted]",
		"GET /cb?code=Xhunter2&state=1 HTTP/1.1":                                    "GET /cb?code=[redacted]&state=1 HTTP/1.1",
		"GET /?access_token%3Dhunter2 HTTP/1.1":                                     "GET /?access_token%3D[redacted] HTTP/1.1",
		"GET /reset/a8Xhunter2hunter2 HTTP/1.1":                                     "GET /reset/[redacted] HTTP/1.1",
		"export GH_PAT=Xhunter2; snmp-community=Xhunter2":                           "export GH_PAT=[redacted]; snmp-community=[redacted]",
		"<password>hunter2</password> <db:pass type=\"x\">hunter2</db:pass>":        "<password>[redacted]</password> <db:pass type=\"x\">[redacted]</db:pass>",
		`<add key="Password" value="hunter2"/>`:                                     `<add key="Password" value=[redacted]/>`,
		"x Authorization=Basic hunter2 user=ann":                                    "x Authorization=[redacted] [redacted] user=ann",
		"smtp AUTH PLAIN AGFuHunter2hunter2":                                        "smtp AUTH PLAIN [redacted]", "redis AUTH Xhunter2": "redis AUTH [redacted]",
		"jdbc:oracle:thin:scott/hunter2@h:1521/x":                                            "jdbc:oracle:thin:scott/[redacted]@h:1521/x",
		"login of ann:hunter2@host.example dom/ann:hunter2@host.example":                     "login of ann:[redacted]@host.example dom/ann:[redacted]@host.example",
		"root:$6$salt$hunter2hunter2:19000:0 $y$j9T$hunter2hunter2":                          "root:$6$[redacted]:19000:0 $y$[redacted]",
		"IDENTIFIED WITH mysql_native_password BY 'hunter2'":                                 "IDENTIFIED WITH mysql_native_password BY [redacted]",
		"COMMAND=/bin/sh -c echo hunter2 | sudo -S ls":                                       "COMMAND=/bin/sh -c echo [redacted] | sudo -S ls",
		"root : TTY=pts/0 ; PWD=/srv/www ; USER=root ; COMMAND=/usr/bin/vault login hunter2": "root : TTY=pts/0 ; PWD=/srv/www ; USER=root ; COMMAND=/usr/bin/vault login [redacted]",
		"DSN=x;UID=sa;PWD=/hunter2":                                                          "DSN=x;UID=sa;PWD=[redacted]",
		"c2lnbmF0dXJlhunter2AA==":                                                            "[redacted]",
		"-----BEGIN RSA PRIVATE KEY-----":                                                    "[redacted]",
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
		"systemd-logind[7]: New session c12 of user ann.", "session=3 code=killed, status=9/KILL", "pam_unix(sudo:session): session closed for user root", "Started session-12.scope - Session 12 of User ann.",
		`type=SYSCALL msg=audit(1732390000.123:456): ses=3 comm="sshd" exe="/usr/sbin/sshd" key="time-change"`, "code=ECONNREFUSED key=(null) sid=S-1-5-21-3623811015-3361044348-30300820-1013", "code=0x80070005 code=-110 code=404 code=E11000",
		"token 7 expired, token type oauth2", "password policy requires 12 characters", "password set to expire in 90days", "secret named sha256", "gpg: key 648ACFD622F3D138: public key found",
		"Setting up passwd (1:4.13+dfsg1-1+deb12u2) ...", "Good signature from Archive Automatic Signing Key (12/bookworm)", "no cleartext password with CRAM-MD5", "AUTH LOGIN failed: authentication failure", "no private key for certificate: missing",
		"Loaded private key /etc/ssl/private/host1.pem", "Server listening on 0.0.0.0 port 22.", "pulled nginx:1.27@sha256:aabbccddeeff00112233445566778899", "mail from:ann@example.com to:bob@example.com", "usb 1-1: reset high-speed USB device number 2",
		"EXT4-fs (sda1): mounted filesystem 0a1b2c3d-0000-4000-8000-001122334455 r/w", "BGP community 65000:100", "bad password attempt 3 of 5 from 203.0.113.7:51022", "ann : TTY=pts/0 ; PWD=/root ; USER=root ; COMMAND=/usr/bin/id", "Failed password for invalid user oracle12 from 203.0.113.7 port 22 ssh2", "Failed password for ann2024 from 203.0.113.7 port 22 ssh2",
		"4f3a9c0012ab4f3a9c0012ab4f3a9c0012ab4f3a9c0012ab4f3a9c0012ab4f3a", "FATAL:  password authentication failed for user \"shop\": no match",
	} {
		line = strings.Join(strings.Fields(line), " ")
		if got := Line(line, 400); got != line {
			t.Errorf("%q\nis %q", line, got)
		}
	}
}
