// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhetherTheNameServersAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[byte]answerer
		problem string
		took    time.Duration
	}{
		"at once":            {map[byte]answerer{1: code(noError)}, "", 0},
		"says no":            {map[byte]answerer{1: code("REFUSED")}, "", 0},
		"reaches no other":   {map[byte]answerer{1: code(servFail)}, "answered SERVFAIL", 0},
		"silent":             {map[byte]answerer{1: silent}, "did not answer in time", 4 * time.Second},
		"not there":          {map[byte]answerer{1: refuses}, "connection refused", 0},
		"the second answers": {map[byte]answerer{1: silent, 2: code(noError)}, "", 2 * time.Second},
		"none of many":       {map[byte]answerer{1: silent, 2: silent, 3: silent, 4: silent}, "did not answer in time", 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &servers{answers: c.answers}
			l, err := s.names().Alive(t.Context())
			if err != nil || l.Problem != c.problem || l.Took != c.took || l.Server.String() != "192.0.2.1:53" || s.asked[0] != "1 NS" {
				t.Errorf("%s: %+v, %v, asked %v", name, l, err, s.asked)
			}
		})
	}
}

func TestWithoutANameServerNothingIsAsked(t *testing.T) {
	none := errors.New("there is none")
	s := Sources{Servers: func(context.Context, string) ([]netip.AddrPort, error) { return nil, none }}
	if _, err := s.Alive(t.Context()); !errors.Is(err, none) {
		t.Error(err)
	}
	if _, err := (&servers{}).names().Alive(t.Context()); !errors.Is(err, errNoAnswer) {
		t.Error(err)
	}
}
