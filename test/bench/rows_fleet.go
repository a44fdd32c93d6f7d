// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fleetHosts  = 30
	fleetRounds = 5
	fleetPort   = 2207
)

// fleetRows ask thirty hosts at once, all of them this machine, over connections that are open.
func fleetRows(ctx context.Context, p programs) ([]row, error) {
	r := row{what: fmt.Sprintf("--fleet-health of %d hosts, ssh on loopback, warm: time", fleetHosts), bar: 2.5, unit: " s"}
	const server = "/usr/sbin/sshd"
	if _, err := os.Stat(server); err != nil {
		r.missing = "sshd is not installed"
		return []row{r}, nil
	}
	names, err := fleetFiles(ctx, p.dir)
	if err != nil {
		return nil, err
	}
	sshd := exec.CommandContext(ctx, server, "-D", "-f", filepath.Join(p.dir, "sshd_config"))
	if err := sshd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		sshd.Process.Kill() // it ends with this namespace at the latest
		sshd.Wait()
	}()
	if err := listens(ctx, fmt.Sprintf("127.0.0.1:%d", fleetPort)); err != nil {
		return nil, err
	}
	argv := []string{p.sentinel(), "--fleet-health", "--skip-local", "--json", "--host", names}
	var answer bytes.Buffer
	if _, err := runTo(ctx, &answer, argv...); err != nil { // which opens the connections
		return nil, err
	}
	var said struct {
		Total      int `json:"total"`
		Unanswered int `json:"unanswered"`
	}
	if err := json.Unmarshal(answer.Bytes(), &said); err != nil || said.Total != fleetHosts || said.Unanswered > 0 {
		return nil, fmt.Errorf("the fleet answers %s: %w", answer.Bytes(), err)
	}
	s, err := rounds(ctx, fleetRounds, argv)
	if err != nil {
		return nil, err
	}
	r.measured = milliseconds(wall, s[0]) / 1000
	r.basis = fmt.Sprintf("median of %d; all hosts are this machine, which reads its health %d times", fleetRounds, fleetHosts)
	return []row{r}, nil
}

// fleetFiles writes what sshd and ssh need, and returns the names of the hosts. ssh takes the
// configuration of the user from their home, over which an empty one is laid.
func fleetFiles(ctx context.Context, dir string) (names string, err error) {
	if err := unix.Mount("tmpfs", "/root", "tmpfs", 0, "mode=700"); err != nil {
		return "", err
	}
	for _, d := range []string{"/root/.ssh", "/run/sshd"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return "", err
		}
	}
	for _, key := range []string{"/root/.ssh/id_ed25519", filepath.Join(dir, "host_key")} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			return "", fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	own, err := os.ReadFile("/root/.ssh/id_ed25519.pub")
	if err != nil {
		return "", err
	}
	host, err := os.ReadFile(filepath.Join(dir, "host_key.pub"))
	if err != nil {
		return "", err
	}
	var hosts []string
	var client strings.Builder
	for i := range fleetHosts {
		name := fmt.Sprintf("node%02d", i)
		hosts = append(hosts, name)
		fmt.Fprintf(&client, "Host %s\n HostName 127.0.0.%d\n Port %d\n HostKeyAlias fleet\n", name, i+1, fleetPort)
	}
	for path, content := range map[string]string{
		"/root/.ssh/authorized_keys": string(own), "/root/.ssh/known_hosts": "fleet " + string(host), "/root/.ssh/config": client.String(),
		filepath.Join(dir, "sshd_config"): fmt.Sprintf("ListenAddress 0.0.0.0:%d\nHostKey %s/host_key\nPidFile none\nUsePAM no\nPermitRootLogin prohibit-password\nMaxStartups 200\nSetEnv PATH=%s:/usr/bin:/bin\n", fleetPort, dir, dir),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return strings.Join(hosts, ","), nil
}

// listens waits until somebody takes connections.
func listens(ctx context.Context, address string) error {
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
