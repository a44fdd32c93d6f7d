// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

func TestNumbersOfChrony(t *testing.T) {
	for x, want := range map[uint32]float64{
		0:                    0,
		1<<25 | 1<<24 - 1:    2 * (1<<24 - 1) / float64(1<<25),
		0xff000000:           math.Ldexp(-(1 << 24), -26), // the exponent is -1
		0x00800000:           0.25,
		0x01000000:           -0.5,
		0x80000001:           math.Ldexp(1, -64-25),
		uint32(63)<<25 | 0x1: math.Ldexp(1, 63-25),
	} {
		if got := chronyFloat(x); got != want {
			t.Errorf("%#x is %v, want %v", x, got, want)
		}
	}
}

// reply is an answer to question, with the correction -0.5.
func reply(question []byte) []byte {
	a := make([]byte, chronyLength)
	a[0], a[1] = chronyVersion, 2
	binary.BigEndian.PutUint16(a[4:], chronyTracking)
	binary.BigEndian.PutUint16(a[6:], chronyTracked)
	copy(a[16:20], question[8:12])
	binary.BigEndian.PutUint32(a[chronyOffsetAt:], 0x01000000)
	return a
}

func TestAnswersForChronyAreReadInOneForm(t *testing.T) {
	question := chronyQuestion()
	if offset, err := parseChrony(reply(question), question); err != nil || offset != -0.5 {
		t.Fatal(offset, err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"nothing":         func([]byte) []byte { return nil },
		"a short one":     func(a []byte) []byte { return a[:chronyLength-1] },
		"a long one":      func(a []byte) []byte { return append(a, 0) },
		"another version": func(a []byte) []byte { a[0] = 5; return a },
		"a question":      func(a []byte) []byte { a[1] = 1; return a },
		"another number":  func(a []byte) []byte { a[16]++; return a },
		"another answer":  func(a []byte) []byte { a[7] = 1; return a },
		"a refusal":       func(a []byte) []byte { a[9] = 2; return a },
		"no time":         func(a []byte) []byte { a[chronyLeapAt+1] = chronyLeapUnset; return a },
	} {
		if offset, err := parseChrony(change(reply(question)), question); err == nil || offset != 0 {
			t.Errorf("%s: %v, %v", name, offset, err)
		}
	}
}

func FuzzAnswerOfChrony(f *testing.F) {
	question := chronyQuestion()
	f.Add(reply(question))
	f.Add([]byte{chronyVersion, 2})
	f.Fuzz(func(t *testing.T, answer []byte) {
		if offset, err := parseChrony(answer, question); err != nil && offset != 0 || math.IsNaN(offset) {
			t.Error(offset, err)
		}
	})
}

// A machine without chronyd has what the kernel says, even where a folder is left of it.
func TestWithoutChronydTheKernelSays(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	bare := tree(t, nil)
	if _, known, err := bare.chronyOffset(t.Context()); known || err != nil {
		t.Errorf("without a folder: %v, %v", known, err)
	}
	left := tree(t, map[string]string{"run/chrony/chronyd.pid": "1\n", "proc/1/stat": "1 (init) S 0 1 1" + strings.Repeat(" 0", 46) + "\n"})
	if _, known, err := left.chronyOffset(t.Context()); known || err != nil {
		t.Errorf("with a folder: %v, %v", known, err)
	}
}

// A real chronyd, which may not set the clock of this machine, finds a server that is 0.3 s ahead.
func TestTheOffsetOfARealChronyd(t *testing.T) {
	chronyd := testenv.Program(t, "chronyd", "chrony")
	if !testenv.Isolated(t) {
		return
	}
	server := timeServer(t, 300*time.Millisecond)
	dir := t.TempDir()
	config := filepath.Join(dir, "chrony.conf")
	text := fmt.Sprintf("server 127.0.0.1 port %d minpoll -4 maxpoll -4\ncmdport 323\nbindcmdaddress 127.0.0.1\nbindcmdaddress /\nuser root\npidfile %s/pid\n", server, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), chronyd, "-x", "-n", "-f", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	var offset float64
	var err error
	testenv.WaitFor(t, "chronyd to find the server", func() bool {
		offset, err = askChrony(t.Context(), chronyAddress)
		return err == nil && offset != 0
	})
	if math.Abs(offset) > 0.31 || math.Abs(offset) < 0.01 {
		t.Errorf("%v s, want about 0.3", offset)
	}
}

// timeServer answers questions of NTP (RFC 5905, figure 8) with a time that is ahead, and returns
// its port.
func timeServer(t *testing.T, ahead time.Duration) int {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		var question [512]byte
		for {
			n, from, err := conn.ReadFromUDP(question[:])
			if errors.Is(err, net.ErrClosed) || n < 48 {
				return
			}
			conn.WriteToUDP(timeAnswer(question[:48], time.Now().Add(ahead)), from)
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

func timeAnswer(question []byte, now time.Time) []byte {
	const since1900 = 2_208_988_800
	a := make([]byte, 48)
	a[0], a[1], a[2], a[3] = 4<<3|4, 1, question[2], 0xe9 // version 4, a server, stratum 1, to 2^-23 s
	copy(a[12:], "TEST")
	copy(a[24:32], question[40:48])
	for _, at := range []int{16, 32, 40} {
		binary.BigEndian.PutUint32(a[at:], uint32(now.Unix()+since1900))
		binary.BigEndian.PutUint32(a[at+4:], uint32(uint64(now.Nanosecond())<<32/1e9))
	}
	return a
}
