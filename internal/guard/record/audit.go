// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
	"sentinel/internal/trust"
)

// AuditVariable names the file in which the first gateway wrote what it refused.
const AuditVariable = "MCP_AUDIT_LOG"

// auditBegin is how the lines of such a file begin, those of the first gateway too.
const auditBegin = `{"timestamp":`

// An Audit is a file beside the record to which refused requests are written, one line each.
type Audit struct{ path string }

// An auditLine has the names that the first gateway gave. Its details were the whole request; these
// are what the record has.
type auditLine struct {
	Timestamp time.Time `json:"timestamp"`
	MessageID any       `json:"message_id"` // a number or text, null where there is none
	Method    string    `json:"method"`
	Reason    string    `json:"reason"`
	Details   struct {
		Event     string `json:"event"`
		Code      string `json:"code"`
		Rule      string `json:"rule"`
		Session   string `json:"session_id"`
		Server    string `json:"server_id"`
		Tool      string `json:"tool_name,omitempty"`
		Arguments *Value `json:"arguments,omitempty"`
	} `json:"details"`
}

// OpenAudit returns the audit that is written to path, which is made where it is not there. A file
// that holds something else is refused, so that no setting of a client writes into it.
func OpenAudit(path string) (*Audit, error) {
	if path == "" {
		return nil, fmt.Errorf("%s is empty; name a file, or leave it out", AuditVariable)
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	a := &Audit{whole}
	f, err := a.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", AuditVariable, err)
	}
	return a, f.Close()
}

// open opens the file anew for each line, so that it can be rotated.
func (a *Audit) open() (*os.File, error) {
	f, err := os.OpenFile(a.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := a.fits(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (a *Audit) fits(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", a.path, trust.ErrNotRegular)
	}
	begin := make([]byte, len(auditBegin))
	n, _ := f.ReadAt(begin, 0) //nolint:errcheck // less is what is compared
	if info.Size() > 0 && !bytes.Equal(begin[:n], []byte(auditBegin)) {
		return fmt.Errorf("%s holds something else than refused calls", a.path)
	}
	return nil
}

func (a *Audit) write(e Event, id jsonrpc.ID) error {
	line := auditLine{Timestamp: e.Timestamp, MessageID: messageID(id), Method: e.Method, Reason: e.Reason}
	d := &line.Details
	d.Event, d.Code, d.Rule, d.Session, d.Server, d.Tool, d.Arguments = e.EventID, e.Code, e.Rule, e.SessionID, e.ServerID, e.ToolName, e.Arguments
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := a.open()
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Close())
}

// messageID returns an id as it is recorded: text is cleaned, as names are.
func messageID(id jsonrpc.ID) any {
	const longest = 40 // of a number
	text, isText := jsonrpc.Text(id)
	switch {
	case isText:
		return clean(text)
	case len(id) == 0 || len(id) > longest:
		return nil
	default:
		return json.RawMessage(id)
	}
}

// audit writes a refused request to the file of the first gateway, where there is one.
func (l *Log) audit(e Event, m *stage.Message) {
	if l.options.Audit == nil || m.Call == nil {
		return
	}
	e.Timestamp, e.SessionID, e.ServerID = time.Now().UTC().Truncate(time.Microsecond), l.options.Session, clean(l.options.Server)
	e.Method, e.ToolName = clean(e.Method), clean(e.ToolName)
	if err := l.options.Audit.write(e, m.Call.ID); err != nil {
		l.auditTold.Do(func() { l.options.Note(fmt.Sprintf("%s cannot be written: %v", AuditVariable, err)) })
	}
}
