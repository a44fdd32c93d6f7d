// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// Limits of one lookup: for one answer, for how often a silent server is asked,
// and for the whole.
const (
	answerLimit = 2 * time.Second
	attempts    = 2
	lookupLimit = 11 * time.Second
)

// DefaultRecords is how many records an answer shows, as far as maxRecordBytes of
// text hold them.
const (
	DefaultRecords = 50
	maxRecordBytes = 12 << 10
)

// A Record is one resource record.
type Record struct {
	Name  string `json:"name"`  // that has the record
	Type  string `json:"type"`  // of the record: A, AAAA, MX ...
	TTL   uint64 `json:"ttl"`   // seconds that the answer may still be kept
	Value string `json:"value"` // an address, a name, a text, or the fields of RFC 1035 in their order
	// Priority of MX and SRV: lower comes first.
	Priority *int `json:"priority,omitempty"`
	Weight   *int `json:"weight,omitempty"` // of SRV, among equal priorities
	Port     *int `json:"port,omitempty"`   // of SRV
}

// A Lookup answers dns_lookup.
type Lookup struct {
	Name    string   `json:"name"`    // that was asked for
	Types   []string `json:"types"`   // of records that were asked for
	Server  string   `json:"server"`  // host:port of the name server that answered
	Code    string   `json:"rcode"`   // what it said: NOERROR, NXDOMAIN, SERVFAIL ...
	Records []Record `json:"records"` // aliases on the way included
	// RecordsTotal counts the records of the answer that belong to the question.
	RecordsTotal int  `json:"records_total"`
	Truncated    bool `json:"truncated"` // records does not show all
	// Authenticated says that the name server claims to have checked the
	// signatures of DNSSEC. It is as good as the way to that server is.
	Authenticated bool        `json:"authenticated"`
	Transport     string      `json:"transport"`   // "udp", or "tcp" when an answer was too long
	TimeMS        float64     `json:"time_ms"`     // until the last answer
	Unavailable   answer.Gaps `json:"unavailable"` // what was not answered, and why
}

// Sources are what a lookup works with.
type Sources struct {
	// Servers lists the name servers that this machine asks about a name, in order
	// of preference. The name has no dot at its end.
	Servers   func(ctx context.Context, name string) ([]netip.AddrPort, error)
	Exchanger Exchanger
	// Configured is where a person finds the name servers of this machine.
	Configured string
	// Unreached says what else may keep this run from name servers of the local
	// network, in a sentence; may be empty.
	Unreached string
}

// Resolve asks the name servers of this machine about a name, in their order, for
// all types concurrently. It asks for the name as it is: no search domain is
// appended, and /etc/hosts is not read. A name that does not exist is
// HOST_NOT_FOUND; servers that do not answer, or refuse, are UNAVAILABLE. At most
// rows records are shown; 0 means all.
func Resolve(ctx context.Context, s Sources, q Query, rows int) (Lookup, error) {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	servers, err := s.Servers(limited, q.Name)
	if err != nil {
		return Lookup{}, fault.Wrap(fault.Unavailable, "The name servers of this machine cannot be read", err).WithFix("Check " + s.Configured + ".")
	}
	found := make([]result, len(q.Types))
	var asked sync.WaitGroup
	for i, kind := range q.Types {
		asked.Go(func() { found[i] = ask(limited, s.Exchanger, servers, Question{q.Name, kind}) })
	}
	asked.Wait()
	if ctx.Err() != nil {
		return Lookup{}, ctx.Err()
	}
	l := newLookup(q, found, rows, time.Since(start))
	return l, l.failure(found, s)
}

// A result is the outcome of one question.
type result struct {
	question Question
	server   netip.AddrPort // that replied
	reply    Reply
	err      error           // no server replied
	failures []serverFailure // of the servers that were asked before
}

type serverFailure struct {
	server netip.AddrPort
	err    error
}

// settled reports whether a server knew the answer, which may be that there is
// none.
func (r result) settled() bool {
	return r.err == nil && (r.reply.Code == noError || r.reply.Code == nxDomain)
}

var errNoAnswer = errors.New("no name server gave an answer")

// ask asks one server after the other until one knows the answer. A server that
// replies with an error is not asked again; one that stays silent is.
func ask(ctx context.Context, e Exchanger, servers []netip.AddrPort, q Question) result {
	r := result{question: q, err: errNoAnswer}
	replied := map[netip.AddrPort]bool{}
	for range attempts {
		for _, server := range servers {
			if replied[server] || ctx.Err() != nil {
				continue
			}
			reply, err := exchange(ctx, e, server, q)
			if err != nil {
				r.failures = append(r.failures, serverFailure{server, err})
				continue
			}
			replied[server] = true
			r.server, r.reply, r.err = server, reply, nil
			if r.settled() {
				return r
			}
			r.failures = append(r.failures, serverFailure{server, fmt.Errorf("answered %s", sanitize.Text(reply.Code, 20))})
		}
	}
	return r
}

func exchange(ctx context.Context, e Exchanger, server netip.AddrPort, q Question) (Reply, error) {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	reply, err := e.Exchange(limited, server, q)
	if err != nil && limited.Err() != nil {
		return Reply{}, context.DeadlineExceeded
	}
	return reply, err
}

