// SPDX-License-Identifier: Apache-2.0

package nmapscan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Ullaakut/nmap/v3"
	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/portscan"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func job(address string, ports ...uint16) portscan.Job {
	return portscan.Job{Address: netip.MustParseAddr(address), Ports: ports}
}

func TestArguments(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	got, err := arguments(ctx, "/usr/bin/nmap", job("2001:db8::7", 1, 2, 3, 80))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(got, "--host-timeout")
	if at < 0 || !strings.HasPrefix(got[at+1], "359") || !strings.HasSuffix(got[at+1], "ms") {
		t.Errorf("%q", got)
	}
	got = slices.Delete(got, at, at+2)
	if want := []string{"-sT", "-T4", "-n", "-Pn", "-p", "1-3,80", "-6", "2001:db8::7", "-oX", "-"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestWithoutNmap(t *testing.T) {
	e := Engine{sysexec.Host{}, []string{filepath.Join(t.TempDir(), "nmap"), t.TempDir()}}
	_, err := e.Scan(t.Context(), job("192.0.2.7", 80))
	if fault.From(err).Code != fault.Unavailable || !errors.Is(err, nmap.ErrNmapNotInstalled) {
		t.Error(err)
	}
}

type says struct {
	result sysexec.Result
	err    error
}

func (s says) Run(context.Context, sysexec.Command) (sysexec.Result, error) { return s.result, s.err }

func TestWhatNmapPrints(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"nmap": ""})
	const host = `<?xml version="1.0"?><!DOCTYPE nmaprun><nmaprun><host timedout="%"><ports>` +
		`<extraports state="closed" count="90"/><extraports state="filtered" count="5"/><extraports state="odd" count="7"/>` +
		`<port protocol="tcp" portid="443"><state state="open"/></port><port protocol="tcp" portid="80"><state state="open"/></port>` +
		`<port protocol="tcp" portid="80"><state state="open"/></port><port protocol="tcp" portid="81"><state state="filtered"/></port>` +
		`<port protocol="tcp" portid="82"><state state="closed"/></port></ports></host></nmaprun>`
	for _, c := range []struct {
		says
		want portscan.Result
		err  string
	}{
		{says{sysexec.Result{Stdout: []byte(strings.Replace(host, "%", "false", 1))}, nil}, portscan.Result{Open: []uint16{80, 443}, Closed: 91, Filtered: 6}, ""},
		{says{sysexec.Result{Stdout: []byte(strings.Replace(host, "%", "true", 1))}, nil}, portscan.Result{}, "context deadline exceeded"},
		{says{sysexec.Result{Stdout: []byte("<nmaprun></nmaprun>")}, nil}, portscan.Result{}, "nmap reported 0 hosts"},
		{says{sysexec.Result{Stdout: []byte("no xml")}, nil}, portscan.Result{}, "parse what nmap printed: EOF"},
		{says{sysexec.Result{Exit: 1, Stderr: []byte("bad\x1b thing\n")}, nil}, portscan.Result{}, "nmap ended with status 1: bad� thing "},
		{says{sysexec.Result{}, context.DeadlineExceeded}, portscan.Result{}, "run nmap: context deadline exceeded"},
	} {
		got, err := Engine{c.says, []string{filepath.Join(root, "nmap")}}.Scan(t.Context(), job("192.0.2.7", 80))
		if !cmp.Equal(got, c.want) || err == nil != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %+v, %v", c.err, got, err)
		}
	}
}

func TestARealNmap(t *testing.T) {
	testenv.Program(t, "nmap", "nmap")
	for _, address := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port, err := strconv.Atoi(l.Addr().String()[strings.LastIndex(l.Addr().String(), ":")+1:])
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		got, err := New(sysexec.Host{}).Scan(ctx, job(address, 1, uint16(port)))
		cancel()
		if err != nil || !slices.Equal(got.Open, []uint16{uint16(port)}) || got.Closed != 1 || got.Filtered != 0 {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`<nmaprun><host><ports><port portid="1"><state state="open"/></port></ports></host></nmaprun>`))
	f.Add([]byte(`<nmaprun><host><ports><extraports state="closed" count="-7"/></ports></host></nmaprun>`))
	f.Fuzz(func(t *testing.T, xml []byte) {
		r, err := parse(xml)
		if err == nil && (r.Closed < 0 || r.Filtered < 0 || !slices.IsSorted(r.Open) || slices.Contains(r.Open, 0)) {
			t.Errorf("%+v", r)
		}
	})
}
