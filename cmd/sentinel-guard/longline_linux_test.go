// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

// longest is the longest line that passes, in bytes without its end.
const longest = 64 << 20

// xs reads as n times the letter x, without holding them.
type xs struct{}

func (xs) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// long writes a line of size bytes that begins and ends as given.
func (p *program) long(size int, begin, end string) {
	p.t.Helper()
	middle := io.LimitReader(xs{}, int64(size-len(begin)-len(end)))
	if _, err := io.Copy(p.in, io.MultiReader(strings.NewReader(begin), middle, strings.NewReader(end+"\n"))); err != nil {
		p.t.Fatal(err)
	}
}

// echoing answers requests 2 and 3 with a line of a byte too much, whose id is at its beginning or
// at its end.
const echoing = `while read -r line; do case $line in
*'"id":2,'*) printf '{"jsonrpc":"2.0","id":2,"result":{"x":"'; head -c 67108823 /dev/zero | tr '\0' x; echo '"}}';;
*'"id":3,'*) printf '{"jsonrpc":"2.0","result":{"x":"'; head -c 67108823 /dev/zero | tr '\0' x; echo '"},"id":3}';;
*) echo '{"jsonrpc":"2.0","id":1,"result":{}}';; esac; done; exit 5`

func TestALineThatIsAByteTooLongIsAnsweredAtFullSize(t *testing.T) {
	if n := len(`{"jsonrpc":"2.0","id":2,"result":{"x":""}}`); n+67108823 != longest+1 {
		t.Fatal("the lines of the server are not of the size that is meant")
	}
	p := guard(t, ready+echoing)
	pid := p.pid()
	refused := func(id string) {
		t.Helper()
		if got := p.line(); !strings.Contains(got, `"id":`+id+`,`) || !strings.Contains(got, `"MESSAGE_TOO_LARGE"`) || len(got) > 4096 {
			t.Errorf("%s: %.300s", id, got)
		}
	}
	p.long(longest+1, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":"`, `"}}}`)
	refused("7")
	p.long(longest+1, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":{"x":"`, `"}},"id":8}`)
	refused("8")
	for _, id := range []string{"2", "3"} {
		p.send(strings.Replace(request, "1", id, 1))
		refused(id)
		p.send(request)
		if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Error(got)
		}
	}
	p.held(3 * longest)
	p.in.Close()
	if got := p.status(); got != 5 {
		t.Errorf("status %d\n%s", got, p.said())
	}
	gone(t, pid)
}
