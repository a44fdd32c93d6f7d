// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"
)

const (
	vmstatFile = "nr_free_pages 102331\npgpgin 316429367\npgpgout 115310572\npswpin 0\noom_kill 2\nthp_zero_page_alloc 1\n"
	snmpFile   = "Ip: Forwarding DefaultTTL\nIp: 1 64\n" +
		"Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n" +
		"Tcp: 1 200 120000 -1 1722156 6499 1713803 4776 17 4576428 4553974 118 0 1717379 0\n" +
		"Udp: InDatagrams NoPorts\nUdp: 4 1\n"
)

func TestDiskTrafficIsInBytes(t *testing.T) {
	got, err := parseDiskTraffic([]byte(vmstatFile))
	if want := (DiskTraffic{Read: 316429367 << 10, Written: 115310572 << 10}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for name, file := range map[string]string{
		"empty": "", "one of them": "pgpgin 1\n", "letters": strings.Replace(vmstatFile, "316429367", "many", 1),
		"negative": strings.Replace(vmstatFile, "115310572", "-1", 1), "beyond reason": strings.Replace(vmstatFile, "115310572", "18446744073709551615", 1),
	} {
		if got, err := parseDiskTraffic([]byte(file)); !errors.Is(err, ErrFormat) || got != (DiskTraffic{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	wholeOrNothing(t, vmstatFile, parseDiskTraffic)
}

func TestTCPCountersAreFoundByTheirTitles(t *testing.T) {
	got, err := parseTCP([]byte(snmpFile))
	if want := (TCP{Established: 17, Sent: 4553974, Resent: 118}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for name, file := range map[string]string{
		"empty": "", "titles alone": "Tcp: CurrEstab OutSegs RetransSegs\n", "a column missing": "Tcp: CurrEstab OutSegs RetransSegs\nTcp: 1 2\n",
		"a title missing": "Tcp: CurrEstab OutSegs\nTcp: 1 2\n", "negative": strings.Replace(snmpFile, " 118 ", " -1 ", 1), "letters": strings.Replace(snmpFile, " 17 ", " x ", 1),
	} {
		if got, err := parseTCP([]byte(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	wholeOrNothing(t, snmpFile, parseTCP)
}

func TestAllOpenFilesIsTheFirstNumber(t *testing.T) {
	if n, err := parseAllOpenFiles([]byte("1641\t0\t2466170\n")); n != 1641 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, file := range []string{"", "1641\n", "x\t0\t1\n", "1641\t0\t24", "-1\t0\t1\n"} {
		if n, err := parseAllOpenFiles([]byte(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %d, %v", file, n, err)
		}
	}
}

func FuzzCounters(f *testing.F) {
	f.Add([]byte(vmstatFile))
	f.Add([]byte(snmpFile))
	f.Add([]byte("Tcp: CurrEstab CurrEstab OutSegs RetransSegs\nTcp: 1 2 3 4\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := parseDiskTraffic(b); err == nil && (d.Read%1024 != 0 || !strings.Contains(string(b), "pgpgout ")) {
			t.Errorf("%+v", d)
		}
		if c, err := parseTCP(b); err == nil && !strings.Contains(string(b), "RetransSegs") {
			t.Errorf("%+v", c)
		}
	})
}
