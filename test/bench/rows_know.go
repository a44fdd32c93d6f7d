// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

const (
	scanRounds   = 9
	openPorts    = 40
	filteredHost = "10.77.0.9" // nobody is there
)

// knowRows measure what looks deeper: ports, the audit, updates, names.
func knowRows(ctx context.Context, p programs) ([]row, error) {
	var table []row
	for _, part := range []func(context.Context, programs) ([]row, error){scanRows, filteredRows, nameRows, updateRows, auditRows} {
		rows, err := part(ctx, p)
		if err != nil {
			return nil, err
		}
		table = append(table, rows...)
	}
	return table, nil
}

func scanRows(ctx context.Context, p programs) ([]row, error) {
	const what = "--scan-ports of 65,535 local ports: time against nmap -sT -T4 -n -Pn"
	nmap, err := exec.LookPath("nmap")
	if err != nil {
		return []row{{what: what, missing: "nmap is not installed", bar: 0.8, unit: "x"}}, nil
	}
	for range openPorts {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
	}
	s, err := rounds(ctx, scanRounds,
		[]string{p.sentinel(), "--scan-ports", "127.0.0.1", "--port-range", "all"},
		[]string{nmap, "-sT", "-T4", "-n", "-Pn", "-p", "1-65535", "127.0.0.1"})
	if err != nil {
		return nil, err
	}
	return []row{{
		what: what, measured: ratio(wall, s[0], s[1]), bar: 0.8, unit: "x",
		basis: fmt.Sprintf("%.0f ms / %.0f ms, median of %d pairs", milliseconds(wall, s[0]), milliseconds(wall, s[1]), scanRounds),
	}}, nil
}

// filteredRows scan a host that nobody is at, over a link that swallows
// everything.
func filteredRows(ctx context.Context, p programs) ([]row, error) {
	for _, args := range [][]string{
		{"link", "add", "swallow", "type", "veth", "peer", "name", "nowhere"}, {"address", "add", "10.77.0.1/24", "dev", "swallow"},
		{"link", "set", "swallow", "up"}, {"link", "set", "nowhere", "up"},
		{"neighbour", "add", filteredHost, "lladdr", "00:00:5e:00:53:01", "dev", "swallow"},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	s, err := once(ctx, p.sentinel(), "--scan-ports", filteredHost)
	if err != nil {
		return nil, err
	}
	return []row{{what: "--scan-ports of 1,024 filtered ports: time", measured: s.wall.Seconds(), bar: 3, unit: " s", basis: "one run"}}, nil
}

// nameRows ask a server on loopback that answers at once.
func nameRows(ctx context.Context, p programs) ([]row, error) {
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", "127.0.0.1:53")
	if err != nil {
		return nil, err
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(answerDNS)}
	go server.ActivateAndServe()
	defer server.Shutdown()
	file := filepath.Join(p.dir, "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return nil, err
	}
	if err := unix.Mount(file, real, "", unix.MS_BIND, ""); err != nil {
		return nil, err
	}
	defer unix.Unmount(real, unix.MNT_DETACH)
	s, err := rounds(ctx, startRounds, []string{p.sentinel(), "--dns", "www.example.test", "--record-type", "A"}, []string{p.sentinel(), "--version"})
	if err != nil {
		return nil, err
	}
	asked, none := milliseconds(wall, s[0]), milliseconds(wall, s[1])
	return []row{{
		what: "--dns: time less the start of the program, a server on loopback included", measured: asked - none, bar: 3, unit: " ms",
		basis: fmt.Sprintf("%.2f ms - %.2f ms, median of %d", asked, none, startRounds),
	}}, nil
}

func answerDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	rr, err := dns.NewRR(q.Question[0].Name + " 60 IN A 192.0.2.1")
	if err == nil {
		m.Answer = []dns.RR{rr}
	}
	w.WriteMsg(m)
}

func updateRows(ctx context.Context, p programs) ([]row, error) {
	const what = "--check-updates: time against apt-get -s -qq dist-upgrade"
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return []row{{what: what, missing: "this machine has no apt", bar: 1.2, unit: "x"}}, nil
	}
	s, err := rounds(ctx, commandRounds, []string{p.sentinel(), "--check-updates"}, []string{apt, "-s", "-qq", "dist-upgrade"})
	if err != nil {
		return nil, err
	}
	return []row{{
		what: what, measured: ratio(wall, s[0], s[1]), bar: 1.2, unit: "x",
		basis: fmt.Sprintf("%.0f ms / %.0f ms, median of %d pairs", milliseconds(wall, s[0]), milliseconds(wall, s[1]), commandRounds),
	}}, nil
}

// auditRows leave out what the package manager takes for itself: the audit
// asks it the same once. Lynis is run once: it takes a minute.
func auditRows(ctx context.Context, p programs) ([]row, error) {
	s, err := rounds(ctx, 5, []string{p.sentinel(), "--security-audit"}, []string{p.sentinel(), "--check-updates"})
	if err != nil {
		return nil, err
	}
	own := (milliseconds(wall, s[0]) - milliseconds(wall, s[1])) / 1000
	rows := []row{{
		what: "--security-audit as root: time less that of the package manager", measured: own, bar: 2, unit: " s",
		basis: fmt.Sprintf("%.2f s - %.2f s, median of 5", milliseconds(wall, s[0])/1000, milliseconds(wall, s[1])/1000),
	}}
	const what = "the same against lynis audit system"
	lynis, err := exec.LookPath("lynis")
	if err != nil {
		return append(rows, row{what: what, missing: "lynis is not installed", bar: 0.1, unit: "x"}), nil
	}
	other, err := runLynis(ctx, p, lynis)
	if err != nil {
		return nil, err
	}
	return append(rows, row{
		what: what, measured: own / other, bar: 0.1, unit: "x", basis: fmt.Sprintf("%.2f s / %.1f s, one run of lynis", own, other),
	}), nil
}

func runLynis(ctx context.Context, p programs, lynis string) (seconds float64, err error) {
	s, err := runTo(ctx, nil, lynis, "audit", "system", "--quick", "--quiet", "--no-colors",
		"--logfile", filepath.Join(p.dir, "lynis.log"), "--report-file", filepath.Join(p.dir, "lynis.dat"))
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !strings.Contains(err.Error(), "exit status") {
		return 0, err
	}
	if err != nil { // it ends with a status of its own when it has warnings
		return 0, fmt.Errorf("lynis: %w", err)
	}
	return s.wall.Seconds(), nil
}
