// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/assets"
)

// askAssets takes the inventory with every row.
func askAssets(t *testing.T) assets.Asset {
	t.Helper()
	var doc assets.Result
	askSentinel(t, &doc, "--asset-info", "--json", "--limit", "all")
	return doc.Asset
}

func TestProcessorsAreThoseOfLscpu(t *testing.T) {
	needTool(t, "lscpu", "util-linux")
	var table struct {
		CPUs []struct {
			CPU, Core, Socket *int
		}
	}
	decode(t, output(t, "lscpu", "-J", "-e=CPU,CORE,SOCKET"), &table)
	cores, sockets := map[[2]int]bool{}, map[int]bool{}
	for _, row := range table.CPUs {
		if row.Core != nil && row.Socket != nil {
			cores[[2]int{*row.Socket, *row.Core}], sockets[*row.Socket] = true, true
		}
	}
	h := askAssets(t).Hardware
	want := []int{len(table.CPUs), len(cores), len(sockets)}
	if diff := cmp.Diff(want, []int{value(h.Cores), value(h.CoresPhysical), value(h.Sockets)}); diff != "" {
		t.Errorf("logical, cores, sockets (-lscpu +sentinel):\n%s", diff)
	}
	if model := lscpuField(t, "Model name:"); model != "" && !strings.Contains(h.Chip, model) {
		t.Errorf("chip is %q, lscpu says %q", h.Chip, model)
	}
}

// value is -1 for an absent number, which no program prints.
func value(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func lscpuField(t *testing.T, name string) string {
	t.Helper()
	var all struct {
		Fields []struct{ Field, Data string } `json:"lscpu"`
	}
	decode(t, output(t, "lscpu", "-J"), &all)
	for _, f := range all.Fields {
		if f.Field == name {
			return f.Data
		}
	}
	return ""
}

func TestMachineMemoryIsThatOfFree(t *testing.T) {
	needTool(t, "free", "procps")
	if !inside(t) {
		return
	}
	var h assets.Hardware
	var want freeReport
	eventually(t, func() string {
		before := askFree(t)
		h = askAssets(t).Hardware
		want = askFree(t)
		if h.MemoryBytes == nil || h.MemoryUsedBytes == nil {
			return "memory is unknown"
		}
		return between(before.Memory.Available, *h.MemoryBytes-*h.MemoryUsedBytes, want.Memory.Available)
	})
	if *h.MemoryBytes != want.Memory.Total {
		t.Errorf("memory is %d bytes, free says %d", *h.MemoryBytes, want.Memory.Total)
	}
}

func TestSystemIsThatOfUnameAndOSRelease(t *testing.T) {
	a := askAssets(t)
	const script = `. /etc/os-release; printf '%s\n' "$NAME" "${VERSION_ID:-$VERSION}" "$(uname -r)" "$(uname -m)" "$(uname -n)"`
	want := strings.Split(strings.TrimSuffix(string(output(t, "/bin/sh", "-c", script)), "\n"), "\n")
	got := []string{a.OS.Name, a.OS.Version, a.OS.Kernel, a.OS.Architecture, a.Hostname}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-uname +sentinel):\n%s", diff)
	}
}

func TestUptimeOfTheInventoryIsThatOfTheKernel(t *testing.T) {
	before := uptime(t)
	o := askAssets(t).OS
	after := uptime(t)
	if o.UptimeSeconds == nil || *o.UptimeSeconds < before || *o.UptimeSeconds > after {
		t.Errorf("uptime is %v s, the kernel says %d before and %d after", o.UptimeSeconds, before, after)
	}
}

// The application's id is set down twice on purpose: a changed one would give
// every asset a new identity.
func TestAssetIDIsWhatSystemdDerives(t *testing.T) {
	needTool(t, "systemd-id128", "systemd")
	cmd := exec.CommandContext(t.Context(), "systemd-id128", "machine-id", "--uuid", "--app-specific=5e9c1f0b7a344d2e9b61d843c270af16")
	raw, err := cmd.Output()
	want := strings.TrimSpace(string(raw))
	if err != nil {
		want = "" // no machine id, and so no asset id
	}
	if got := askAssets(t).AssetID; got != want {
		t.Errorf("asset id is %q, systemd derives %q", got, want)
	}
}

