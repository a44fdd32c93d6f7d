// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Bounds of one report.
const (
	maxPeak     = 21 << 20 // bytes of resident memory, some 17 MB of which are pages of the program file
	maxOwn      = 6 << 20  // of which are no pages of files
	maxPeakAll  = 22 << 20 // with the authorities of the system, of which there are 150
	maxDocument = 20_000   // bytes
	maxCPU      = 200 * time.Millisecond
)

// What the guide reckons with: one report of a host in its parts, and what a
// receiver needs for it. Run it with -v to see the figures.
func TestWhatAReportCosts(t *testing.T) {
	if !isolated(t, "./cmd/sentinel", "./examples/receiver") {
		return
	}
	dir := fleetOf(t)
	receiver := start(t, dir, "/usr/local/bin/receiver", "-listen", "127.0.0.1:8443", "-cert", "receiver.pem", "-key", "receiver.key", "-secret", "fleet.key", "-dir", ".")
	listens(t, "127.0.0.1:8443")
	line := count(t, "127.0.0.1:443", "127.0.0.1:8443")

	var peaks, owns, sizes, ups, downs, cpus []int64
	for range 9 {
		before := line.total()
		memory, cpu := report(t)
		after := line.total()
		peaks, owns, cpus = append(peaks, memory.peak), append(owns, memory.own), append(cpus, cpu.Microseconds())
		ups, downs = append(ups, after[0]-before[0]), append(downs, after[1]-before[1])
	}
	document := newest(t, dir)
	sizes = append(sizes, int64(len(document)))
	perDocument, perLargest := load(t, dir, receiver, document), load(t, dir, receiver, bytes.Repeat([]byte("x"), maxDocument))
	handUp, handDown := handshake(t, dir, line)
	// Without ca_file all authorities of the system are read.
	write(t, "/etc/sentinel/config.yaml", strings.Replace(part(t, guide, "file: config.yaml"), "ca_file:", "#", 1), 0o644)
	shell(t, dir, "cat fleet-ca.pem >> /etc/ssl/certs/ca-certificates.crt")
	system, systemCPU := report(t)

	tell(t, "document: %d bytes", sizes[0])
	tell(t, "a report: %d bytes up, %d bytes down, without headers of TCP and IP", median(ups), median(downs))
	tell(t, "of which the TLS handshake: %d bytes up, %d bytes down", handUp, handDown)
	tell(t, "sentinel --report: %.1f ms of CPU, peak of resident memory %.1f MB, of which its own %.1f MB", float64(median(cpus))/1000, float64(slices.Max(peaks))/1e6, float64(slices.Max(owns))/1e6)
	tell(t, "the same with the authorities of the system: %.1f ms, %.1f MB, %.1f MB", systemCPU.Seconds()*1000, float64(system.peak)/1e6, float64(system.own)/1e6)
	tell(t, "the receiver: %.2f ms of CPU a document, each over a connection of its own; %.2f ms for one of %d bytes", perDocument.Seconds()*1000, perLargest.Seconds()*1000, maxDocument)
	if worst := slices.Max(peaks); worst > maxPeak || worst < 1<<20 {
		t.Errorf("the peak of a report is %d bytes", worst)
	}
	if system.peak > maxPeakAll || max(system.own, slices.Max(owns)) > maxOwn || slices.Max(owns) < 1<<20 {
		t.Errorf("the peak with the authorities of the system is %d bytes; of its own %v, %d", system.peak, owns, system.own)
	}
	if sizes[0] > maxDocument || median(cpus) > maxCPU.Microseconds() || median(ups) < sizes[0] || median(downs) < 500 {
		t.Errorf("sizes %v, up %v, down %v, CPU %v", sizes, ups, downs, cpus)
	}
}

// fleetOf sets this host and its receiver up as the guide does, and returns the
// directory of the receiver.
func fleetOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	certify(t, dir, "hooks.example.com")
	named(t, "hooks.example.com")
	shell(t, dir, part(t, guide, "run: key"))
	shell(t, dir, strings.ReplaceAll(part(t, guide, "run: secrets"), "sudo ", ""))
	write(t, "/etc/sentinel/config.yaml", part(t, guide, "file: config.yaml"), 0o644)
	return dir
}

// A memory is the most that a process had resident, and that of it which are no pages of files.
type memory struct{ peak, own int64 }

// report runs sentinel --report to its end and returns its highest resident
// memory and its CPU time. The kernel's account of a child (ru_maxrss) begins with that of
// this process, so VmHWM is read while it runs, and RssAnon, of which the kernel keeps no peak (proc(5)).
func report(t *testing.T) (most memory, cpu time.Duration) {
	t.Helper()
	cmd := exec.Command("/usr/local/bin/sentinel", "--report")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			return most, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		default:
			now := memoryOf(cmd.Process.Pid)
			most = memory{max(most.peak, now.peak), max(most.own, now.own)}
			time.Sleep(500 * time.Microsecond)
		}
	}
}

// memoryOf reads that of a process that is still this program; none when it is
// gone, or not started yet.
func memoryOf(pid int) (m memory) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || !bytes.HasPrefix(raw, []byte("Name:\tsentinel\n")) {
		return memory{}
	}
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "VmHWM":
			m.peak = kib << 10
		case "RssAnon":
			m.own = kib << 10
		}
	}
	return m
}

func newest(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "msg_*.json"))
	if err != nil || len(files) != 9 {
		t.Fatalf("the receiver has %v, %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// load sends documents, each over a connection of its own as hosts do, and
// returns the CPU time that the receiver took for each.
func load(t *testing.T, dir string, receiver *exec.Cmd, document []byte) time.Duration {
	t.Helper()
	const documents = 500
	key := strings.TrimSpace(shell(t, dir, "cat fleet.key"))
	signer, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: trusting(t, dir)}}
	before := used(t, receiver.Process.Pid)
	for i := range documents {
		id, now := fmt.Sprintf("msg_load_%d_%d", len(document), i), time.Now()
		signature, err := signer.Sign(id, now, document)
		if err != nil {
			t.Fatal(err)
		}
		q, err := http.NewRequest(http.MethodPost, "https://127.0.0.1:8443/sentinel", bytes.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature}}
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusNoContent {
			t.Fatalf("status %d", r.StatusCode)
		}
	}
	return (used(t, receiver.Process.Pid) - before) / documents
}

func trusting(t *testing.T, dir string) *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(shell(t, dir, "cat fleet-ca.pem")))
	return &tls.Config{RootCAs: roots, ServerName: "hooks.example.com"}
}

// handshake connects as sentinel does, and sends nothing.
func handshake(t *testing.T, dir string, line *counter) (up, down int64) {
	t.Helper()
	before := line.total()
	c, err := tls.Dial("tcp", "127.0.0.1:443", trusting(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	after := line.total()
	return after[0] - before[0], after[1] - before[1]
}

// used reads the CPU time of a process, which the kernel counts in hundredths of
// a second (proc(5), stat).
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// A counter passes connections on and counts the bytes, up and down.
type counter struct{ bytes [2]atomic.Int64 }

func (c *counter) total() [2]int64 { return [2]int64{c.bytes[0].Load(), c.bytes[1].Load()} }

func count(t *testing.T, from, to string) *counter {
	t.Helper()
	l, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &counter{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			go c.pass(server, client, 0)
			go c.pass(client, server, 1)
		}
	}()
	return c
}

func (c *counter) pass(to, from net.Conn, direction int) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		c.bytes[direction].Add(int64(n))
		if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

func median(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
