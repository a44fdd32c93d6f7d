// SPDX-License-Identifier: Apache-2.0

package sysctl

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func TestRead(t *testing.T) {
	v, err := Read(t.Context(), replay.New(t, "testdata/vitals.txtar"),
		"hw.memsize", "kern.boottime", "vm.loadavg", "vm.swapusage", "hw.unknown")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := v.Number("hw.memsize"); n != 16<<30 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if b, err := v.BootTime(); err != nil || !b.Equal(time.Unix(1758552252, 973963000)) {
		t.Errorf("%v, %v", b, err)
	}
	if l, err := v.LoadAverage(); err != nil || l != [3]float64{4.22, 2.85, 2.61} {
		t.Errorf("%v, %v", l, err)
	}
	if total, used, err := v.Swap(); err != nil || total != 3<<30 || used != 1491861504 {
		t.Errorf("%d of %d, %v", used, total, err)
	}
	if _, err := v.Number("hw.unknown"); !errors.Is(err, ErrAbsent) {
		t.Errorf("an unknown name: %v", err)
	}
}

type printing struct {
	sysexec.Result
	err error
}

func (p printing) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return p.Result, p.err
}

func TestFailures(t *testing.T) {
	for name, p := range map[string]printing{
		"missing": {err: errors.New("no such file")}, "hanging": {err: context.DeadlineExceeded}, "empty": {},
		"all unknown": {Result: sysexec.Result{Exit: 1, Stderr: []byte("sysctl: unknown oid 'hw.a'\n")}},
		"noise":       {Result: sysexec.Result{Stdout: []byte("hello: there\n")}},
	} {
		if v, err := Read(t.Context(), p, "hw.a"); err == nil {
			t.Errorf("%s: %v without an error", name, v)
		}
	}
}

func TestValuesOfAnotherForm(t *testing.T) {
	for _, text := range []string{"", "x", "{ sec = a, usec = 1 }", "{ sec = 0, usec = 0 }", "{ sec = 5, usec = 1000000 }", "1 2", "{ 1 2 }", "{ 1,0 2,0 3,0 }",
		"{ NaN 1 1 }", "{ -1 1 1 }", "total = x used = 1M free", "total = 1.00M  used = 2.00M  free = 0", "total = 1.00Q  used = 0.00M  free = 0",
		"total = 1.00M  used = NaNM  free = 0", "total = 1.00M used", "total = 9999999999M  used = 0M  free"} {
		v := Values{"kern.boottime": text, "vm.loadavg": text, "vm.swapusage": text, "hw.memsize": text}
		if b, err := v.BootTime(); err == nil {
			t.Errorf("%q starts at %v", text, b)
		}
		if l, err := v.LoadAverage(); err == nil {
			t.Errorf("%q is the load %v", text, l)
		}
		if total, used, err := v.Swap(); err == nil {
			t.Errorf("%q is %d of %d", text, used, total)
		}
		if n, err := v.Number("hw.memsize"); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func TestOnlyLinesOfTheNamesCount(t *testing.T) {
	v := parse([]byte("a.b: one\ntwo: three\nnoise\nc.d: four\na.b: five\n"), []string{"a.b", "c.d"})
	if v["a.b"] != "one" || v["c.d"] != "four" || len(v) != 2 {
		t.Errorf("%q", v)
	}
}

func TestRecordedOutputs(t *testing.T) {
	names := []string{"hw.memsize", "vm.swapusage", "vm.loadavg", "kern.boottime", "hw.ncpu", "machdep.cpu.brand_string"}
	for _, r := range testenv.RecordedOutputs(t, "sysctl") {
		if name, single := strings.CutPrefix(r.Name, "n-"); single { // without the name
			name = strings.TrimSuffix(name, ".txt")
			for _, known := range names {
				if strings.HasPrefix(name, known) {
					check(t, r.Name, Values{known: strings.TrimSpace(string(r.Raw))})
				}
			}
			continue
		}
		v := parse(r.Raw, names)
		if len(v) == 0 {
			t.Errorf("%s tells no value", r.Name)
		}
		if r.Name == "a-mojave-intel.txt" && len(v) < 5 {
			t.Errorf("%s tells %v", r.Name, v)
		}
		check(t, r.Name, v)
	}
}

// check reads every value that is present.
func check(t *testing.T, file string, v Values) {
	t.Helper()
	_, memoryErr := v.Number("hw.memsize")
	_, bootErr := v.BootTime()
	_, loadErr := v.LoadAverage()
	_, _, swapErr := v.Swap()
	for _, err := range []error{memoryErr, bootErr, loadErr, swapErr} {
		if err != nil && !errors.Is(err, ErrAbsent) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func FuzzValues(f *testing.F) {
	f.Add("total = 3072.00M  used = 1422.75M  free = 1649.25M  (encrypted)")
	f.Add("{ sec = 1758552252, usec = 973963 } Mon Sep 22 17:44:12 2025")
	f.Add("{ 1.79 1.52 1.67 }")
	f.Fuzz(func(t *testing.T, text string) {
		v := parse([]byte("a: "+text), []string{"a"})
		v = Values{"vm.swapusage": v["a"], "kern.boottime": v["a"], "vm.loadavg": v["a"]}
		if total, used, err := v.Swap(); err == nil && used > total {
			t.Errorf("%d of %d used", used, total)
		}
		if b, err := v.BootTime(); err == nil && b.Unix() <= 0 {
			t.Errorf("started at %v", b)
		}
		if l, err := v.LoadAverage(); err == nil && l[0] < 0 {
			t.Errorf("load %v", l)
		}
	})
}
