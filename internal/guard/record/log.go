// SPDX-License-Identifier: Apache-2.0

// Package record keeps what happens behind the guard: sessions, calls, decisions, violations. One
// line an event, each with the hash of the one before it.
//
// Every guard writes files of its own, so that none waits for another, and all sign one head, which
// lists how far each file goes. A line is written before the call is passed on that it tells of,
// and outlives the guard from then on; the disk has it once the head is signed: each minute, each
// thousand lines, and at the end. Arguments and results are kept as size, keyed digest and shape,
// and without their secrets where the options say so.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sentinel/internal/hashchain"
	"sentinel/internal/sanitize"
	"sentinel/internal/trust"
)

const (
	maxFile      = 8 << 20 // bytes, after which the next file is begun
	signEvery    = 1000    // lines
	signInterval = time.Minute
	fileTime     = "20060102T150405.000Z" // the name of a file begins with when its session began
)

// Dir returns where the record is, "" where there is no home (XDG Base Directory Specification).
func Dir() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "sentinel", "guard", "log")
}

// Options of a log.
type Options struct {
	Dir        string
	Session    string
	Server     string            // what rules call it
	Command    []string          // that runs it
	BestEffort func() bool       // what cannot be recorded passes all the same
	Values     func() bool       // arguments and results are kept as they are, without secrets; nil is never
	Note       func(text string) // is told once that nothing can be recorded
	Audit      *Audit            // has refused requests too; may be nil
}

// A Log records one session. It is safe for concurrent use.
type Log struct {
	options   Options
	dir       string
	digestKey []byte
	macs      sync.Pool // with the key
	key       key
	began     time.Time

	mu      sync.Mutex
	file    *os.File // nil until there is one
	name    string
	part    int
	size    int64
	tree    tree
	seq     uint64
	prev    string
	signed  int64 // lines of the file that the head has
	timer   *time.Timer
	told    bool
	ended   bool // nothing follows but the line that tells of the head
	agreed  bool
	client  Event // what is known of the client
	flood   flood
	names   map[string]string // of servers and tools, as they are recorded
	retryAt time.Time         // when to try again to begin
	failure error             // of the last try

	auditTold sync.Once
}

// retryAfter is how long a state folder that cannot be used is left alone.
const retryAfter = time.Second

// Open begins the record of a session. What keeps it from being written is told, and tried again
// with each event.
func Open(options Options) *Log {
	l := &Log{options: options, dir: options.Dir, began: time.Now(), names: map[string]string{}}
	l.mu.Lock()
	go func() { // beside the start of the server
		defer l.mu.Unlock()
		l.tell(l.append(Event{Type: Session, Phase: "start", ServerType: "stdio", Command: sanitize.Command(options.Command, 500), PID: os.Getpid()})) //nolint:errcheck // it is told, and tried again
	}()
	return l
}

