// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sentinel/internal/guard/stage"
	"sentinel/internal/guard/stages"
)

// A collected is a stream whose bytes are kept.
type collected struct {
	mu sync.Mutex
	bytes.Buffer
}

func (c *collected) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Buffer.Write(b)
}

func (*collected) Close() error { return nil }

// relayed returns what the two sides read after each has written its bytes, the server once those
// of the client have passed.
func relayed(client, server []byte) (toClient, toServer []byte) {
	return relayedBy(nil, false, client, server)
}

// relayedBy has one stage more, and both sides write at once if so wanted.
func relayedBy(more []stage.Stage, atOnce bool, client, server []byte) (toClient, toServer []byte) {
	var forClient, forServer collected
	fromServer, write := io.Pipe()
	options := Options{Stages: append(stages.All(stages.Settings{}), more...), MaxLine: 4096}
	r := New(context.Background(), Endpoint{bytes.NewReader(client), &forClient}, Endpoint{fromServer, &forServer}, options)
	go func() {
		if !atOnce {
			<-r.ClientEnded()
		}
		write.Write(server)
		write.Close()
	}()
	r.Serve()
	<-r.ClientEnded()
	r.pumps[stage.Server].to.close()
	return forClient.Bytes(), forServer.Bytes()
}

// moody is a stage that decides by what a message says, in each way that a stage can.
func moody(seed byte) stage.Stage {
	return stage.Stage{Name: "moody", Judge: func(m *stage.Message) (stage.Verdict, error) {
		sum := seed
		for _, b := range m.Raw {
			sum = sum*31 + b
		}
		no := stage.Blocked(stage.Refusal{Code: stage.PolicyBlocks, Rule: "moody", Reason: "No.", Fix: "No."})
		later := func(v stage.Verdict, err error) (stage.Verdict, error) {
			return stage.Verdict{Later: func(context.Context) (stage.Verdict, error) {
				runtime.Gosched()
				return v, err
			}}, nil
		}
		switch sum % 9 {
		case 0:
			return no, nil
		case 1:
			return stage.Verdict{}, errors.New("it fails")
		case 2:
			panic("it panics")
		case 3:
			return later(no, nil)
		case 4:
			return later(stage.Verdict{}, nil)
		case 5:
			return later(stage.Verdict{}, errors.New("it fails later"))
		default:
			return stage.Verdict{Action: stage.Action(sum % 2), Flags: []string{"f"}}, nil
		}
	}}
}

// checkLines is [checkOutput] where messages were held, and so came later than others: each line
// that was written is read once at most.
func checkLines(t interface{ Fatalf(string, ...any) }, written, read []byte) {
	lines := bytes.SplitAfter(written, []byte("\n"))
	for _, line := range bytes.SplitAfter(read, []byte("\n")) {
		if len(line) == 0 || ours(line) {
			continue
		}
		at := slices.IndexFunc(lines, func(w []byte) bool { return bytes.Equal(w, line) })
		if at < 0 {
			at = slices.IndexFunc(lines, func(w []byte) bool { return takenFrom(w, line) })
		}
		if at < 0 {
			t.Fatalf("a third thing was read: %q\nwritten: %q", line, written)
		}
		lines = slices.Delete(lines, at, at+1)
	}
}

// ours says that a line is an answer of the guard, alone or in an array.
func ours(line []byte) bool {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		_, _, err := refusalIn(string(line))
		return err == nil
	}
	for _, one := range batch {
		if _, _, err := refusalIn(string(one)); err != nil {
			return false
		}
	}
	return len(batch) > 0
}

// checkOutput holds that each line that was read is one that was written, byte for byte and in
// that order, an answer of the guard, or a batch from which elements were taken.
func checkOutput(t interface{ Fatalf(string, ...any) }, written, read []byte) {
	lines := bytes.SplitAfter(written, []byte("\n"))
	next := 0
	for _, line := range bytes.SplitAfter(read, []byte("\n")) {
		if len(line) == 0 || ours(line) {
			continue
		}
		at := next
		for at < len(lines) && !bytes.Equal(lines[at], line) && !takenFrom(lines[at], line) {
			at++
		}
		if at == len(lines) {
			t.Fatalf("a third thing was read: %q\nwritten: %q", line, written)
		}
		next = at + 1
	}
}

