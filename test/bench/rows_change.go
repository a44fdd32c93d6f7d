// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	blocked    = 20_000 // addresses on the list
	inChains   = 10_000 // addresses while packets are timed
	changes    = 9      // rounds of each change
	trips      = 20_000 // packets there and back, each round
	tripRounds = 5
	blocklist  = "/var/lib/sentinel/blocklist.json"
)

// changeRows measure what changes the system, in the namespaces that are made
// for it. List and journal are on the disk of this machine, which has to write
// them before sentinel answers.
func changeRows(ctx context.Context, p programs) ([]row, error) {
	release, err := onDisk(p)
	if err != nil {
		return nil, err
	}
	defer release()
	var table []row
	for _, part := range []func(context.Context, programs) ([]row, error){killRows, blockRows, packetRows} {
		rows, err := part(ctx, p)
		if err != nil {
			return nil, err
		}
		table = append(table, rows...)
	}
	return table, nil
}

// onDisk puts directories of the disk where sentinel keeps its list and journal.
func onDisk(p programs) (release func(), err error) {
	var mounted []string
	release = func() {
		for _, at := range mounted {
			unix.Unmount(at, unix.MNT_DETACH) // the namespace ends soon
		}
	}
	for _, at := range []string{"/var/lib", "/var/log"} {
		from := filepath.Join(p.dir, filepath.Base(at))
		if err := os.MkdirAll(from, 0o755); err != nil {
			return release, err
		}
		if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
			return release, fmt.Errorf("mount over %s: %w", at, err)
		}
		mounted = append(mounted, at)
	}
	return release, nil
}

// start is what a run of sentinel costs that does nothing.
func start(ctx context.Context, p programs) (float64, error) {
	s, err := rounds(ctx, changes, []string{p.sentinel(), "--version"})
	if err != nil {
		return 0, err
	}
	return milliseconds(wall, s[0]), nil
}

// killRows end processes that sleep. Time is that of the whole program.
func killRows(ctx context.Context, p programs) ([]row, error) {
	var times []float64
	for range changes {
		victim := exec.CommandContext(ctx, "sleep", "infinity")
		if err := victim.Start(); err != nil {
			return nil, err
		}
		s, err := once(ctx, p.sentinel(), "--kill", strconv.Itoa(victim.Process.Pid))
		if err != nil {
			return nil, err
		}
		if err := victim.Wait(); err == nil {
			return nil, errors.New("a process that was killed ended well")
		}
		times = append(times, s.wall.Seconds()*1000)
	}
	return []row{{
		what: "--kill of a sleeping process, proof of death included: time", measured: median(times), bar: 20, unit: " ms",
		basis: fmt.Sprintf("median of %d, start of the program included", changes),
	}}, nil
}

func blockRows(ctx context.Context, p programs) ([]row, error) {
	none, err := start(ctx, p)
	if err != nil {
		return nil, err
	}
	var restores []float64
	for range 3 {
		if err := fill(blocked); err != nil {
			return nil, err
		}
		s, err := once(ctx, p.sentinel(), "--restore-blocklist")
		if err != nil {
			return nil, err
		}
		restores = append(restores, s.wall.Seconds())
		if len(restores) < 3 {
			if err := exec.CommandContext(ctx, "nft", "delete", "table", "inet", "sentinel").Run(); err != nil {
				return nil, err
			}
		}
	}
	var blocks []float64
	for i := range changes {
		s, err := once(ctx, p.sentinel(), "--block-ip", "203.0.113."+strconv.Itoa(i+1))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, s.wall.Seconds()*1000)
	}
	return []row{
		{
			what: "--restore-blocklist of 20,000 addresses: time", measured: median(restores), bar: 0.5, unit: " s",
			basis: "median of 3, start of the program included",
		},
		{
			what: "--block-ip at 20,000 addresses, read back: time less the start of the program", measured: median(blocks) - none, bar: 100, unit: " ms",
			basis: fmt.Sprintf("%.1f ms - %.1f ms, median of %d", median(blocks), none, changes),
		},
	}, nil
}

// fill writes a list of so many addresses, half of them IPv6.
func fill(count int) error {
	var b bytes.Buffer
	b.WriteString(`{"version":1,"entries":[`)
	for i := range count {
		address := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if i%2 == 1 {
			address = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(i >> 8), 15: byte(i)})
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"ip":%q,"reason":"bench","blocked_by":"bench","blocked_at":"2026-01-01T00:00:00Z"}`, address)
	}
	b.WriteString("]}\n")
	if err := os.MkdirAll(filepath.Dir(blocklist), 0o755); err != nil {
		return err
	}
	return os.WriteFile(blocklist, b.Bytes(), 0o644)
}

// packetRows compare the way of a packet there and back with and without the
// rules, in turn.
func packetRows(ctx context.Context, p programs) ([]row, error) {
	if err := fill(inChains); err != nil {
		return nil, err
	}
	var ratios, with []float64
	for range tripRounds {
		if _, err := once(ctx, p.sentinel(), "--restore-blocklist"); err != nil {
			return nil, err
		}
		loaded, err := roundTrip()
		if err != nil {
			return nil, err
		}
		if err := exec.CommandContext(ctx, "nft", "delete", "table", "inet", "sentinel").Run(); err != nil {
			return nil, err
		}
		bare, err := roundTrip()
		if err != nil {
			return nil, err
		}
		ratios, with = append(ratios, float64(loaded)/float64(bare)), append(with, loaded.Seconds()*1e6)
	}
	return []row{{
		what: "UDP round trip on loopback with 10,000 blocked addresses against none", measured: median(ratios), bar: 1.2, unit: "x",
		basis: fmt.Sprintf("%.1f µs, median of %d times %d", median(with), tripRounds, trips),
	}}, nil
}

// roundTrip returns the median time of a packet to another socket and back.
func roundTrip() (time.Duration, error) {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, err
	}
	defer server.Close()
	go func() {
		b := make([]byte, 64)
		for {
			n, from, err := server.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			server.WriteToUDPAddrPort(b[:n], from) // a lost one ends the measurement
		}
	}()
	client, err := net.DialUDP("udp", nil, server.LocalAddr().(*net.UDPAddr))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if err := client.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	times := make([]float64, trips)
	b := make([]byte, 64)
	for i := range times {
		began := time.Now()
		if _, err := client.Write(b); err != nil {
			return 0, err
		}
		if _, err := client.Read(b); err != nil {
			return 0, err
		}
		times[i] = float64(time.Since(began))
	}
	return time.Duration(median(times)), nil
}
