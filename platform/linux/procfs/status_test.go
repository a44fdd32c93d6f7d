// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"
)

const status = "Name:\tTgid:\\n7\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4242\nNgid:\t0\nPid:\t4243\nPPid:\t17\nTracerPid:\t12\n" +
	"Uid:\t1000\t0\t0\t0\nGid:\t1000\t1000\t1000\t1000\nNSpid:\t4243\n"

func TestStatusTellsThreadsTracersAndContainers(t *testing.T) {
	want := ProcessStatus{TGID: 4242, TracerPID: 12, UID: 1000}
	if got, err := parseProcessStatus([]byte(status)); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for numbers, first := range map[string]bool{"4243\t1": true, "4243\t17": false, "4243\t1\t17": false, "4243\t17\t1": true} {
		want.Nested, want.First = true, first
		if got, err := parseProcessStatus([]byte(strings.Replace(status, "NSpid:\t4243", "NSpid:\t"+numbers, 1))); got != want || err != nil {
			t.Errorf("%q: %+v, %v", numbers, got, err)
		}
	}
	want.Nested, want.First = false, false
	if got, err := parseProcessStatus([]byte(strings.Replace(status, "NSpid:\t4243\n", "", 1))); got != want || err != nil {
		t.Errorf("before Linux 4.1: %+v, %v", got, err)
	}
}

// A field that is missing or cut off must not read as 0: user 0 is root.
func TestStatusIsWholeOrAnError(t *testing.T) {
	for _, from := range []string{"Tgid:\t4242\n", "TracerPid:\t12\n", "Uid:\t1000\t0\t0\t0\n"} {
		name, _, _ := strings.Cut(from, ":")
		for _, to := range []string{"", name + ":\n", name + ":\tx\n", name + ":\t-1\n", name + ":\t4294967296\n"} {
			text := strings.Replace(status, from, to, 1)
			if got, err := parseProcessStatus([]byte(text)); !errors.Is(err, ErrFormat) || got != (ProcessStatus{}) {
				t.Errorf("%q for %q: %+v, %v", to, from, got, err)
			}
		}
	}
	if got, err := parseProcessStatus([]byte(status[:strings.Index(status, "1000")+2])); !errors.Is(err, ErrFormat) {
		t.Errorf("cut off: %+v, %v", got, err)
	}
}

func FuzzParseProcessStatus(f *testing.F) {
	f.Add(status)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseProcessStatus([]byte(text))
		if err == nil && (s.TGID <= 0 || s.TracerPID < 0 || s.UID < 0) || err != nil && s != (ProcessStatus{}) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	})
}
