// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// crowded are the processes of a machine whose table is as full as it gets: 32768 is the usual kernel.pid_max.
const crowded = 30_000

func TestAFullTableOfProcessesIsRead(t *testing.T) {
	root := testenv.MemDir(t)
	if err := os.CopyFS(root, os.DirFS(filepath.Join("..", "..", "testdata", "hosts", "vm"))); err != nil {
		t.Fatal(err)
	}
	already, err := filepath.Glob(filepath.Join(root, "proc", "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for pid := range crowded {
		dir := filepath.Join(root, "proc", fmt.Sprint(100_000+pid))
		stat := fmt.Sprintf("%d (worker) S 1 1 1 0 -1 4194304 100 0 0 0 5 5 0 0 20 0 1 0 900 10000000 250 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n", 100_000+pid)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"--json"}, {"--top", "--json"}, {"--network-stats", "--json"}} {
		raw, status := run(t, root, args...)
		var d struct {
			Load      string    `json:"cpu_load"`
			Memory    *struct{} `json:"memory"`
			Total     *int      `json:"processes_total"`
			Processes []any     `json:"processes"`
		}
		if err := json.Unmarshal(raw, &d); err != nil || status != fault.ExitOK {
			t.Errorf("%v: status %d, %v: %s", args, status, err, raw)
		}
		if args[0] == "--json" && (d.Load == "" || d.Memory == nil) { // the table has its time limit here
			t.Errorf("no verdict: %s", raw)
		}
		if args[0] == "--top" && (d.Total == nil || *d.Total != crowded+len(already) || len(d.Processes) == 0) {
			t.Errorf("not all are counted: %s", raw)
		}
	}
}

// bridged is a machine with an interface for each of 150 containers, and what each tool has of them.
func bridged(t *testing.T) string {
	t.Helper()
	vm := os.DirFS(filepath.Join("..", "..", "testdata", "hosts", "vm"))
	counters, err := fs.ReadFile(vm, "proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	var addresses []byte
	for n := range 150 {
		name := fmt.Sprintf("veth%08x", n)
		counters = fmt.Appendf(counters, "%s: %[2]d %[2]d 0 0 0 0 0 0 %[2]d %[2]d 0 0 0 0 0 0\n", name, 123_456_789_012+n)
		for a := range 4 {
			addresses = fmt.Appendf(addresses, "20010db811112222333344440000%02x%02x %02x 40 00 80 %s\n", a, n, 10+n, name)
		}
		for file, text := range map[string]string{"ifindex": fmt.Sprint(10 + n), "mtu": "1500", "flags": "0x1003", "operstate": "up", "address": "00:00:5e:00:53:01"} {
			files["sys/class/net/"+name+"/"+file] = text + "\n"
		}
	}
	root := testenv.Plant(t, files)
	if err := os.CopyFS(root, vm); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"dev": counters, "if_inet6": addresses} {
		if err := os.WriteFile(filepath.Join(root, "proc", "net", name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// With any number of interfaces a model gets no more than of another machine, and a person all that there were.
func TestManyInterfacesFitAModel(t *testing.T) {
	root := bridged(t)
	type list struct {
		Interfaces []any `json:"interfaces"`
		Total      int   `json:"interfaces_total"`
		Truncated  bool  `json:"truncated"`
	}
	for flag, tool := range map[string]string{"--network-stats": "get_network_stats", "--asset-info": "get_asset_info"} {
		for _, args := range [][]string{{"--request", tool}, {flag, "--json"}} {
			raw, status := run(t, root, args...)
			var d struct {
				Stats list `json:"stats"`
				Asset struct {
					Network list `json:"network"`
				} `json:"asset"`
			}
			err := json.Unmarshal(raw, &d)
			got := d.Stats
			if tool == "get_asset_info" {
				got = d.Asset.Network
			}
			asked, rows := args[0] == "--request", len(got.Interfaces)
			if err != nil || status != fault.ExitOK || got.Total != 152 || !got.Truncated || asked && (len(raw) > usualAnswer || rows < 15) || !asked && rows != 50 {
				t.Errorf("%v: %d bytes, %d of %d rows, truncated %v, status %d, %v", args, len(raw), rows, got.Total, got.Truncated, status, err)
			}
		}
	}
}

// A stuckTable is one that does not come in time.
type stuckTable struct{ processes.Source }

func (stuckTable) Table(ctx context.Context) (processes.Table, error) {
	<-ctx.Done()
	return processes.Table{}, ctx.Err()
}

func TestHealthAnswersWithoutTheTableOfProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Program{
			Open: func() (*host.Host, error) {
				h, err := local.Open(filepath.Join("..", "..", "testdata", "hosts", "vm"))
				h.Processes = stuckTable{h.Processes}
				return h, err
			},
			ConfigPath: filepath.Join(t.TempDir(), "none.yaml"), StateDir: t.TempDir(), Journal: quietJournal(t.TempDir()), UID: testenv.Nobody,
		}
		var out bytes.Buffer
		if status := p.Run(t.Context(), []string{"--json"}, strings.NewReader(""), &out, io.Discard); status != fault.ExitOK {
			t.Fatalf("status %d: %s", status, out.String())
		}
		for _, want := range []string{`"threat_level":`, `"cpu_load":`, `{"field":"top_processes","reason":"did not answer in time"}`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("without %s: %s", want, out.String())
			}
		}
	})
}
