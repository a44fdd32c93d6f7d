// SPDX-License-Identifier: Apache-2.0

//go:build linux

package docs

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"sentinel/internal/testenv"
)

const (
	person = "alice"
	home   = "/home/" + person
	here   = "192.0.2.23" // of the machine, on a network of its own
	busy   = 4242         // the process that the README ends
)

// units are the service that the README restarts.
func units() map[string]string {
	return map[string]string{"nginx.service": "[Service]\nExecStart=/usr/bin/sleep infinity\n"}
}

// luggage is what a person brings to the machine: the checkout, Go with the
// modules and what it has compiled already, and make.
func luggage(t *testing.T) map[string]string {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") != "" {
		return nil
	}
	dir := t.TempDir()
	checkout := filepath.Join(dir, "checkout")
	copyTree(t, root, checkout)
	answers := filepath.Join(dir, "apt.conf")
	write(t, answers, "APT::Get::Assume-Yes \"true\";\nAPT::Install-Recommends \"false\";\n")
	fetch(t)
	return map[string]string{
		checkout: "/checkout", answers: "/etc/apt/apt.conf.d/90answers",
		goSays(t, "GOROOT"): "/usr/local/go", goSays(t, "GOMODCACHE"): "/modules", goSays(t, "GOCACHE"): "/compiled",
		testenv.Program(t, "make", "make"): "/usr/bin/make",
	}
}

// copyTree copies what a clone would hold.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{".git", "bin", "dist"}, name) || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), raw, 0o644|info.Mode()&0o111) // git keeps no other mode
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fetch has Go fetch what the packages are made with, since the machine has no
// network.
func fetch(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^NFPM +:= (.*)$`).FindStringSubmatch(string(raw))
	if m == nil {
		t.Fatal("the Makefile does not say what makes the packages")
	}
	if out, err := exec.Command("go", "run", m[1], "--version").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func goSays(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
}

// An account is the person's, in the container.
type account struct {
	dir string // where the next line is typed
	env []string
}

// arrive makes the container a machine of a person who may use sudo, with a
// network of its own and a name server.
func arrive(t *testing.T) *account {
	t.Helper()
	testenv.RequireIsolated(t)
	run(t, "useradd", "--create-home", "--shell", "/bin/bash", person)
	write(t, "/etc/sudoers.d/"+person, person+" ALL=(ALL) NOPASSWD: ALL\n")
	writable(t, "/compiled")
	writable(t, "/modules")
	for _, words := range []string{
		"ip link add lan type veth peer name cable", "ip link set cable up", "ip address add " + here + "/24 dev lan", "ip link set lan up", "systemctl start nginx ssh",
		"mount -o remount,bind,rw /proc/sys", "cp /usr/bin/sleep /usr/local/bin/ffmpeg",
	} {
		run(t, strings.Fields(words)...)
	}
	answer(t)
	return &account{dir: home, env: []string{
		"HOME=" + home, "USER=" + person, "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin",
		"GOCACHE=/compiled", "GOMODCACHE=/modules", "GOPROXY=file:///modules/cache/download", "GOSUMDB=off", "GOTOOLCHAIN=local",
	}}
}

// writable puts a layer that the person may write over a directory of the host,
// which stays as it is.
func writable(t *testing.T, dir string) {
	t.Helper()
	layer := "/run/layers" + dir
	over, work := filepath.Join(layer, "over"), filepath.Join(layer, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(over, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // a directory of the upper layer decides who owns the merged one
		if !e.IsDir() {
			continue
		}
		if err := os.Mkdir(filepath.Join(over, e.Name()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "chown", "-R", person+":", over)
	run(t, "mount", "-t", "overlay", "overlay", "-o", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, over, work), dir)
}

// answer is a name server that knows one host.
func answer(t *testing.T) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		for _, text := range []string{"example.net. 300 IN A " + here, "example.net. 300 IN MX 10 mail.example.net."} {
			if r, err := dns.NewRR(text); err == nil && r.Header().Rrtype == q.Question[0].Qtype && r.Header().Name == strings.ToLower(q.Question[0].Name) {
				m.Answer = append(m.Answer, r)
			}
		}
		w.WriteMsg(m) // whoever asked asks again
	})}
	go server.ActivateAndServe()            // ends with the test
	t.Cleanup(func() { server.Shutdown() }) // the container ends
	if err := os.Remove("/etc/resolv.conf"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	write(t, "/etc/resolv.conf", "nameserver 127.0.0.1\n")
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	write(t, "/etc/hosts", "127.0.0.1 localhost "+name+"\n")
}

// prepare makes true what the README says before a line.
func (a *account) prepare(t *testing.T, line string) {
	t.Helper()
	switch {
	case strings.Contains(line, fmt.Sprint(busy)):
		runaway(t)
	case strings.Contains(line, "--report"):
		write(t, "/etc/sentinel/config.yaml", "webhook:\n  endpoints:\n    - url: http://127.0.0.1:9/sentinel\n")
	case line == "sudo apt remove sentinel", line == "sudo make uninstall":
		run(t, "sentinel", "--block-ip", "203.0.113.7")
	}
}

// runaway starts the process that is to be ended, with its number, unless it
// is there (pid_namespaces(7), ns_last_pid).
func runaway(t *testing.T) {
	t.Helper()
	for range 50 {
		if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", busy)); err == nil && string(raw) == "ffmpeg\n" {
			return
		}
		write(t, "/proc/sys/kernel/ns_last_pid", fmt.Sprint(busy-1))
		cmd := exec.Command("/usr/local/bin/ffmpeg", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if cmd.Process.Pid != busy {
			cmd.Process.Kill() // another number was taken meanwhile
		}
		go cmd.Wait() // it is killed
	}
	t.Fatalf("no process could be given the number %d", busy)
}

// types runs a line as the person, from a new login, and goes where it went.
func (a *account) types(line string) (string, error) {
	const stayed = home + "/.where"
	cmd := exec.Command("runuser", "-u", person, "--", "bash", "-c", "trap 'pwd > "+stayed+"' EXIT\nset -euo pipefail\n"+line)
	cmd.Dir, cmd.Env = a.dir, a.env
	out, err := cmd.CombinedOutput()
	if raw, rerr := os.ReadFile(stayed); rerr == nil {
		a.dir = strings.TrimSpace(string(raw))
	}
	return string(out), err
}

// leaves checks what the README says of the end: no program, no block, and the
// journal still there.
func (a *account) leaves(t *testing.T) {
	t.Helper()
	for _, gone := range []string{"/usr/bin/sentinel", "/usr/local/bin/sentinel", "/usr/local/bin/sentinel-mcp"} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is left", gone)
		}
	}
	if exec.Command("nft", "list", "table", "inet", "sentinel").Run() == nil {
		t.Error("the packet filter still blocks")
	}
	for _, kept := range []string{"/var/log/sentinel/journal.jsonl", "/var/lib/sentinel/blocklist.json", "/etc/sentinel/config.yaml"} {
		if _, err := os.Stat(kept); err != nil {
			t.Errorf("%s did not stay: %v", kept, err)
		}
	}
}
