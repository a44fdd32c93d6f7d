// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/services"
)

// sickServices are n services with as much as there is of each.
func sickServices(n int) *serviceDocument {
	d := &serviceDocument{Header: answer.NewHeader("service_status", true)}
	for i := range n {
		s := services.Service{Name: fmt.Sprintf("job%d.service", i), Summary: strings.Repeat("why ", 40), State: services.State{Active: "failed", Sub: "failed"}}
		for j := range 3 {
			s.Log = append(s.Log, services.ShownLine{Time: "2026-03-04T05:06:07Z", Text: fmt.Sprint(j, strings.Repeat("é", 159))})
		}
		d.Services = append(d.Services, s)
	}
	d.Total = n
	return d
}

func TestServicesFitTheAnswer(t *testing.T) {
	for n, want := range map[int]int{1: 1, 8: 8, 40: 10} {
		d := sickServices(n)
		d.fit()
		raw, err := encode(d, false)
		if err != nil || len(raw) > maxServices || len(d.Services) < want || d.Truncated != (n == 40) || d.Total != n {
			t.Errorf("%d: %d services in %d bytes, truncated %v, %v", n, len(d.Services), len(raw), d.Truncated, err)
		}
		if log := d.Services[0].Log; !strings.HasPrefix(log[len(log)-1].Text, "2") {
			t.Errorf("%d: the last line is lost: %v", n, log)
		}
	}
}

func TestAServicePageHasTheVerdictFirstAndTheNextCommandLast(t *testing.T) {
	for name, c := range map[string]struct {
		doc         *serviceDocument
		begins, has string
	}{
		"none": {sickServices(0), "WELL: No service has failed", ""},
		"some": {sickServices(2), "NOT WELL: 2 services not well.", "FAILED  why why"},
		"one":  {&serviceDocument{Label: "job0", Status: sickServices(1).Status}, "NOT WELL: why why", "sudo sentinel --restart-service job0.service\n"},
	} {
		p := usualScreen(c.doc)
		if got := string(p.bytes()); !strings.HasPrefix(got, c.begins) || !strings.Contains(got, c.has) || !p.fits() {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
