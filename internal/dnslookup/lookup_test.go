// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
)

// servers are fakes by the last number of their address; each says what it
// answers.
type servers struct {
	mu      sync.Mutex
	asked   []string
	answers map[byte]func(ctx context.Context, q Question) (Reply, error)
}

func (s *servers) Exchange(ctx context.Context, server netip.AddrPort, q Question) (Reply, error) {
	last := server.Addr().As4()[3]
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%d %s", last, q.Type))
	s.mu.Unlock()
	return s.answers[last](ctx, q)
}

func (s *servers) names() Sources {
	return Sources{Exchanger: s, Servers: func(context.Context, string) ([]netip.AddrPort, error) {
		var list []netip.AddrPort
		for n := byte(1); s.answers[n] != nil; n++ {
			list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 53))
		}
		return list, nil
	}}
}

type answerer = func(context.Context, Question) (Reply, error)

func says(r Reply) answerer  { return func(context.Context, Question) (Reply, error) { return r, nil } }
func code(c string) answerer { return says(Reply{Code: c}) }
func silent(ctx context.Context, _ Question) (Reply, error) {
	<-ctx.Done()
	return Reply{}, errors.New("i/o timeout")
}
func refuses(context.Context, Question) (Reply, error) { return Reply{}, syscall.ECONNREFUSED }

func record(name, kind, value string) Record {
	return Record{Name: name, Type: kind, TTL: 300, Value: value}
}

func byType(records ...Record) answerer {
	return func(_ context.Context, q Question) (Reply, error) {
		r := Reply{Code: noError, Authentic: true}
		for _, rr := range records {
			if rr.Type == q.Type || rr.Type == "CNAME" {
				r.Records = append(r.Records, rr)
			}
		}
		return r, nil
	}
}

func look(t *testing.T, s *servers, name, kind string) (Lookup, error) {
	t.Helper()
	q, err := ParseQuery(name, kind)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Resolve(t.Context(), s.names(), q, DefaultRecords)
	l.TimeMS = 0
	return l, err
}

func TestAddressesOfANameThroughAnAlias(t *testing.T) {
	alias, v4, v6 := record("www.example", "CNAME", "A.example"), record("a.example", "A", "192.0.2.7"), record("a.EXAMPLE.", "AAAA", "2001:db8::7")
	s := &servers{answers: map[byte]answerer{1: byType(alias, v4, v6, record("evil.example", "A", "192.0.2.66"), record("evil.example", "AAAA", "2001:db8::66"))}}
	got, err := look(t, s, "www.example", "")
	want := Lookup{
		Name: "www.example", Types: []string{"A", "AAAA"}, Server: "192.0.2.1:53", Code: "NOERROR", Records: []Record{alias, v4, v6},
		RecordsTotal: 3, Authenticated: true, Transport: "udp", Unavailable: answer.Gaps{},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

func TestServersAreAskedInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			answers map[byte]answerer
			asked   string
			server  string
			gaps    []string
			took    time.Duration
		}{
			{map[byte]answerer{1: code(noError), 2: code(noError)}, "1", "192.0.2.1:53", nil, 0},
			{map[byte]answerer{1: silent, 2: code(noError)}, "1 2", "192.0.2.2:53", []string{"server.192.0.2.1:53 did not answer in time"}, answerLimit},
			{map[byte]answerer{1: code("SERVFAIL"), 2: refuses, 3: code(noError)}, "1 2 3", "192.0.2.3:53", []string{"server.192.0.2.1:53 answered SERVFAIL", "server.192.0.2.2:53 connection refused"}, 0},
		} {
			s := &servers{answers: c.answers}
			start := time.Now()
			got, err := look(t, s, "a.example", "MX")
			var gaps []string
			for _, g := range got.Unavailable {
				gaps = append(gaps, g.Field+" "+g.Reason)
			}
			asked := strings.ReplaceAll(strings.Join(s.asked, " "), " MX", "")
			if err != nil || asked != c.asked || got.Server != c.server || !cmp.Equal(gaps, c.gaps) || time.Since(start) != c.took {
				t.Errorf("%s: asked %s, %q, %v after %v", got.Server, asked, gaps, err, time.Since(start))
			}
		}
	})
}

func TestLookupsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			answers map[byte]answerer
			code    fault.Code
			message string
			asked   int
			took    time.Duration
		}{
			{map[byte]answerer{1: code(nxDomain), 2: code(noError)}, fault.HostNotFound, "The name a.example does not exist: 192.0.2.1:53 answers NXDOMAIN.", 1, 0},
			{map[byte]answerer{1: code("SERVFAIL"), 2: code("REFUSED")}, fault.Unavailable, "The name servers do not tell about a.example: 192.0.2.2:53 answers REFUSED.", 2, 0},
			{map[byte]answerer{1: silent, 2: refuses}, fault.Unavailable, "No name server answers about a.example: 192.0.2.1:53 did not answer in time; 192.0.2.2:53 connection refused.", 4, 2 * answerLimit},
			{map[byte]answerer{1: silent, 2: silent, 3: silent, 4: silent}, fault.Unavailable, "No name server answers about a.example: 192.0.2.1:53 did not answer in time; 192.0.2.2:53 did not answer in time; 192.0.2.3:53 did not answer in time; 192.0.2.4:53 did not answer in time.", 6, lookupLimit},
		} {
			s := &servers{answers: c.answers}
			start := time.Now()
			_, err := look(t, s, "a.example", "MX")
			known := fault.From(err)
			if known.Code != c.code || known.Message != c.message || len(s.asked) != c.asked || time.Since(start) != c.took || known.With == nil {
				t.Errorf("%s %q, asked %q, after %v", known.Code, known.Message, s.asked, time.Since(start))
			}
		}
	})
}

func TestAFailureSaysWhatElseMayKeepServersAway(t *testing.T) {
	s := (&servers{answers: map[byte]answerer{1: refuses}}).names()
	s.Configured, s.Unreached = "the settings", "Use Terminal."
	_, err := Resolve(t.Context(), s, Query{Name: "a.example", Types: []string{"MX"}}, 0)
	if fix := fault.From(err).Fix; fix != "Check the settings and whether this machine reaches those servers. Use Terminal." {
		t.Error(fix)
	}
}

