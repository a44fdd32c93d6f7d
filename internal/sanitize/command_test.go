// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// secret stands in every command line below; none may show it.
const secret = "hunter2"

func TestCommandLinesShowNoSecret(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		// Options.
		{[]string{"x", "--password=hunter2"}, "x --password=[redacted]"},
		{[]string{"x", "--password", "hunter2", "--port", "80"}, "x --password [redacted] --port 80"},
		{[]string{"x", "--password=hunter2 with blanks;&,"}, "x --password=[redacted]"},
		{[]string{"x", "--password", "hunter2 with blanks"}, "x --password [redacted]"},
		{[]string{"x", "--password", `"hunter2`, "--port", "80"}, "x --password [redacted] --port 80"},
		{[]string{"x", "-password", "hunter2"}, "x -password [redacted]"},
		{[]string{"x", "--pass", "hunter2"}, "x --pass [redacted]"},
		{[]string{"x", "--db-passwd=hunter2"}, "x --db-passwd=[redacted]"},
		{[]string{"x", "--passphrase", "hunter2"}, "x --passphrase [redacted]"},
		{[]string{"x", "--api-key", "hunter2"}, "x --api-key [redacted]"},
		{[]string{"x", "--apikey=hunter2"}, "x --apikey=[redacted]"},
		{[]string{"x", "--authkey=hunter2"}, "x --authkey=[redacted]"},
		{[]string{"x", "--token", "hunter2"}, "x --token [redacted]"},
		{[]string{"x", "--client-secret", "hunter2"}, "x --client-secret [redacted]"},
		{[]string{"java", "-Djavax.net.ssl.keyStorePassword=hunter2", "-jar", "a.jar"}, "java -Djavax.net.ssl.keyStorePassword=[redacted] -jar a.jar"},
		{[]string{"openssl", "rsa", "-passin", "pass:hunter2"}, "openssl rsa -passin [redacted]"},
		{[]string{"helm", "--set", "db.password=hunter2"}, "helm --set db.password=[redacted]"},
		{[]string{"helm", "--set=db.password=hunter2,x=1"}, "helm --set=db.password=[redacted]"},
		{[]string{"mount", "-o", "username=a,password=hunter2"}, "mount -o username=a,password=[redacted]"},
		// Variables.
		{[]string{"env", "PGPASSWORD=hunter2", "psql"}, "env PGPASSWORD=[redacted] psql"},
		{[]string{"env", "AWS_SECRET_ACCESS_KEY=hunter2/a+b=="}, "env AWS_SECRET_ACCESS_KEY=[redacted]"},
		{[]string{"docker", "run", "-e", "DB_PASS=hunter2", "-eMYSQL_PWD=hunter2"}, "docker run -e DB_PASS=[redacted] -eMYSQL_PWD=[redacted]"},
		{[]string{"x", "token=hunter2"}, "x token=[redacted]"},
		// URLs and connection strings.
		{[]string{"x", "https://mira:hunter2@db.example/x"}, "x https://[redacted]@db.example/x"},
		{[]string{"x", "https://hunter2@github.example/x"}, "x https://[redacted]@github.example/x"},
		{[]string{"x", "postgres://u:hunter2@x@db.example/x"}, "x postgres://[redacted]@db.example/x"},
		{[]string{"x", "redis://:hunter2@192.0.2.1:6379/0"}, "x redis://[redacted]@192.0.2.1:6379/0"},
		{[]string{"x", "amqp://u:a/hunter2@mq.example"}, "x amqp://[redacted]@mq.example"},
		{[]string{"x", "--url=mongodb+srv://u:hunter2@db.example/x"}, "x --url=mongodb+srv://[redacted]@db.example/x"},
		{[]string{"x", "u:hunter2@tcp(db.example:3306)/x"}, "x [redacted]@tcp(db.example:3306)/x"},
		{[]string{"x", "https://a.example/?token=hunter2&y=1#z"}, "x https://a.example/?token=[redacted]&y=1#z"},
		{[]string{"x", "https://a.example/?y=1&api_key=hunter2&sig-password=hunter2"}, "x https://a.example/?y=1&api_key=[redacted]&sig-password=[redacted]"},
		{[]string{"x", "https://s3.example/a?X-Amz-Signature=hunter2&y=1"}, "x https://s3.example/a?X-Amz-Signature=[redacted]&y=1"},
		{[]string{"x", "host=h user=u password=hunter2 dbname=d"}, "x host=h user=u password=[redacted] dbname=d"},
		{[]string{"x", "host=h password='hunter2 x' dbname=d"}, "x host=h password=[redacted] dbname=d"},
		{[]string{"x", "Server=s;User Id=u;Password=hunter2;Encrypt=yes"}, "x Server=s;User Id=u;Password=[redacted];Encrypt=yes"},
		{[]string{"x", "AccountName=a;AccountKey=hunter2==;y"}, "x AccountName=a;AccountKey=[redacted];y"},
		{[]string{"x", "a password=a&hunter2&hunter2 b"}, "x a password=[redacted] b"},
		{[]string{"x", "https://u:" + strings.Repeat("hunter2", 1000) + "@db.example"}, "x https://…"},
		// Headers.
		{[]string{"curl", "-H", "Authorization: Bearer hunter2"}, "curl -H Authorization:[redacted]"},
		{[]string{"curl", "-H", "Authorization:", "Bearer", "hunter2"}, "curl -H Authorization: [redacted] [redacted]"},
		{[]string{"curl", "-H", "X-Api-Key: hunter2"}, "curl -H X-Api-Key:[redacted]"},
		{[]string{"curl", "-H", "Cookie: sid=hunter2; other=hunter2"}, "curl -H Cookie:[redacted]"},
		{[]string{"curl", "--header=Authorization: Basic hunter2"}, "curl --header=Authorization: [redacted]"},
		{[]string{"x", "bearer hunter2.a.b"}, "x bearer [redacted]"},
		// JSON and other literals.
		{[]string{"curl", "-d", `{"password":"hunter2"}`}, `curl -d {"password":[redacted]}`},
		{[]string{"curl", "-d", `{"user":"a", "password" : "hunter2 \" hunter2", "n":1}`}, `curl -d {"user":"a", "password" : [redacted], "n":1}`},
		{[]string{"curl", "-d", `{\"password\":\"hunter2\",\"n\":1}`}, `curl -d {\"password\":[redacted],\"n\":1}`},
		{[]string{"curl", "-d", `{'apiKey': 'hunter2'}`}, `curl -d {'apiKey': [redacted]}`},
		{[]string{"perl", "-e", `x(password => 'hunter2')`}, `perl -e x(password => [redacted])`},
		{[]string{"x", `{"password":"hunter2 cut off`}, `x {"password":[redacted]`},
		// Programs with short options of their own.
		{[]string{"mysql", "-phunter2", "db"}, "mysql -p[redacted] db"},
		{[]string{"/usr/bin/mysqldump", "-u", "root", "-phunter2"}, "/usr/bin/mysqldump -u root -p[redacted]"},
		{[]string{"sudo", "mariadb-dump", "-phunter2"}, "sudo mariadb-dump -p[redacted]"},
		{[]string{"mysqladmin", "password", "hunter2"}, "mysqladmin password [redacted]"},
		{[]string{"sshpass", "-phunter2", "ssh", "-p", "22", "h"}, "sshpass -p[redacted] ssh -p 22 h"},
		{[]string{"sshpass", "-p", "hunter2", "ssh", "-p22", "h"}, "sshpass -p [redacted] ssh -p22 h"},
		{[]string{"curl", "-u", "u:hunter2", "https://a.example"}, "curl -u [redacted] https://a.example"},
		{[]string{"curl", "-su", "u:hunter2"}, "curl -su [redacted]"},
		{[]string{"curl", "--user=u:hunter2"}, "curl --user=[redacted]"},
		{[]string{"redis-cli", "-a", "hunter2", "ping"}, "redis-cli -a [redacted] ping"},
		{[]string{"ldapsearch", "-x", "-w", "hunter2"}, "ldapsearch -x -w [redacted]"},
		{[]string{"mosquitto_sub", "-P", "hunter2", "-t", "a"}, "mosquitto_sub -P [redacted] -t a"}, //nolint:misspell // the name of a program
		{[]string{"docker", "login", "-u", "a", "-p", "hunter2"}, "docker login -u a -p [redacted]"},
		{[]string{"7z", "x", "-phunter2", "a.7z"}, "7z x -p[redacted] a.7z"},
		{[]string{"xfreerdp", "/u:a", "/p:hunter2"}, "xfreerdp /u:a /p:[redacted]"},
		{[]string{"nmcli", "dev", "wifi", "connect", "a", "password", "hunter2"}, "nmcli dev wifi connect a password [redacted]"},
		{[]string{"curl", "-b", "sid=hunter2", "https://a.example"}, "curl -b [redacted] https://a.example"},
		{[]string{"curl", "-E", "cert.pem:hunter2"}, "curl -E [redacted]"},
		{[]string{"curl", "--cert", "cert.pem:hunter2"}, "curl --cert [redacted]"},
		{[]string{"sqlplus", "-S", "scott/hunter2@orcl"}, "sqlplus -S scott/[redacted]"},
		{[]string{"/u01/bin/expdp", "scott/hunter2", "dumpfile=a.dmp"}, "/u01/bin/expdp scott/[redacted] dumpfile=a.dmp"},
		{[]string{"unrar", "x", "-phunter2", "a.rar"}, "unrar x -p[redacted] a.rar"},
		{[]string{"rar", "a", "-hphunter2", "a.rar"}, "rar a -hp[redacted] a.rar"},
		{[]string{"twine", "upload", "-u", "a", "-p", "hunter2"}, "twine upload -u a -p [redacted]"},
		{[]string{"bcp", "t", "in", "f", "-U", "a", "-P", "hunter2"}, "bcp t in f -U a -P [redacted]"},
		{[]string{"ldappasswd", "-x", "-s", "hunter2"}, "ldappasswd -x -s [redacted]"},
		{[]string{"aws", "configure", "set", "aws_secret_access_key", "hunter2"}, "aws configure set aws_secret_access_key [redacted]"},
		{[]string{"ngrok", "config", "add-authtoken", "hunter2"}, "ngrok config add-authtoken [redacted]"},
		{[]string{"kubectl", "create", "secret", "generic", "a", "--from-literal=b=hunter2"}, "kubectl create secret generic a --from-literal=[redacted]"},
		{[]string{"redis-cli", "-ahunter2", "ping"}, "redis-cli -a[redacted] ping"},
		{[]string{"transmission-remote", "-n", "u:hunter2", "-l"}, "transmission-remote -n [redacted] -l"},
		{[]string{"sendemail", "-xu", "a", "-xp", "hunter2", "-o", "tls=yes"}, "sendemail -xu a -xp [redacted] -o tls=yes"},
		{[]string{"swaks", "-ap", "hunter2", "-au", "a"}, "swaks -ap [redacted] -au a"},
		{[]string{"http", "-a", "u:hunter2", "https://a.example"}, "http -a [redacted] https://a.example"},
		{[]string{"cqlsh", "-u", "a", "-p", "hunter2"}, "cqlsh -u a -p [redacted]"},
		{[]string{"mongo", "-u", "a", "-phunter2"}, "mongo -u a -p[redacted]"},
		{[]string{"htpasswd", "-b", "/f", "ann", "hunter2"}, "htpasswd -b /f [redacted] [redacted]"}, // the user as well, who may be the secret without a file
		{[]string{"htpasswd", "-Bbn", "ann", "hunter2"}, "htpasswd -Bbn ann [redacted]"},
		{[]string{"htpasswd", "-bnBC", "10", "ann", "hunter2"}, "htpasswd -bnBC 10 [redacted] [redacted]"},
		{[]string{"htpasswd", "-bB", "-C", "12", "/f", "ann", "hunter2"}, "htpasswd -bB -C 12 [redacted] [redacted] [redacted]"},
		{[]string{"mc", "alias", "set", "--api", "S3v4", "a", "https://x", "KEY12345", "hunter2"}, "mc alias set --api S3v4 a [redacted] [redacted] [redacted]"},
		{[]string{"htpasswd", "-nb", "ann", "hunter2"}, "htpasswd -nb ann [redacted]"},
		{[]string{"vault", "login", "-no-print", "hunter2"}, "vault login -no-print [redacted]"},
		{[]string{"vault", "kv", "put", "secret/a", "value=hunter2", "b=hunter2"}, "vault kv put secret/a [redacted] [redacted]"},
		{[]string{"etcdctl", "--user", "root:hunter2", "get", "/"}, "etcdctl --user [redacted] get /"},
		{[]string{"rabbitmqctl", "-n", "node", "add_user", "ann", "hunter2"}, "rabbitmqctl -n node add_user ann [redacted]"},
		{[]string{"nmcli", "con", "mod", "x", "wifi-sec.psk", "hunter2"}, "nmcli con mod x wifi-sec.psk [redacted]"},
		{[]string{"npm", "config", "set", "//registry.npmjs.org/:_authToken", "hunter2"}, "npm config set //registry.npmjs.org/:_authToken [redacted]"},
		{[]string{"mc", "alias", "set", "a", "https://h.example", "ACCESS", "hunter2"}, "mc alias set a https://h.example [redacted] [redacted]"},
		{[]string{"wpa_passphrase", "ssid", "hunter2"}, "wpa_passphrase ssid [redacted]"},
		{[]string{"samba-tool", "user", "create", "bob", "hunter2"}, "samba-tool user create bob [redacted]"},
		{[]string{"impacket-psexec", "dom/user:hunter2@h"}, "impacket-psexec dom/user:[redacted]@h"},
		{[]string{"curl", "-H", "X-Auth:", "hunter2"}, "curl -H X-Auth: [redacted]"},
		// User and password behind an option.
		{[]string{"ncat", "--proxy-auth", "u:hunter2", "h.example", "1"}, "ncat --proxy-auth u:[redacted] h.example 1"},
		{[]string{"x", "--basic-auth=u:hunter2", "--port", "80"}, "x --basic-auth=u:[redacted] --port 80"},
		{[]string{"x", "-login", "u:hunter2:x"}, "x -login u:[redacted]"},
		{[]string{"socat", "-", "PROXY:h:1:2,proxyauth=u:hunter2"}, "socat - PROXY:h:1:2,proxyauth=u:[redacted]"},
		{[]string{"sh", "-c", "ncat --proxy-auth u:hunter2 h.example 1"}, "sh -c ncat --proxy-auth u:[redacted] h.example 1"},
		{[]string{"qemu-system-x86_64", "-object", "secret,id=s,data=hunter2", "-m", "1G"}, "qemu-system-x86_64 -object secret,id=s,data=[redacted] -m 1G"},
		// Command lines inside arguments.
		{[]string{"sh", "-c", "mysqldump -u root -phunter2 db > x"}, "sh -c mysqldump -u root -p[redacted] db > x"},
		{[]string{"sh", "-c", "x --password hunter2; y"}, "sh -c x --password [redacted]; y"},
		{[]string{"sh", "-c", `x --password "hunter2 and hunter2" y`}, "sh -c x --password [redacted] y"},
		{[]string{"sh", "-c", "PGPASSWORD=hunter2 psql -h a"}, "sh -c PGPASSWORD=[redacted]"},
		{[]string{"sh", "-c", "cd /x && PGPASSWORD=hunter2 psql -h a"}, "sh -c cd /x && PGPASSWORD=[redacted] psql -h a"},
		{[]string{"sh", "-c", `curl -H "Authorization: Bearer hunter2" https://a.example`}, `sh -c curl -H "Authorization: [redacted]" https://a.example`},
		{[]string{"sh", "-c", "curl -u a:hunter2 -d '{\"password\":\"hunter2\"}' https://a.example"}, `sh -c curl -u [redacted] -d '{"password":[redacted]}' https://a.example`},
		{[]string{"psql", "-c", "ALTER USER a PASSWORD 'hunter2'"}, "psql -c ALTER USER a PASSWORD [redacted]"},
		{[]string{"mysql", "-e", "CREATE USER a IDENTIFIED BY 'hunter2'"}, "mysql -e CREATE USER a IDENTIFIED BY [redacted]"},
		{[]string{"gunicorn: master [shop --env DATABASE_URL=postgres://shop:hunter2@192.0.2.41/shop]"}, "gunicorn: master [shop --env DATABASE_URL=postgres://[redacted]@192.0.2.41/shop]"},
	} {
		got := Command(c.args, 400)
		if got != c.want || strings.Contains(got, secret) {
			t.Errorf("%q\n got %s\nwant %s", c.args, got, c.want)
		}
	}
}