// newLookup puts the results together. The best of them decides the code.
func newLookup(q Query, found []result, rows int, took time.Duration) Lookup {
	l := Lookup{
		Name: q.Shown, Types: q.Types, Records: []Record{}, Transport: "udp", Unavailable: answer.Gaps{},
		TimeMS: float64(took.Microseconds()) / 1000,
	}
	best := found[0]
	for _, f := range found {
		if rank(f) > rank(best) {
			best = f
		}
	}
	if best.err == nil {
		l.Server, l.Code = best.server.String(), sanitize.Text(best.reply.Code, 20)
	}
	l.Authenticated = true
	for _, f := range found {
		l.add(f)
	}
	l.noteFailures(found)
	l.limit(rows)
	return l
}

func rank(f result) int {
	switch {
	case f.err != nil:
		return 0
	case f.reply.Code == noError:
		return 3
	case f.reply.Code == nxDomain:
		return 2
	default:
		return 1
	}
}

// add adds the records of one type. Aliases come with every type and count
// once.
func (l *Lookup) add(f result) {
	l.Authenticated = l.Authenticated && f.settled() && f.reply.Authentic
	if f.err == nil && f.reply.TCP {
		l.Transport = "tcp"
	}
	if !f.settled() {
		return
	}
	if f.reply.Code != l.Code { // which speaks for the name (RFC 2308 section 2.1), so that one of them is wrong
		l.Unavailable.Note("records."+f.question.Type, "the name server says "+f.reply.Code+" of them, and "+l.Code+" of others")
	}
	records, why := followAliases(f.reply.Records, f.question)
	if why != "" {
		l.Unavailable.Note("records."+f.question.Type, why)
	}
	for _, r := range records {
		if r.Type != "CNAME" || !slices.ContainsFunc(l.Records, func(o Record) bool { return o.Type == r.Type && o.Name == r.Name && o.Value == r.Value }) {
			l.Records = append(l.Records, r)
		}
	}
}

// noteFailures says which servers did not help, once each, and which types have
// no answer.
func (l *Lookup) noteFailures(found []result) {
	for _, s := range failuresOf(found) {
		l.Unavailable.Add("server."+s.server.String(), s.err)
	}
	for _, f := range found {
		if !f.settled() {
			l.Unavailable.Note("records."+f.question.Type, "no name server gave an answer")
		}
	}
}

// failuresOf returns the servers that did not help, in the order in which they were asked, each
// with what tells most of it. Of several questions a host may refuse one and leave the others
// unanswered: kernels limit how often they say so (Linux: icmp_ratelimit).
func failuresOf(found []result) (list []serverFailure) {
	for _, f := range found {
		for _, s := range f.failures {
			at := slices.IndexFunc(list, func(o serverFailure) bool { return o.server == s.server })
			switch {
			case at < 0:
				list = append(list, s)
			case errors.Is(list[at].err, context.DeadlineExceeded):
				list[at].err = s.err
			}
		}
	}
	return list
}

// limit makes the records safe to show, and leaves out those that do not fit.
func (l *Lookup) limit(rows int) {
	l.RecordsTotal = len(l.Records)
	size := 0
	for i := range l.Records {
		r := &l.Records[i]
		r.Name, r.Value = sanitize.Text(r.Name, 260), sanitize.Text(r.Value, 2000)
		size += len(strconv.Quote(r.Name)) + len(strconv.Quote(r.Value)) // with backslashes, as in JSON
		if rows > 0 && (i == rows || size > maxRecordBytes) {
			l.Records, l.Truncated = l.Records[:i], true
			return
		}
	}
}

// failure is the error of a lookup without any answer.
func (l *Lookup) failure(found []result, s Sources) error {
	switch {
	case l.Code == noError:
		return nil
	case l.Code == nxDomain:
		return fault.New(fault.HostNotFound, "The name "+l.Name+" does not exist: "+l.Server+" answers NXDOMAIN.").WithObject(detailsOf(*l))
	case l.Code != "":
		return fault.New(fault.Unavailable, fmt.Sprintf("The name servers do not tell about %s: %s answers %s.", l.Name, l.Server, l.Code)).
			WithFix("SERVFAIL means that the servers of the domain do not answer or that DNSSEC fails, REFUSED that the server does not serve this machine; check " + s.Configured + ".").
			WithObject(detailsOf(*l))
	default:
		return fault.New(fault.Unavailable, fmt.Sprintf("No name server answers about %s: %s.", l.Name, strings.Join(failureReasons(found), "; "))).
			WithFix(strings.TrimSpace("Check " + s.Configured + " and whether this machine reaches those servers. " + s.Unreached)).WithObject(detailsOf(*l))
	}
}

// A failureDetails is what the document of a failed lookup says beside the error.
type failureDetails struct {
	Name        string      `json:"name"`
	Types       []string    `json:"types"`
	Server      string      `json:"server,omitempty"`
	Code        string      `json:"rcode,omitempty"`
	Unavailable answer.Gaps `json:"unavailable"`
}

func detailsOf(l Lookup) failureDetails {
	return failureDetails{l.Name, l.Types, l.Server, l.Code, l.Unavailable}
}

func failureReasons(found []result) (list []string) {
	for _, s := range failuresOf(found) {
		list = append(list, s.server.String()+" "+answer.Reason(s.err))
	}
	return list
}