// A server that denies the existence of a name for one type alone is wrong.
func TestOneTypeSpeaksForTheName(t *testing.T) {
	broken := func(other answerer) *servers {
		return &servers{answers: map[byte]answerer{1: func(ctx context.Context, q Question) (Reply, error) {
			if q.Type == "AAAA" {
				return other(ctx, q)
			}
			return Reply{Code: noError, Authentic: true, TCP: true, Records: []Record{record("a.example", "A", "192.0.2.7")}}, nil
		}}}
	}
	got, err := look(t, broken(code(nxDomain)), "a.example", "")
	if err != nil || len(got.Records) != 1 || got.Code != noError || got.Authenticated || got.Transport != "tcp" {
		t.Errorf("%+v, %v", got, err)
	}
	if want := (answer.Gaps{{Field: "records.AAAA", Reason: "the name server says NXDOMAIN of them, and NOERROR of others"}}); !cmp.Equal(got.Unavailable, want) {
		t.Errorf("%+v", got.Unavailable)
	}
	got, err = look(t, broken(code("SERVFAIL")), "a.example", "")
	want := answer.Gaps{{Field: "server.192.0.2.1:53", Reason: "answered SERVFAIL"}, {Field: "records.AAAA", Reason: "no name server gave an answer"}}
	if err != nil || len(got.Records) != 1 || !cmp.Equal(got.Unavailable, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAServerThatDidNotHelpIsNamedOnce(t *testing.T) {
	got, err := look(t, &servers{answers: map[byte]answerer{1: code("SERVFAIL"), 2: code(noError)}}, "a.example", "")
	if want := (answer.Gaps{{Field: "server.192.0.2.1:53", Reason: "answered SERVFAIL"}}); err != nil || !cmp.Equal(got.Unavailable, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A host may refuse one question and leave the other unanswered.
func TestAServerThatFailsInTwoWaysHasTheReasonThatTellsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{answers: map[byte]answerer{1: func(ctx context.Context, q Question) (Reply, error) {
			if q.Type == "A" {
				return silent(ctx, q)
			}
			return refuses(ctx, q)
		}}}
		l, err := look(t, s, "a.example", "")
		want := answer.Gaps{
			{Field: "server.192.0.2.1:53", Reason: "connection refused"}, {Field: "records.A", Reason: "no name server gave an answer"}, {Field: "records.AAAA", Reason: "no name server gave an answer"},
		}
		if message := fault.From(err).Message; message != "No name server answers about a.example: 192.0.2.1:53 connection refused." || !cmp.Equal(l.Unavailable, want) {
			t.Errorf("%s\n%s", message, cmp.Diff(want, l.Unavailable))
		}
	})
}

func TestEveryAnswerHasToBeAuthenticated(t *testing.T) {
	for _, unsigned := range []string{"A", "AAAA", ""} {
		got, err := look(t, &servers{answers: map[byte]answerer{1: func(_ context.Context, q Question) (Reply, error) {
			return Reply{Code: noError, Authentic: q.Type != unsigned}, nil
		}}}, "a.example", "")
		if err != nil || got.Authenticated != (unsigned == "") {
			t.Errorf("%q: %+v, %v", unsigned, got, err)
		}
	}
}

func TestAliasesThatLeadNowhere(t *testing.T) {
	var long []Record
	for i := range 30 {
		long = append(long, record(fmt.Sprintf("n%d.example", i), "CNAME", fmt.Sprintf("n%d.example", i+1)))
	}
	for _, c := range []struct {
		name    string
		records []Record
		shown   int
		why     string
	}{
		{"a.example", []Record{record("a.example", "CNAME", "b.example"), record("b.example", "CNAME", "A.example.")}, 2, "the aliases lead in a circle"},
		{"a.example", []Record{record("a.example", "CNAME", "a.example")}, 1, "the aliases lead in a circle"},
		{"a.example", []Record{record("a.example", "CNAME", "b.example"), record("c.example", "A", "192.0.2.7")}, 1, ""},
		{"n0.example", long, maxAliases, "there are too many aliases"},
	} {
		got, err := look(t, &servers{answers: map[byte]answerer{1: byType(c.records...)}}, c.name, "A")
		why := ""
		if len(got.Unavailable) > 0 {
			why = got.Unavailable[0].Reason
		}
		if err != nil || len(got.Records) != c.shown || why != c.why {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestWhatServersSayIsMadeSafe(t *testing.T) {
	evil := record("a.example", "TXT", "\x1b[2J\u202e"+strings.Repeat("y", 5000))
	evil.Name = "A.example."
	got, err := look(t, &servers{answers: map[byte]answerer{1: byType(evil)}}, "a.example", "TXT")
	if v := got.Records[0].Value; err != nil || !strings.HasPrefix(v, "�[2J�yyy") || len(v) > 2100 || !strings.HasSuffix(v, "…") {
		t.Errorf("%q, %v", v, err)
	}
	var many []Record
	for i := range 1000 {
		many = append(many, record("a.example", "TXT", fmt.Sprint(i, strings.Repeat("z", 500))))
	}
	got, err = look(t, &servers{answers: map[byte]answerer{1: byType(many...)}}, "a.example", "TXT")
	raw, merr := json.Marshal(got)
	if err != nil || merr != nil || len(raw) > 18<<10 || got.RecordsTotal != 1000 || !got.Truncated || len(got.Records) < 10 {
		t.Errorf("%d bytes, %d of %d, %v", len(raw), len(got.Records), got.RecordsTotal, err)
	}
	// In JSON a quote takes two bytes.
	many = slices.Repeat([]Record{record("a.example", "TXT", strings.Repeat(`"`, 2000))}, 50)
	got, err = look(t, &servers{answers: map[byte]answerer{1: byType(many...)}}, "a.example", "TXT")
	if raw, merr := json.Marshal(got); err != nil || merr != nil || len(raw) > 14<<10 || len(got.Records) < 2 || !got.Truncated {
		t.Errorf("%d bytes, %d records, %v", len(raw), len(got.Records), err)
	}
	many = slices.Repeat([]Record{record("a.example", "TXT", "z")}, 1000)
	q, err := ParseQuery("a.example", "TXT")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Resolve(t.Context(), (&servers{answers: map[byte]answerer{1: byType(many...)}}).names(), q, 0)
	if err != nil || len(all.Records) != 1000 || all.Truncated {
		t.Errorf("%d, %v", len(all.Records), err)
	}
}

func TestALookupEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := ParseQuery("a.example", "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Resolve(ctx, (&servers{answers: map[byte]answerer{1: silent}}).names(), q, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	none := Sources{Servers: func(context.Context, string) ([]netip.AddrPort, error) { return nil, syscall.EACCES }}
	if _, err := Resolve(t.Context(), none, Query{Types: []string{"A"}}, 0); fault.From(err).Code != fault.Unavailable {
		t.Error(err)
	}
}
