// SPDX-License-Identifier: Apache-2.0

package nagios

import (
	"regexp"
	"strings"
	"testing"
)

func TestALineHasStatusTextAndPerformanceData(t *testing.T) {
	for _, test := range []struct {
		result Result
		want   string
	}{
		{Result{Service: "health", Text: "All is quiet."}, "SENTINEL HEALTH OK - All is quiet.\n"},
		{Result{Status: Unknown, Text: "There is no flag --nope."}, "SENTINEL UNKNOWN - There is no flag --nope.\n"},
		{
			Result{Service: "health", Status: Critical, Text: "Full.", Perf: []Perf{
				{Label: "cpu", Value: 3.25, Unit: "%", Warning: new(90.0), Critical: new(98.0)},
				{Label: "disk /mnt/my files", Value: 100, Unit: "%"},
				{Label: "problems", Value: 2, Critical: new(1.0)},
				{Label: "offset", Value: 0.0000001, Unit: "s"},
			}},
			"SENTINEL HEALTH CRITICAL - Full. | cpu=3.25%;90;98;0;100 'disk /mnt/my files'=100%;;;0;100 problems=2;;1;0; offset=0s;;;0;\n",
		},
	} {
		if got := test.result.Line(); got != test.want {
			t.Errorf("got  %swant %s", got, test.want)
		}
	}
}

// Names of the host come into text and labels. None adds a line, a number or a label.
func TestHostileNamesStayWhereTheyAre(t *testing.T) {
	r := Result{Service: "health", Status: Warning, Text: "a|evil=1\nOK - b\x1b[2J" + strings.Repeat("y", 5000)}
	for range 100 {
		r.Perf = append(r.Perf, Perf{Label: "disk /'x'=5;|\n y" + strings.Repeat("z", 500), Value: 1})
	}
	line := r.Line()
	if strings.Count(line, "\n") != 1 || strings.Count(line, "|") != 1 || strings.ContainsRune(line, 0x1b) {
		t.Errorf("the line is %q", line)
	}
	_, perf, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
	item := regexp.MustCompile(`^(?:'[^'=]+'|[^'= ]+)=[0-9.]+[a-zA-Z%]*;[0-9.]*;[0-9.]*;[0-9.]*;[0-9.]*(?: |$)`)
	n := 0
	for ; perf != ""; n++ {
		found := item.FindString(perf)
		if found == "" {
			t.Fatalf("not performance data: %q", perf)
		}
		perf = perf[len(found):]
	}
	if n != maxPerf {
		t.Errorf("%d numbers, want %d", n, maxPerf)
	}
}