// takenFrom says that an array is one that was written, without some of its elements or with
// refusals in the place of some.
func takenFrom(written, read []byte) bool {
	var before, after []json.RawMessage
	if json.Unmarshal(written, &before) != nil || json.Unmarshal(read, &after) != nil {
		return false
	}
	i := 0
	for _, one := range after {
		if _, _, err := refusalIn(string(one)); err == nil {
			continue
		}
		for i < len(before) && !bytes.Equal(before[i], one) {
			i++
		}
		if i == len(before) {
			return false
		}
		i++
	}
	return true
}

// twoReaders are what two readers that differ in everything see of a line: names by spelling and
// the last of equal ones; names folded and the first.
func twoReaders(line []byte) (exact, folded [3]string) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, _ := d.Token(); t != json.Delim('{') {
		return exact, folded
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return exact, folded
		}
		for i, known := range []string{"method", "id", "params"} {
			if name == known {
				exact[i] = string(value)
			}
			if strings.EqualFold(name, known) && folded[i] == "" {
				folded[i] = string(value)
			}
		}
	}
	return exact, folded
}

var fragments = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{"a":[1,2]}}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{}}}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","Name":"b"}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, `{"jsonrpc":"2.0","id":3,"method":"x","method":"y"}`,
	`[]`, `hello`, ``, ` `, `{`, "\ufeff{}", "\x80", `null`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
	`{"jsonrpc":"2.0","id":4,"method":"x","params":{"x":"` + strings.Repeat("x", 5000) + `"}}`,
}

func lineGenerator() *rapid.Generator[string] {
	one := rapid.SampledFrom(fragments)
	batch := rapid.Custom(func(t *rapid.T) string {
		return "[" + strings.Join(rapid.SliceOfN(one, 1, 4).Draw(t, "elements"), ",") + "]"
	})
	broken := rapid.Custom(func(t *rapid.T) string {
		line := one.Draw(t, "line")
		at := rapid.IntRange(0, len(line)).Draw(t, "at")
		return line[:at] + rapid.StringMatching(`[a-zA-Z0-9{}":,\\ ]{0,3}`).Draw(t, "text") + line[at:]
	})
	return rapid.OneOf(one, one, batch, broken)
}

func stream(t *rapid.T, name string) []byte {
	lines := rapid.SliceOfN(lineGenerator(), 0, 12).Draw(t, name)
	ends := rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\r\n"}), len(lines), len(lines)).Draw(t, name+" ends")
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line + ends[i])
	}
	return []byte(b.String())
}

func TestOutputIsInputOrAnAnswerOfTheGuard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client, server := stream(t, "client"), stream(t, "server")
		toClient, toServer := relayed(client, server)
		checkOutput(t, client, toServer)
		checkOutput(t, server, toClient)
	})
}

func TestOutputIsInputOrAnAnswerOfTheGuardWhateverStagesDo(t *testing.T) {
	revisions := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	rapid.Check(t, func(t *rapid.T) {
		revision := rapid.SampledFrom(revisions).Draw(t, "revision")
		ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":%q}}`+"\n", revision)
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":"h","result":{"protocolVersion":%q}}`+"\n", revision)
		client, server := append([]byte(ask), stream(t, "client")...), append([]byte(answer), stream(t, "server")...)
		more := []stage.Stage{moody(rapid.Byte().Draw(t, "mood"))}
		toClient, toServer := relayedBy(more, rapid.Bool().Draw(t, "both at once"), client, server)
		checkLines(t, client, toServer)
		checkLines(t, server, toClient)
	})
}

func FuzzRelay(f *testing.F) {
	for _, a := range fragments {
		f.Add([]byte(a+"\n"), []byte(fragments[1]+"\n"))
	}
	f.Fuzz(func(t *testing.T, client, server []byte) {
		toClient, toServer := relayed(client, server)
		checkOutput(t, client, toServer)
		checkOutput(t, server, toClient)
		for line := range bytes.Lines(toServer) {
			if ours(line) {
				continue
			}
			if exact, folded := twoReaders(line); exact != folded {
				t.Errorf("%q: one reader sees %q, another %q", line, exact, folded)
			}
		}
	})
}
