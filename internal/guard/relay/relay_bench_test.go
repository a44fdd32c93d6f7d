// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"sentinel/internal/guard/stages"
)

// discarded is a stream that nobody reads.
type discarded struct{ io.Writer }

func (discarded) Close() error { return nil }

// BenchmarkCalls relays requests and their answers, without any process between.
func BenchmarkCalls(b *testing.B) {
	var asks, answers bytes.Buffer
	for i := range b.N {
		fmt.Fprintf(&asks, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"}}}`+"\n", i%maxPending)
		fmt.Fprintf(&answers, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a"}]}}`+"\n", i%maxPending)
	}
	fromServer, write := io.Pipe()
	b.ReportAllocs()
	b.ResetTimer()
	r := New(context.Background(), Endpoint{&asks, discarded{io.Discard}}, Endpoint{fromServer, discarded{io.Discard}}, Options{Stages: stages.All(stages.Settings{})})
	go func() {
		<-r.ClientEnded()
		io.Copy(write, &answers)
		write.Close()
	}()
	r.Serve()
}
