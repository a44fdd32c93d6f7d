// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const devTitles = "Inter-|   Receive                                                |  Transmit\n" +
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"

const devFile = devTitles +
	"    lo:  884120    7120    0    0    0     0          0         0   884120    7120    0    0    0     0       0          0\n" +
	"wlp2s0:4411820993 3920112    1  214    0     0          0         0 402119283 1822011    5    3    0     0       0          0\n"

func TestInterfacesReadTheirColumns(t *testing.T) {
	got, err := parseInterfaces([]byte(devFile))
	want := []Interface{
		{Name: "lo", BytesIn: 884120, PacketsIn: 7120, BytesOut: 884120, PacketsOut: 7120},
		{
			Name: "wlp2s0", BytesIn: 4411820993, PacketsIn: 3920112, ErrorsIn: 1, DropsIn: 214,
			BytesOut: 402119283, PacketsOut: 1822011, ErrorsOut: 5, DropsOut: 3,
		},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestInterfaceNameMayHoldAColon(t *testing.T) {
	got, err := parseInterfaces([]byte(strings.Replace(devFile, "wlp2s0:", "wlp2s0:1:", 1)))
	if err != nil || got[1].Name != "wlp2s0:1" || got[1].BytesIn != 4411820993 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNamespaceWithoutInterfacesHasNone(t *testing.T) {
	got, err := parseInterfaces([]byte(devTitles))
	if err != nil || got == nil || len(got) != 0 {
		t.Errorf("got %#v, %v", got, err)
	}
}

func TestInterfacesRefuseWhatIsNotOne(t *testing.T) {
	for name, file := range map[string]string{
		"empty":          "",
		"one title":      devTitles[:strings.Index(devTitles, "\n")+1],
		"no titles":      strings.TrimPrefix(devFile, devTitles),
		"no colon":       strings.Replace(devFile, "lo:", "lo", 1),
		"no name":        strings.Replace(devFile, "lo:", "  :", 1),
		"fifteen fields": strings.Replace(devFile, "0     0       0          0\nwlp", "0     0       0\nwlp", 1),
		"letters":        strings.Replace(devFile, "7120", "many", 1),
		"negative":       strings.Replace(devFile, "7120", "-712", 1),
		"65 bits":        strings.Replace(devFile, "884120", "18446744073709551616", 1),
		"blank line":     devFile + "\n",
	} {
		if got, err := parseInterfaces([]byte(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestCutInterfacesAreWholeLines(t *testing.T) {
	beginnings(t, devFile, parseInterfaces, func(got, want []Interface) bool { return cmp.Equal(got, want[:len(got)]) })
}

func FuzzInterfaces(f *testing.F) {
	f.Add([]byte(devFile))
	f.Add([]byte(devTitles + "a:b: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseInterfaces(b)
		if err != nil {
			return
		}
		for _, i := range list {
			if i.Name == "" || strings.ContainsAny(i.Name, "\n") {
				t.Errorf("name %q", i.Name)
			}
		}
		if list == nil {
			t.Error("no error and no list")
		}
	})
}
