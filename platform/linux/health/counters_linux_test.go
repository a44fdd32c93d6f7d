// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
	"sentinel/internal/testenv"
)

var kernelCounts = map[string]string{
	"proc/vmstat":         "pgpgin 100\npgpgout 200\noom_kill 3\n",
	"proc/net/snmp":       "Tcp: CurrEstab OutSegs RetransSegs\nTcp: 7 1000 5\n",
	"proc/sys/fs/file-nr": "1641\t0\t2466170\n",
}

func TestCountersOfAMachine(t *testing.T) {
	got, err := sourcesOf(testenv.Plant(t, kernelCounts)).Counters(t.Context())
	want := health.Counters{
		DiskRead: new(uint64(100 << 10)), DiskWritten: new(uint64(200 << 10)), Sent: new(uint64(1000)), Resent: new(uint64(5)), Established: new(uint64(7)),
		Files: new(uint64(1641)), OOMKills: new(uint64(3)),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = sourcesOf(t.TempDir()).Counters(t.Context())
	if diff := cmp.Diff(health.Counters{}, got); err != nil || diff != "" {
		t.Errorf("what is not there is known: %v\n%s", err, diff)
	}
}

// The disks and files of its host are not those of a container.
func TestCountersOfAContainer(t *testing.T) {
	got, err := containerTree(t, kernelCounts).counters(t.Context())
	if err != nil || got.DiskRead != nil || got.DiskWritten != nil || got.Files != nil || *got.Established != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}
