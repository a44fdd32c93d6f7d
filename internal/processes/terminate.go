// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/fault"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

const (
	// gracePeriod is how long a process has to end after SIGTERM.
	gracePeriod = 5 * time.Second
	// killPeriod is how long one may take to end after SIGKILL: giving back many
	// gigabytes of memory takes a second or two.
	killPeriod = 3 * time.Second
	// collectPeriod is how long the parent has to collect it before the answer
	// says that it has not.
	collectPeriod = 10 * time.Millisecond
	// managerPeriod is how long the service manager may take to say what it will do: on a busy
	// machine, where processes are ended, a quarter of a second is common.
	managerPeriod = time.Second
	// maxPID is the largest PID of a 64-bit kernel (PID_MAX_LIMIT in
	// include/linux/threads.h).
	maxPID = 4194304
	// maxName bounds names in answers, in characters, as in [Process].
	maxName = 64
)

// A Target is a process to end, and what the caller believes about it.
type Target struct {
	PID         int
	ExpectName  string        // as in [Process]; empty when any will do
	ExpectStart string        // the start_id of [Process]; empty when any will do
	Graceful    bool          // SIGTERM first
	Grace       time.Duration // before SIGKILL; 0 means 5 s
	Force       bool          // lifts the refusals that can be lifted
	EndSession  bool          // lifts those for sessions of others
	Service     ServiceEnd    // tells what the end of its service does; nil where nothing does
}

// A ServiceEnd looks at what ends, stops or starts when a process of a service of the system ends. It fails
// with what refusal makes where that must not be, and returns a sentence after a space otherwise, "" for
// nothing. carries says that sessions of others end with the process, which who asks agrees to. lifts says
// whether force lifts a refusal.
type ServiceEnd func(ctx context.Context, unit string, pid int, carries bool, refusal func(why string, lifts bool) *fault.Error) (sideEffects string, err error)

// A Subject is the process that an answer is about.
type Subject struct {
	PID         int    `json:"pid"`            // number of the process
	ProcessName string `json:"process_name"`   // as the kernel has it
	StartID     string `json:"start_id"`       // tells this process from later ones with its number
	User        string `json:"user,omitempty"` // who it ran as
	Unit        string `json:"unit,omitempty"` // that it belongs to
	// MountPoints are those of the file systems that it serves, which cannot be used without it; at
	// most 10.
	MountPoints []string `json:"mount_points,omitempty"`
}

// Terminated answers terminate_process. The process was seen to be gone.
type Terminated struct {
	Subject
	Signal        Signal    `json:"signal"`                   // the last one before it ended
	ExitedAfterMS float64   `json:"exited_after_ms"`          // since the first signal
	UncollectedBy *Relative `json:"uncollected_by,omitempty"` // the parent that leaves it as a zombie
	WillRestart   *bool     `json:"will_restart,omitempty"`   // absent when that is not sure
	RestartNote   string    `json:"restart_note,omitempty"`   // what starts it again, and what to do about it
}

// A Termination is a process that may be ended and is held until [Termination.Close].
type Termination struct {
	source      TerminationSource
	target      Target
	protected   []string
	along       bool // it is looked at because it would end along with another
	pinned      Pinned
	facts       Facts
	carries     *sessions.Claim // the sessions of others that end with it; nil for none
	sideEffects string          // of its service: what goes with it, a sentence
	restart     restart
}

// PlanTermination takes hold of a process and checks everything; it changes
// nothing. protected are names that the configuration protects. Its errors have the codes
// INVALID_PID, PROCESS_NOT_FOUND, PROCESS_CHANGED, PROTECTED_PROCESS, PERMISSION_DENIED,
// UNAVAILABLE and UNSUPPORTED.
func PlanTermination(ctx context.Context, source TerminationSource, target Target, protected []string) (*Termination, error) {
	if err := refuseNumber(target.PID); err != nil {
		return nil, err
	}
	pinned, err := source.Pin(target.PID)
	if err != nil {
		return nil, notPinned(target.PID, err)
	}
	p := &Termination{source: source, target: target, protected: protected, pinned: pinned}
	if err := p.plan(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Termination) plan(ctx context.Context) error {
	if err := p.check(ctx); err != nil {
		return err
	}
	if err := p.pinned.Probe(); err != nil {
		return p.notSignalled(err)
	}
	p.restart = askRestart(ctx, p.source, p.target.PID, p.facts.Unit)
	return ctx.Err()
}

// check reads what the process is now, and refuses what must not be ended.
func (p *Termination) check(ctx context.Context) error {
	facts, err := p.pinned.Facts(ctx)
	if errors.Is(err, ErrNoProcess) {
		return noProcess(p.target.PID)
	}
	if err != nil {
		return unavailable(ctx, fmt.Sprintf("What process %d is cannot be read", p.target.PID), err)
	}
	p.facts, p.carries = facts, nil
	if err := p.expect(); err != nil {
		return err
	}
	p.source.Holdings(ctx, map[int]*Facts{p.target.PID: &p.facts}, nil, true)
	if err := p.refuse(ctx); err != nil {
		return err
	}
	return p.refuseService(ctx)
}

// Close lets go of the process.
func (p *Termination) Close() {
	p.pinned.Close() //nolint:errcheck // nothing was written
}

// Subject names the process.
func (p *Termination) Subject() Subject {
	return Subject{
		PID: p.target.PID, ProcessName: p.name(), StartID: p.facts.Start,
		User: sanitize.Text(p.facts.User, maxName), Unit: p.facts.Unit.Name, MountPoints: p.points(),
	}
}

// Ends are the sessions of others that end with the process; nil for none.
func (p *Termination) Ends() *fault.Protected {
	if p.carries == nil {
		return nil
	}
	return p.carries.Data()
}

// Summary says what [Termination.Do] would do.
func (p *Termination) Summary() string {
	s := p.Subject()
	who := fmt.Sprintf("%s (PID %d", sanitize.Quoted(s.ProcessName, maxName), s.PID)
	if s.User != "" {
		who += ", user " + s.User
	}
	what := "would be sent SIGKILL."
	if p.target.Graceful {
		what = fmt.Sprintf("would be sent SIGTERM, and SIGKILL if it is still there %v later.", p.grace())
	}
	_, note := p.restart.after(p.first())
	if note != "" {
		note = " " + note
	}
	switch c := p.carries; {
	case c == nil:
	case c.Listens:
		what += " People log in through it, as in " + c.String() + "."
	case c.Apart():
		what += " It serves terminals that are shown in " + c.String() + ", and what runs there ends."
	default:
		what += " It carries " + c.String() + ", which ends."
	}
	if len(s.MountPoints) > 0 {
		what += " It serves what is mounted at " + strings.Join(quotedAll(s.MountPoints), ", ") + ", which cannot be used without it."
	}
	return who + ") " + what + p.sideEffects + note
}

// quotedAll marks names that anybody may have chosen as such.
func quotedAll(names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, sanitize.Quoted(name, maxPoint))
	}
	return list
}

