// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Where chronyd takes questions that only read, from everybody on this machine (chrony.conf(5),
// cmdport), and the folder that it makes for itself.
const (
	chronyAddress = "127.0.0.1:323"
	chronyFolder  = "/run/chrony"
)

// chronyWait is how long chronyd has for its answer: it is one thread, which may be busy for a moment.
const chronyWait = 200 * time.Millisecond

// The question how the clock is doing and its answer (candm.h of chrony 1.27 to 4.8, version 6 of the
// protocol). A question is as long as its answer, so that nobody can use chronyd to multiply traffic.
const (
	chronyVersion   = 6
	chronyTracking  = 33  // REQ_TRACKING
	chronyTracked   = 5   // RPY_TRACKING
	chronyLength    = 104 // of both, in bytes
	chronyLeapAt    = 54  // where the leap status stands
	chronyOffsetAt  = 68  // where the correction that is left stands
	chronyLeapUnset = 3   // the clock is not synchronised
)

var errChronySilent = errors.New("chronyd, which keeps the clock, does not tell how far it is off (see cmdport in chrony.conf)")

// chronyOffset returns by how many seconds chronyd still corrects the clock, which it does by the clock's
// speed, so that the kernel knows no offset. known is false where there is no chronyd.
func (s source) chronyOffset(ctx context.Context) (offset float64, known bool, err error) {
	if _, err := os.Stat(filepath.Join(s.root, chronyFolder)); err != nil {
		return 0, false, nil
	}
	offset, err = askChrony(ctx, chronyAddress)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return offset, true, err
	}
	table, unread, err := s.table.Recent(ctx)
	if err != nil {
		return 0, true, errChronySilent
	}
	if found, err := runs(table, []string{"chronyd"}, s.table.Daemon); !found && err == nil && unread == nil {
		return 0, false, nil
	}
	return 0, true, errChronySilent
}

func askChrony(ctx context.Context, address string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, chronyWait)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return 0, err
	}
	question := chronyQuestion()
	if _, err := conn.Write(question); err != nil {
		return 0, err
	}
	var answer [chronyLength + 1]byte
	n, err := conn.Read(answer[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errChronySilent
	}
	if err != nil {
		return 0, err
	}
	return parseChrony(answer[:n], question)
}

func chronyQuestion() []byte {
	q := make([]byte, chronyLength)
	q[0], q[1] = chronyVersion, 1
	binary.BigEndian.PutUint16(q[4:], chronyTracking)
	rand.Read(q[8:12])
	return q
}

// parseChrony reads the answer to a question: the correction that is left, in seconds.
func parseChrony(answer, question []byte) (float64, error) {
	if len(answer) < 28 || answer[0] != chronyVersion || answer[1] != 2 || string(answer[16:20]) != string(question[8:12]) {
		return 0, errors.New("what answers for chronyd is not chronyd, or another version of it")
	}
	reply, status := binary.BigEndian.Uint16(answer[6:]), binary.BigEndian.Uint16(answer[8:])
	if len(answer) != chronyLength || reply != chronyTracked || status != 0 {
		return 0, fmt.Errorf("chronyd does not tell how far the clock is off (status %d)", status)
	}
	if binary.BigEndian.Uint16(answer[chronyLeapAt:]) == chronyLeapUnset {
		return 0, errUnsynchronized
	}
	return chronyFloat(binary.BigEndian.Uint32(answer[chronyOffsetAt:])), nil
}

// chronyFloat converts a number as chrony sends it: seven bits of exponent and 25 of coefficient, both
// signed (util.c, UTI_FloatNetworkToHost).
func chronyFloat(x uint32) float64 {
	exponent, coefficient := int32(x)>>25, int32(x<<7)>>7
	return math.Ldexp(float64(coefficient), int(exponent)-25)
}