// An ipLink is one interface as ip -j addr shows it.
type ipLink struct {
	Name      string   `json:"ifname"`
	MTU       int      `json:"mtu"`
	Flags     []string `json:"flags"`
	State     string   `json:"operstate"`
	Kind      string   `json:"link_type"`
	MAC       string   `json:"address"`
	Addresses []struct {
		Local  string `json:"local"`
		Length int    `json:"prefixlen"`
	} `json:"addr_info"`
}

func askIP(t *testing.T) map[string]assets.Interface {
	t.Helper()
	var all []ipLink
	decode(t, output(t, "ip", "-j", "addr"), &all)
	byName := map[string]assets.Interface{}
	for _, l := range all {
		flags := "," + strings.Join(l.Flags, ",") + ","
		i := assets.Interface{Name: l.Name, MTU: l.MTU, State: "down", Addresses: []string{}, Loopback: strings.Contains(flags, ",LOOPBACK,")}
		if l.State == "UP" || l.State == "UNKNOWN" && strings.Contains(flags, ",UP,LOWER_UP,") {
			i.State = "up"
		}
		if l.Kind == "ether" {
			i.MAC = l.MAC
		}
		for _, a := range l.Addresses {
			i.Addresses = append(i.Addresses, fmt.Sprintf("%s/%d", a.Local, a.Length))
		}
		byName[l.Name] = i
	}
	return byName
}

func TestInterfacesAreThoseOfIP(t *testing.T) {
	needTool(t, "ip", "iproute2")
	if !inside(t) {
		return
	}
	for _, args := range []string{
		"link add abcdefghijklmno type veth peer name peer0",
		"link set abcdefghijklmno up", "link set peer0 up mtu 9000",
		"addr add 192.0.2.5/24 dev abcdefghijklmno", "addr add 192.0.2.6/32 peer 198.51.100.1/32 dev abcdefghijklmno",
		"addr add 2001:db8::5/64 dev abcdefghijklmno nodad", "link add eth0 type bridge", "addr add 203.0.113.1/30 dev eth0",
		"link add tunnel type veth peer name far1", "link set tunnel up",
	} {
		output(t, "ip", strings.Fields(args)...)
	}
	var got map[string]assets.Interface
	eventually(t, func() string {
		want := askIP(t)
		got = map[string]assets.Interface{}
		for _, i := range askAssets(t).Network.Interfaces {
			got[i.Name] = i
		}
		return cmp.Diff(want, got)
	})
	if len(got) < 6 || got["abcdefghijklmno"].State != "up" || got["tunnel"].State != "down" || len(got["abcdefghijklmno"].Addresses) < 3 {
		t.Errorf("the test did not make what it meant to: %+v", got)
	}
}

// Root sees the serial number or a reason; a user sees the same document
// otherwise.
func TestInventoryWithoutRootLacksOnlyWhatItSays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("compares root with a user")
	}
	var root, user assets.Result
	askSentinel(t, &root, "--asset-info", "--json")
	cmd := exec.CommandContext(t.Context(), sentinelBinary(t), "--asset-info", "--json")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	decode(t, finish(t, cmd), &user)
	have, lack := fields(t, root.Asset), fields(t, user.Asset)
	reasons := map[string]bool{}
	for _, gap := range user.Unavailable {
		reasons[gap.Field] = true
	}
	for field := range have {
		if !lack[field] && !reasons[field] {
			t.Errorf("%s is missing without root and has no reason", field)
		}
	}
}

// fields lists the paths of the values of an inventory, without its lists.
func fields(t *testing.T, a assets.Asset) map[string]bool {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	decode(t, raw, &tree)
	paths := map[string]bool{}
	for name, v := range tree {
		branch, ok := v.(map[string]any)
		if !ok {
			paths[name] = true
			continue
		}
		for leaf := range branch {
			paths[name+"."+leaf] = true
		}
	}
	return paths
}