// Close ends the session with the exit status of the server, and signs the head.
func (l *Log) Close(status int) {
	l.mu.Lock()
	l.tell(l.append(Event{Type: Session, Phase: "end", ExitStatus: &status, DurationMS: ms(time.Since(l.began)), Omitted: l.flood.rest()})) //nolint:errcheck // told
	l.ended = true
	l.mu.Unlock()
	l.sign(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.file != nil {
		l.file.Close() //nolint:errcheck // synced before
		l.file = nil
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// write appends an event. The error is nil once the kernel has the line.
func (l *Log) write(e Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tell(l.append(e))
}

// tell says once that nothing can be recorded.
func (l *Log) tell(err error) error {
	if err != nil && !l.told {
		l.told = true
		l.options.Note(fmt.Sprintf("The record cannot be written: %v", err))
	}
	return err
}

func (l *Log) append(e Event) error {
	if l.ended && (l.file == nil || e.Type != headEvent) {
		return nil
	}
	if err := l.ready(); err != nil {
		return err
	}
	e.Method, e.ToolName = l.named(e.Method), l.named(e.ToolName)
	e.Seq, e.Timestamp, e.SessionID, e.ServerID, e.Prev = l.seq+1, time.Now().UTC().Truncate(time.Microsecond), l.options.Session, l.named(l.options.Server), l.prev
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line, hash := hashchain.Seal(raw)
	if len(line) > maxLine {
		return errors.New("the event is too long for the record")
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.seq, l.prev, l.size = e.Seq, hash, l.size+int64(len(line))+1
	l.tree.add(line)
	l.schedule()
	return nil
}

// schedule has the head signed soon.
func (l *Log) schedule() {
	switch {
	case l.tree.size-l.signed == signEvery:
		go l.sign(false)
	case l.timer == nil:
		l.timer = time.AfterFunc(signInterval, func() { l.sign(false) })
	}
}

// ready has a file to write to: the first, or the next when one is full.
func (l *Log) ready() error {
	switch {
	case l.file != nil && l.size < maxFile:
		return nil
	case l.file == nil && time.Now().Before(l.retryAt):
		return l.failure
	}
	err := l.next()
	if err != nil && l.file == nil {
		l.failure, l.retryAt = err, time.Now().Add(retryAfter)
	}
	return err
}

// next begins a file. The head lists it before it is there, so that a file that the head does not
// list was added by somebody.
func (l *Log) next() error {
	if l.digestKey == nil {
		if err := l.prepare(); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%s-%s-%04d.jsonl", l.began.UTC().Format(fileTime), l.options.Session, l.part+1)
	marks := []mark{{file: name}}
	if l.file != nil {
		if err := l.file.Sync(); err != nil {
			return err
		}
		marks = append(marks, mark{l.name, l.tree.size, l.tree.root(), true})
	}
	if _, err := publish(l.dir, l.key, marks...); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:errcheck // it only tells that the guard runs
	if l.file != nil {
		l.file.Close() //nolint:errcheck // synced before
	}
	l.file, l.name, l.part, l.size, l.tree, l.signed = f, name, l.part+1, 0, tree{}, 0
	return nil
}

// Usable returns why nothing can be recorded below dir, nil where it can. It makes nothing: of a
// folder that is not there yet, the nearest one above it is judged.
func Usable(dir string) error {
	if dir == "" {
		return errNoHome
	}
	at := dir
	for {
		_, err := os.Lstat(at)
		if err == nil || at == filepath.Dir(at) {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		at = filepath.Dir(at)
	}
	if err := trust.RootOrSelf.File(at); err != nil {
		return err
	}
	const write, search = 2, 1 // W_OK and X_OK of access(2)
	if err := syscall.Access(at, write|search); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s is not a folder", at))
	}
	return nil
}

var errNoHome = errors.New("there is no home for the state: set HOME or XDG_STATE_HOME")

// prepare makes the folder and the key, and refuses a folder that others can write to.
func (l *Log) prepare() error {
	if l.dir == "" {
		return errNoHome
	}
	if err := trust.MakeDir(filepath.Dir(l.dir), 0o700); err != nil {
		return err
	}
	if err := trust.MakeDir(l.dir, 0o700); err != nil {
		return err
	}
	if err := trust.RootOrSelf.File(l.dir); err != nil {
		return err
	}
	k, err := loadKey(l.dir, true)
	if err != nil {
		return err
	}
	l.key, l.digestKey = k, k.digests
	return nil
}

// sign has the disk take what was written and the head say so; last when nothing follows. The line
// that tells of it tells a head that was rolled back from a crash.
func (l *Log) sign(last bool) {
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	f, m := l.file, mark{l.name, l.tree.size, l.tree.root(), last}
	l.mu.Unlock()
	if f == nil {
		return
	}
	err := f.Sync()
	if errors.Is(err, fs.ErrClosed) { // the next file was begun, and the head has this one
		return
	}
	var number uint64
	if err == nil {
		number, err = publish(l.dir, l.key, m)
	}
	if err != nil {
		return // the next time
	}
	l.write(Event{Type: headEvent, Head: number}) //nolint:errcheck // told
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.name == m.file {
		l.signed = m.records
	}
	if l.timer != nil && l.tree.size == m.records+1 { // nothing but the line that tells of the head
		l.timer.Stop()
		l.timer = nil
	}
}

// maxNames bounds the names that are remembered.
const maxNames = 1000

// named is clean for names that come again and again. The lock is held.
func (l *Log) named(s string) string {
	if known, ok := l.names[s]; ok {
		return known
	}
	if len(l.names) >= maxNames {
		clear(l.names)
	}
	l.names[s] = clean(s)
	return l.names[s]
}

// clean makes a name fit for the record.
func clean(s string) string { return sanitize.Reason(s, 200) }
