// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/services"
)

// A terminateDocument answers terminate_process.
type terminateDocument struct {
	answer.Header
	processes.Terminated
	services.Others
	record
}

func planTermination(ctx context.Context, s session, call invocation) (change, error) {
	target := processes.Target{
		PID: call.args.Int("pid"), ExpectName: call.args.Text("expect_name"), ExpectStart: call.args.Text("expect_start"),
		Graceful: call.args.Bool("graceful"), Force: call.force, EndSession: call.args.Bool("end_session"),
	}
	var others services.Others
	target.Service = s.endOfService(call, &others)
	plan, err := processes.PlanTermination(ctx, s.host.Terminator, target, s.config.Protect.Processes)
	if err != nil {
		return change{}, about(err, struct {
			PID int `json:"pid"`
		}{target.PID})
	}
	subject := plan.Subject()
	return change{
		object: map[string]any{
			"pid": subject.PID, "process_name": subject.ProcessName, "start_id": subject.StartID, "user": subject.User,
			"graceful": target.Graceful, "force": target.Force, "end_session": target.EndSession,
		},
		// Its name is its own to change, and so is what its user mounts: neither is a way out.
		bound:   []any{subject.PID, subject.StartID, target.Graceful, target.EndSession, whose(plan.Ends()), others.Bound()},
		would:   plan.Summary(),
		preview: terminatePreview{subject, others},
		do: func(ctx context.Context) (changed, error) {
			ended, err := plan.Do(ctx)
			if err != nil {
				return nil, about(err, terminatePreview{subject, others})
			}
			return &terminateDocument{answer.NewHeader(call.op.Action, true), ended, others, record{}}, nil
		},
		close: plan.Close,
	}, nil
}

// A terminatePreview is what is known of the answer before.
type terminatePreview struct {
	processes.Subject
	services.Others
}

// endOfService applies the rules of a restart to the end of a service by that of its process, and keeps
// what goes with it.
func (s session) endOfService(call invocation, others *services.Others) processes.ServiceEnd {
	if s.host.Services == nil {
		return nil
	}
	return func(ctx context.Context, unit string, pid int, carries bool, refusal func(string, bool) *fault.Error) (string, error) {
		found, err := services.CheckEnd(ctx, s.host.Services, services.End{
			Name: unit, PID: pid, Force: call.force, Graceful: call.args.Bool("graceful"), Carries: carries, Protected: s.config.Protect.Services, Refusal: refusal, Dependents: s.dependents(),
		})
		*others = found
		return found.Sentence("Its end"), err
	}
}

// whose lists whose sessions end, and from where, for who agrees to that. How many they are, and since
// when, is theirs to change.
func whose(ends *fault.Protected) (list []string) {
	if ends == nil {
		return nil
	}
	for _, s := range ends.Sessions {
		list = append(list, s.User+" from "+strings.Join(s.From, " "))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// about lets the document of a failure tell what is known of its object.
func about(err error, object any) error {
	e := fault.From(err)
	if e.With != nil {
		return e
	}
	return e.WithObject(object)
}

func (d *terminateDocument) advise(f func(string) string) document {
	d.RestartNote = f(d.RestartNote)
	return d
}

func (d *terminateDocument) outcome() string {
	text := fmt.Sprintf("%s (PID %d) ended by %s after %.1f ms", processName(d.ProcessName), d.PID, d.Signal, d.ExitedAfterMS)
	if also := d.Sentence("Its end"); also != "" {
		text += "." + also
	}
	return text
}

func (d *terminateDocument) view(p *page) {
	p.verdict(calm, "ENDED", fmt.Sprintf("%s (PID %d) ended by %s after %.0f ms.", processName(d.ProcessName), d.PID, d.Signal, d.ExitedAfterMS))
	if u := d.UncollectedBy; u != nil {
		p.line("It stays in the process table as a zombie until its parent, %s (PID %d), collects it.", processName(u.Name), u.PID)
	}
	if also := d.Sentence("Its end"); also != "" {
		p.line("%s", p.own(also[1:]))
	}
	if d.RestartNote != "" {
		p.line("%s", p.own(d.RestartNote))
	}
	p.gaps(d.Unavailable)
}