func TestTokensAreKnownByTheirForm(t *testing.T) {
	for _, token := range []string{
		"ghp_" + strings.Repeat("a1", 18), "github_pat_" + strings.Repeat("a1", 20), "glpat-" + strings.Repeat("a1", 10), "xoxb-" + strings.Repeat("1", 12),
		"sk-" + strings.Repeat("a1", 20), "sk_live_" + strings.Repeat("a1", 12), "hvs." + strings.Repeat("a1", 12), "npm_" + strings.Repeat("a1", 18),
		"https://discord.com/api/webhooks/1234567890/" + strings.Repeat("a1", 34), "https://shop.webhook.office.com/webhookb2/" + strings.Repeat("a1", 30) + "@x/IncomingWebhook/y",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END",
	} {
		if got := Command([]string{"tool", "deploy", token, "now"}, 400); strings.Contains(got, token[len(token)-8:]) || !strings.Contains(got, Redacted) {
			t.Errorf("%s: %s", token, got)
		}
	}
}

func TestOrdinaryCommandLinesStayReadable(t *testing.T) {
	for _, line := range []string{
		"ssh -p 22 host.example", "ssh -p22 host.example", "rsync -av --port 80 a@host.example:/srv /srv", "/usr/sbin/nginx -g daemon on;",
		"sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "postgres: shop shop 192.0.2.40(51022) SELECT", "/sbin/init splash",
		"docker run -p 80:80 nginx:1.27", "docker run -p 3306:3306 -v /a:/b mysql:8", "ps -p 1 -o pid,comm", "mkdir -p /srv/a", "cp -pr /a /b",
		"python3 -m http.server --bind 192.0.2.1 8000", "git clone https://git.example/a/b.git", "scp a@host.example:/x /y", "http://127.0.0.1:4873/@scope/pkg",
		"/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile --systemd-activation --syslog-only",
		"java -Xmx384m -XX:+UseG1GC -jar /app/shop.jar", "curl -s -o /dev/null https://a.example/?page=1&sort=up", "systemd-ask-password-console",
		"pg_dump -w --no-password shop", "docker login --password-stdin registry.example", "ansible-playbook --ask-pass site.yml",
		"mysqld --port=3306 --pid-file=/run/mysqld.pid", "mysql -u root -h db.example shop", "mysql -P 3306 -p shop", "tar -xzpf a.tar.gz",
		"train.py --tokenizer gpt2 --steps 10", "/bin/login -p --", "loginctl show-session 1 -p Type", "gpg-agent --supervised", "passwd mira",
		"password store", "curl -o - https://a.example", "nc -l -p 8080", "/lib/systemd/systemd-logind", "tail -f /var/log/auth.log", "basic settings and tutorials", "vim notes about passengers: 3",
		"ssh-add --auth file:/etc/x", "x --auth basic --login mira", "x --http-auth 8080:80", "sqlplus /nolog", "sqlplus @/srv/report.sql", "rman target /", "x --auth=basic",
		"vault status", "vault kv get secret/a", "rabbitmqctl list_users", "mc ls a/b", "net ads info", "nmcli con show x", "htpasswd -v /f ann", "httpd -D FOREGROUND", "login ann", "redis-cli ping", "docker run nginx:1.27-alpine@sha256:aabbcc112233",
		"kworker/0:1H", "socat TCP-LISTEN:80,fork TCP:192.0.2.1:80", "7z a -mx=9 out.7z in", "xfreerdp /v:host.example /u:mira",
	} {
		for name, args := range map[string][]string{"words": strings.Fields(line), "title": {line}} {
			if got := Command(args, 400); got != line {
				t.Errorf("%s: %s\nreads %s", name, line, got)
			}
		}
	}
}

