// SPDX-License-Identifier: Apache-2.0

// Package dnslookup asks name servers about a name. Answers are chosen by others,
// so all of their text is untrusted.
package dnslookup

import (
	"context"
	"net/netip"
)

// A Question is what one name server is asked.
type Question struct {
	Name string // in lower case, without the dot of the root at its end; the root itself is ""
	Type string // one of [Types]
}

// A Reply is the answer of one name server to a question. Nothing was checked
// except that it belongs to the question.
type Reply struct {
	Code      string // of RFC 1035 section 4.1.1 and the IANA registry: NOERROR, NXDOMAIN, SERVFAIL ...
	Authentic bool   // the server says that it has checked the signatures (the AD bit, RFC 4035 section 3.2.3)
	TCP       bool   // the answer was too long for UDP
	Records   []Record
}

// Codes that a lookup treats differently from others.
const (
	noError  = "NOERROR"
	nxDomain = "NXDOMAIN"
)

// An Exchanger asks one name server one question and waits for the answer until
// ctx ends. Anything but an answer to the question is an error. It is safe for concurrent use.
type Exchanger interface {
	Exchange(ctx context.Context, server netip.AddrPort, q Question) (Reply, error)
}
