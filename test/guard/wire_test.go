// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// A wire is a session of the guard with the server that takes lines as JSON.parse does, and rules
// that block one tool.
type wire struct {
	t        *testing.T
	in       io.WriteCloser
	slowly   bool // one byte after the other
	out      *bufio.Reader
	executed string // the file in which the server says what it has read
	dir      string
}

func newWire(t *testing.T, revision string, slowly bool) *wire {
	t.Helper()
	testenv.HangGuard(t)
	dir := t.TempDir()
	rules := filepath.Join(dir, "guard.yaml")
	if err := os.WriteFile(rules, []byte("rules: [{name: never, action: block, tools: [danger]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, slowly: slowly, executed: filepath.Join(dir, "executed"), dir: dir}
	server := tap(t, dir+"/inside", nodeServer(t, "guard/oracle.mjs", w.executed)...)
	cmd := exec.CommandContext(t.Context(), program(t, "sentinel-guard"), append([]string{"--"}, server...)...)
	cmd.Env = append(os.Environ(), "MCP_POLICY_FILE="+rules)
	var err error
	if w.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.in.Close()
		cmd.Wait()
	})
	w.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if got := w.line(); !strings.Contains(got, revision) {
		t.Fatal(got)
	}
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	step := len(line) + 1
	if w.slowly {
		step = 1
	}
	for piece := range slices.Chunk([]byte(line+"\n"), step) {
		if _, err := w.in.Write(piece); err != nil {
			w.t.Fatal(err)
		}
		if w.slowly {
			<-time.After(200 * time.Microsecond)
		}
	}
}

