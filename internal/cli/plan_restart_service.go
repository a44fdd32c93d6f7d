// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
	"sentinel/internal/services"
)

// A restartDocument answers restart_service.
type restartDocument struct {
	answer.Header
	services.Restarted
	record
}

// A serviceObject names the service in the document of a failure.
type serviceObject struct {
	Label string `json:"label"`
}

// A failedRestart is a restart that went wrong, with what the service wrote.
type failedRestart struct{ services.Restarted }

// failedToRestart is the failure with what is known of the restart, without the oldest lines of its log where
// they are too long for a model.
func failedToRestart(action string, err error, r failedRestart) error {
	fit(fault.NewDocument(action, about(err, &r)), usualAnswer-journalRoom, func() bool {
		if len(r.Log) == 0 {
			return false
		}
		r.Log = r.Log[1:]
		return true
	})
	return about(err, r)
}

// explain shows the log lines, which are what the person has to look at.
func (r failedRestart) explain(p *page) {
	if len(r.Log) == 0 {
		return
	}
	p.line("")
	p.line("Its last log lines:")
	for _, l := range r.Log {
		p.entry(l)
	}
}

func planRestart(ctx context.Context, s session, call invocation) (change, error) {
	name := call.args.Text("service")
	plan, err := services.PlanRestart(ctx, s.host.Services, services.Options{
		Name: name, Force: call.force, Protected: s.config.Protect.Services, Dependents: s.dependents(),
	})
	if err != nil {
		return change{}, about(err, serviceObject{sanitize.Text(name, 255)})
	}
	var done services.Restarted
	return change{
		object:  map[string]any{"service": plan.Name(), "force": call.force},
		would:   plan.Summary(),
		bound:   []any{plan.Name(), call.force, plan.Others().Bound()},
		preview: restartPreview{serviceObject{plan.Name()}, plan.Others()},
		do: func(ctx context.Context) (changed, error) {
			if done, err = plan.Do(ctx); err != nil {
				return nil, failedToRestart(call.op.Action, goingOn(err, done, plan.Look()), failedRestart{done})
			}
			doc := &restartDocument{answer.NewHeader(call.op.Action, true), done, record{}}
			doc.Unavailable.Add("also_off", done.Unread)
			return doc, nil
		},
		pending: func() bool { return done.Pending },
		close:   plan.Close,
	}, nil
}

// A restartPreview is what a dry run knows of the answer.
type restartPreview struct {
	serviceObject
	services.Others
}

// dependents tell what would be lost with the processes of a service.
func (s session) dependents() services.Dependents {
	return services.Dependents{
		Sessions: s.host.Sessions, Mounted: s.host.Mounted,
		Essential: func(ctx context.Context, list []services.Ending, along []int) (pid int, who, why string, err error) {
			ends := make([]processes.Ending, 0, len(list))
			for _, e := range list {
				ends = append(ends, processes.Ending(e))
			}
			return processes.Essential(ctx, s.host.Terminator, ends, along, s.config.Protect.Processes)
		},
	}
}

// goingOn says of a restart that nobody waits for any more what becomes of it, and
// how to look at it.
func goingOn(err error, done services.Restarted, look string) error {
	if e := fault.From(err); done.Pending && e.Code == fault.Cancelled {
		return fault.New(fault.Cancelled, "The restart of "+done.Label+" was queued before the call was cancelled, and goes on.").
			WithFix("See how it ended with: " + look)
	}
	return err
}

func (d *restartDocument) outcome() string { return d.Message }

func (d *restartDocument) view(p *page) {
	p.verdict(calm, "RESTARTED", d.Message)
	p.table("", []column{{title: "service"}, {title: "state"}, {title: "main pid", right: true}, {title: "took ms", right: true}}, [][]string{{
		d.Label, fmt.Sprintf("%s (%s)", d.State.Active, d.State.Sub), pidText(d.State.MainPID), strconv.FormatInt(d.TookMS, 10),
	}})
	p.gaps(d.Unavailable)
}