func (p *Termination) grace() time.Duration { return cmp.Or(p.target.Grace, gracePeriod) }

func (p *Termination) first() Signal {
	if p.target.Graceful {
		return SignalTerm
	}
	return SignalKill
}

// Do ends the process and waits until it is gone. Everything is checked once more
// right before the first signal, and until then the end of ctx stops it; after it, Do
// goes on to the end and keeps its promises about time, since a signal cannot be taken back.
// SIGKILL after SIGTERM goes to the process that is held whatever it calls itself by then.
// Its errors have the codes of [PlanTermination] and STILL_RUNNING.
func (p *Termination) Do(ctx context.Context) (Terminated, error) {
	if err := ctx.Err(); err != nil {
		return Terminated{}, err
	}
	if err := p.check(ctx); err != nil {
		return Terminated{}, endedMeanwhile(err)
	}
	if err := ctx.Err(); err != nil {
		return Terminated{}, err
	}
	began := time.Now()
	last, err := p.end(ctx)
	if err != nil {
		return Terminated{}, endedMeanwhile(err)
	}
	t := Terminated{
		Subject: p.Subject(), Signal: last,
		ExitedAfterMS: round(float64(time.Since(began))/float64(time.Millisecond), 1),
	}
	t.UncollectedBy = p.uncollected(context.WithoutCancel(ctx))
	t.WillRestart, t.RestartNote = p.restart.after(last)
	return t, nil
}

// end signals and waits, and returns the last signal that was sent.
func (p *Termination) end(ctx context.Context) (Signal, error) {
	if p.target.Graceful {
		progress.Say(ctx, 40, fmt.Sprintf("asked to end; waiting up to %v for it", p.grace()))
		ended, err := p.send(SignalTerm, p.grace())
		if ended || err != nil {
			return SignalTerm, err
		}
	}
	ended, err := p.send(SignalKill, killPeriod)
	switch {
	case p.target.Graceful && errors.Is(err, ErrNoProcess):
		return SignalTerm, nil
	case err == nil && !ended:
		return SignalKill, p.stillRunning()
	}
	return SignalKill, err
}

// send signals and waits for the end.
func (p *Termination) send(s Signal, limit time.Duration) (ended bool, err error) {
	if err := p.pinned.Signal(s); err != nil {
		return false, p.notSignalled(err)
	}
	ended, err = p.pinned.Wait(limit)
	if err != nil {
		return false, fault.Wrap(fault.Unavailable, p.who()+" was sent "+string(s)+", and cannot be watched", err)
	}
	return ended, nil
}

// uncollected returns the parent of a process that ended and stays a zombie.
func (p *Termination) uncollected(ctx context.Context) *Relative {
	if p.pinned.Collected(collectPeriod) {
		return nil
	}
	facts, err := p.pinned.Facts(ctx)
	if err != nil || facts.Parent.PID == 0 {
		return nil
	}
	return &Relative{PID: facts.Parent.PID, Name: sanitize.Text(facts.Parent.Name, maxName)}
}

// who names the process in a sentence.
func (p *Termination) who() string { return Relative{p.target.PID, p.name()}.who() }

// name is the name as get_top_processes shows it.
func (p *Termination) name() string {
	return sanitize.Text(fullName(p.facts.Name, p.facts.Arguments), maxName)
}

func (r Relative) who() string {
	return fmt.Sprintf("%s (PID %d)", sanitize.Quoted(r.Name, maxName), r.PID)
}

// programFile looks at the program of a process. It does not wait for a disk that hangs.
func (p *Termination) programFile(ctx context.Context, of Pinned) (ProgramFile, error) {
	return deadline.Call(ctx, managerPeriod, func(context.Context) (ProgramFile, error) { return of.ProgramFile() })
}