func (w *wire) line() string {
	w.t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil {
		w.t.Fatalf("%v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

const ping = `{"jsonrpc":"2.0","id":9000,"method":"ping"}`

// after sends a line and returns what came to the client before the answer to a ping.
func (w *wire) after(line string) (came []string) {
	w.t.Helper()
	w.send(line)
	if _, err := io.WriteString(w.in, ping+"\n"); err != nil {
		w.t.Fatal(err)
	}
	for {
		got := w.line()
		if strings.Contains(got, `"id":9000,`) {
			return came
		}
		came = append(came, got)
	}
}

// A reading is what a reader takes a message for.
type reading struct{ Method, Name, Arguments string }

// readings returns what the server has executed.
func (w *wire) readings() (all []reading) {
	w.t.Helper()
	for line := range strings.Lines(string(kept(w.t, w.dir, "executed"))) {
		var r reading
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// folded reads a line as the loosest reader does: names in any case, and the first of two counts.
func folded(t *testing.T, line string) reading {
	t.Helper()
	message := firstOfEach(t, []byte(line))
	var r reading
	params := firstOfEach(t, member(message, "params"))
	for at, raw := range map[*string][]byte{&r.Method: member(message, "method"), &r.Name: member(params, "name")} {
		if raw != nil {
			if err := json.Unmarshal(raw, at); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
		}
	}
	r.Arguments = "null"
	if raw := member(params, "arguments"); raw != nil {
		r.Arguments = string(raw)
	}
	return r
}

type pair struct {
	name string
	raw  json.RawMessage
}

func member(object []pair, name string) []byte {
	for _, p := range object {
		if strings.EqualFold(p.name, name) || strings.EqualFold(strings.TrimRight(p.name, "\x00"), name) {
			return p.raw
		}
	}
	return nil
}

// firstOfEach returns the members of an object in their order, or nothing.
func firstOfEach(t *testing.T, raw []byte) (all []pair) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var p pair
		if err == nil {
			p.name, _ = name.(string)
			err = d.Decode(&p.raw)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		all = append(all, p)
	}
	return all
}

const (
	safe    = `"name":"safe","arguments":{"a":1}`
	danger  = `"name":"danger","arguments":{"a":2}`
	call    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`
	anyCall = call + safe + "}}"
)

// fromClient are lines of a client that readers differ on, with the ids of the refusals; those
// without one pass.
var fromClient = []struct{ line, refused string }{
	{anyCall, ""},
	{call + danger + "}}", "1"},
	{call + safe + `},"params":{` + danger + "}}", "1"},
	{call + danger + `},"params":{` + safe + "}}", "1"},
	{call + safe + `,"name":"danger"}}`, "1"},
	{call + `"name":"danger",` + safe + "}}", "1"},
	{call + safe + `,"Name":"danger"}}`, "1"},
	{call + `"Name":"danger",` + safe + "}}", "1"},
	{call + safe + `,"na\u006de":"danger"}}`, "1"},
	{call + safe + `,"arguments":{"a":3}}}`, "1"},
	{call + safe + `,"_meta":{"progressToken":"a","progressTo\u212aen":"b"}}}`, "1"},
	{call + safe + ",\"argument\u017f\":{\"a\":3}}}", "1"},
	{call + safe + ",\"name\u200b\":\"danger\"}}", ""},
	{call + safe + `,"name\u0000":"danger"}}`, "1"},
	{call + `"name":"safe","arguments":{"o":{"p":{"q":{"r":1,"r":2}}}}}}`, "1"},
	{call + `"name":"safe","arguments":{"q":1,"Q":2}}}`, ""},
	{call + `"name":"safe","arguments":{"n":12345678901234567890,"m":-1e400}}}`, ""},
	{call + `"name":"safe","arguments":{"s":"\udfff"}}}`, "1"},
	{call + "\"name\":\"safe\",\"arguments\":{\"s\":\"\x80\"}}}", "1"},
	{call + "\"name\":\"safe\",\"arguments\":{\"s\":\"\u2028\u0085\"}}}", ""},
	{call + `"name":"safe","arguments":[1]}}`, "1"},
	{call + `"name":"safe","arguments":"x"}}`, "1"},
	{call + `"name":["danger"]}}`, "1"},
	{call + `"name":""}}`, "1"},
	{call + `"arguments":{}}}`, "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{` + danger + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{` + danger + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{` + danger + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{` + danger + `},"params":{` + safe + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/call","param` + "\u017f" + `":{` + danger + `},"params":{` + safe + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params\u0000":{` + danger + `},"params":{` + safe + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[{` + danger + "}]}", "1"},
	{`{"jsonrpc":"2.0","j` + "\u017f" + `onrpc":"1.0","id":1,"method":"tools/call","params":{` + safe + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{` + safe + "}}", "null"},
	{`{"jsonrpc":"2.0","id":true,"method":"tools/call","params":{` + safe + "}}", "null"},
	{`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{` + safe + "}}", "null"},
	{`{"id":1,"method":"tools/call","params":{` + safe + "}}", "1"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + safe + `},"result":{}}`, "1"},
	{"\ufeff" + call + danger + "}}", "null"},
	{anyCall + call + danger + "}}", "null"},
	{"[" + call + danger + "}}]", "null"},
	{call + safe + ",}}", "null"},
	{call + safe + "}} // danger", "null"},
	{anyCall + "\r", ""},
	{" \t" + anyCall + " ", ""},
}

// refusedID returns the id of an answer that says no, as it is spelt.
func refusedID(line string) string {
	var a struct {
		ID     json.RawMessage
		Error  json.RawMessage
		Result struct{ IsError bool }
	}
	if json.Unmarshal([]byte(line), &a) != nil || a.Error == nil && !a.Result.IsError {
		return "no refusal: " + line
	}
	return string(a.ID)
}

// TestWhatWasJudgedIsWhatIsExecuted sends each line through the guard to a server that reads as
// Node.js does. Either the client gets a refusal under the right id, and the server nothing; or both
// oracles, the last-wins reader that minds case and the first-wins reader that does not, see one
// and the same call, which is not the one that the rules block.
func TestWhatWasJudgedIsWhatIsExecuted(t *testing.T) {
	t.Parallel()
	for name, slowly := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newWire(t, "2025-06-18", slowly).judgedIsExecuted(t)
		})
	}
}

// ways are those in which lines come.
var ways = map[string]bool{"whole": false, "byte by byte": true}

func (w *wire) judgedIsExecuted(t *testing.T) {
	t.Helper()
	for _, c := range fromClient {
		before := len(w.readings())
		came := w.after(c.line)
		executed := w.readings()[before:]
		executed = executed[:len(executed)-1] // the ping
		switch {
		case c.refused != "":
			if len(came) != 1 || refusedID(came[0]) != c.refused || len(executed) != 0 {
				t.Errorf("%.120q: the client got %.300q, the server executed %v; want a refusal of %s", c.line, came, executed, c.refused)
			}
		case len(came) != 1 || len(executed) != 1 || executed[0].Name == "danger":
			t.Errorf("%.120q: the client got %.300q, the server executed %v", c.line, came, executed)
		default:
			loose := folded(t, c.line)
			if loose.Method != executed[0].Method || loose.Name != executed[0].Name || !strings.Contains(c.line, loose.Arguments) {
				t.Errorf("%.120q: %+v and %+v", c.line, loose, executed[0])
			}
		}
	}
	for _, r := range w.readings() {
		if r.Name == "danger" {
			t.Errorf("executed: %+v", r)
		}
	}
	if inside := string(kept(t, w.dir+"/inside", "in")); strings.Contains(inside, `"name":"danger","arguments"`) {
		t.Errorf("the server got a blocked call: %s", inside)
	}
}

func TestOfABatchTheBlockedCallAloneIsTaken(t *testing.T) {
	t.Parallel()
	w := newWire(t, "2025-03-26", false)
	second := strings.Replace(anyCall, `"id":1`, `"id":2`, 1)
	came := w.after("[" + call + danger + "}}," + second + "]")
	all := w.readings()
	if len(all) != 3 || all[1].Name != "safe" {
		t.Errorf("executed: %v", all)
	}
	if got := strings.Join(came, "\n"); !strings.Contains(got, "POLICY_BLOCKED") || !strings.Contains(got, `"id":2,"result":{"content":[]}`) {
		t.Errorf("the client got %s", got)
	}
}

// fromServer are answers to the call 1; those that are kept back become a refusal of it.
var fromServer = []struct {
	line string
	kept bool
}{
	{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"shown"}]}}`, false},
	{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"shown","text":"read"}]}}`, true},
	{`{"jsonrpc":"2.0","id":1,"result":{"content":[]},"Result":{"content":[1]}}`, true},
	{`{"jsonrpc":"2.0","id":1,"result":{"content":[]},"re` + "\u017f" + `ult":{}}`, true},
	{`{"jsonrpc":"2.0","id":1,"result":{"content":[]},"error":{"code":1,"message":"x"}}`, true},
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xfe\xff\"}]}}", true},
	{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud800"}]}}`, true},
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\u2028b\"}]}}", false},
	{`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":12345678901234567890}}}`, false},
	{`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":-1e400}}}`, false},
	{`{"level":"info","msg":"listening"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, false},
}

// TestAnswersOfAServerAreReadInOneWay has the server write each line as it stands.
func TestAnswersOfAServerAreReadInOneWay(t *testing.T) {
	t.Parallel()
	for name, slowly := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newWire(t, "2025-06-18", false).answersAreReadInOneWay(t, slowly)
		})
	}
}

func (w *wire) answersAreReadInOneWay(t *testing.T, slowly bool) {
	t.Helper()
	for _, c := range fromServer {
		came := w.after(fmt.Sprintf(`%s"name":"safe","arguments":{"answer":"%s","slowly":%v}}}`, call, base64.StdEncoding.EncodeToString([]byte(c.line+"\n")), slowly))
		last := c.line[strings.LastIndex(c.line, "\n")+1:]
		switch {
		case len(came) != 1:
			t.Errorf("%.120q: the client got %.300q", c.line, came)
		case c.kept && refusedID(came[0]) != "1", !c.kept && came[0] != last:
			t.Errorf("%.120q: the client got %.300q, kept back: %v", c.line, came[0], c.kept)
		}
	}
}