func TestCommandIsOneLineOfBoundedLength(t *testing.T) {
	long := Command([]string{"x", strings.Repeat("word ", 2000), "--password", secret}, 160)
	if utf8.RuneCountInString(long) != 160 || !strings.HasSuffix(long, "…") {
		t.Errorf("%d runes: %s", utf8.RuneCountInString(long), long)
	}
	if got := Command([]string{"a\nb", "", "\x1b[2J", "c\td"}, 160); got != "a b  �[2J c d" {
		t.Errorf("%q", got)
	}
	if got := Command(nil, 160); got != "" {
		t.Errorf("%q", got)
	}
}

func TestSecretAtTheCutIsNotShown(t *testing.T) {
	for limit := range 60 {
		got := Command([]string{"x", "--password", secret, "--token=" + secret, "https://a:" + secret + "@b.example"}, limit)
		if strings.Contains(got, secret[:4]) || utf8.RuneCountInString(got) > limit {
			t.Errorf("%d: %s", limit, got)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add("x\x00--password\x00QZQZQZQZ\x00y")
	f.Add("sh\x00-c\x00mysql -pQZQZQZQZ \"a b\"; curl -u 'a:b c'")
	f.Add(`{"password":"a\"b"} 'token': \"x\" &api_key=1`)
	f.Fuzz(func(t *testing.T, line string) {
		got := Command(strings.Split(line, "\x00"), 160)
		if utf8.RuneCountInString(got) > 160 || !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
		for _, r := range got {
			if r != visible(r) {
				t.Errorf("%q holds %U", got, r)
			}
		}
		if strings.ContainsAny(line, "\x00") {
			return
		}
		for _, args := range [][]string{{line, "--password", "QZQZQZQZ"}, {line, "--password=QZQZQZQZ"}, {line, "https://u:QZQZQZQZ@h"}} {
			if got := Command(args, 1<<20); strings.Contains(got, "QZQZQZQZ") && !strings.Contains(line, "QZ") {
				t.Errorf("%q shows %q", args, got)
			}
		}
	})
}

func TestEverySecretNameIsHiddenInEveryForm(t *testing.T) {
	names := []string{
		"password", "PASSWORD", "DbPassword", "db_passwd", "passphrase", "secret", "client_secret", "token", "access_token", "tokens", "api_key", "api-key",
		"apiKey", "access_key", "private-key", "credential", "creds", "pass", "DB_PASS", "pwd", "psk", "jwt", "cookie", "auth_key", "encryption_key", "tokenid", "token_value",
	}
	var shown []string
	for _, n := range names {
		for _, args := range [][]string{
			{"x", n + "=hunter2"}, {"x", "--" + n, "hunter2"}, {"x", "--" + n + "=hunter2"}, {"x", "-" + n, "hunter2"}, {"x", "a " + n + "=hunter2 b"},
			{"x", "a " + n + ": hunter2"}, {"x", `{"` + n + `":"hunter2"}`}, {"x", "a --" + n + " hunter2 b"}, {"x", "/?a=1&" + n + "=hunter2"}, {"x", n + ":", "hunter2"},
		} {
			if got := Command(args, 400); strings.Contains(got, secret) {
				shown = append(shown, got)
			}
		}
	}
	if diff := cmp.Diff([]string(nil), shown); diff != "" {
		t.Error(diff)
	}
}
