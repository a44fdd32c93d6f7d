// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
	"sentinel/internal/services"
)

// A serviceDocument answers get_service_status.
type serviceDocument struct {
	answer.Header
	Label string `json:"label,omitempty"` // name of the service that was asked for; absent without one
	services.Status
}

// formOfServiceAsked checks the name of a service that may be left out.
func formOfServiceAsked(s session, call invocation) error {
	if call.args.Text("service") == "" {
		return nil
	}
	return formOfService(s, call)
}

func runServiceStatus(ctx context.Context, s session, call invocation) (document, error) {
	name := call.args.Text("service")
	var hidden answer.Gaps
	progress.Say(ctx, 5, "asking the service manager")
	status, err := services.Inspect(ctx, s.host.Services, services.Question{
		Name: name, Rows: call.rows, Now: s.host.Now(),
		Listening: func(ctx context.Context) ([]services.Port, error) { return ports(ctx, s.host.Network, &hidden) },
	})
	if err != nil && name == "" {
		return nil, err
	}
	if err != nil {
		return nil, about(err, serviceObject{sanitize.Text(name, 255)})
	}
	for _, gap := range hidden {
		status.Unavailable.Note("ports", gap.Reason)
	}
	d := &serviceDocument{answer.NewHeader(call.op.Action, true), sanitize.Text(name, 255), status}
	if call.rows == defaultRows {
		d.fit()
	}
	return d, nil
}

// maxServices bounds a default document, in bytes.
const maxServices = 8_000

// fit leaves out the oldest log lines, and then the last services, until the document is small enough.
func (d *serviceDocument) fit() {
	for {
		raw, err := encode(d, false)
		if err != nil || len(raw) <= maxServices || !d.shorten() {
			return
		}
	}
}

// shorten leaves out one line of the longest log, or a service; ok is false where nothing is left to
// leave out.
func (d *serviceDocument) shorten() (ok bool) {
	if len(d.Services) == 0 {
		return false
	}
	longest := 0
	for i, s := range d.Services {
		if len(s.Log) > len(d.Services[longest].Log) {
			longest = i
		}
	}
	if s := &d.Services[longest]; len(s.Log) > 1 {
		s.Log = s.Log[1:]
		return true
	}
	if len(d.Services) > 1 {
		d.Services, d.Truncated = d.Services[:len(d.Services)-1], true
		return true
	}
	return false
}

// ports lists what this machine listens on.
func ports(ctx context.Context, source network.Source, gaps *answer.Gaps) ([]services.Port, error) {
	if source == nil {
		return nil, errors.New("the sockets of this machine are not read")
	}
	listeners, err := network.Listeners(ctx, source, gaps)
	if err != nil {
		return nil, err
	}
	list := make([]services.Port, 0, len(listeners))
	for _, l := range listeners {
		p := services.Port{PID: l.PID, Process: l.ProcessName, Address: l.Address, Protocol: string(l.Protocol)}
		if address, err := netip.ParseAddrPort(l.Address); err == nil {
			p.Number = address.Port()
		}
		list = append(list, p)
	}
	return list, nil
}

func (d *serviceDocument) view(p *page) {
	switch {
	case d.Label != "":
		d.viewOne(p, d.Services[0])
	case len(d.Services) == 0:
		p.verdict(calm, "WELL", "No service has failed, keeps dying or is off although it is to run.")
	default:
		p.verdict(warn, "NOT WELL", counted(d.Total, "service")+" not well.")
		var list []finding
		for _, s := range d.Services {
			list = append(list, finding{status: strings.ToUpper(s.State.Active), message: s.Summary, fix: "sentinel --service " + shellWord(s.Name)})
		}
		p.line("")
		p.findings(list, func(p *page, rest []finding) {
			if more := d.Total - len(d.Services) + len(rest); more > 0 {
				p.seeAll(counted(more, "more service"))
			}
		})
	}
	p.gaps(d.Unavailable)
}

func (d *serviceDocument) viewOne(p *page, s services.Service) {
	if s.Well {
		p.verdict(calm, "WELL", s.Summary)
	} else {
		p.verdict(warn, "NOT WELL", s.Summary)
	}
	rows := [][]string{}
	add := func(title, text string) {
		if text != "" {
			rows = append(rows, []string{title, text})
		}
	}
	add("state", s.State.Active+" ("+s.State.Sub+")"+after(" since ", s.Since))
	add("restarts", serviceRestartsText(s))
	add("ended", endedText(s))
	add("ports", servicePortsText(s.Ports))
	add("uses", resourcesText(s.Resources))
	add("at boot", s.Enabled)
	add("file", s.UnitFile)
	add("changed", s.ReloadNeeded)
	add("comes back", strings.Join(s.RestartedBy, "; "))
	p.facts(rows)
	if len(s.Log) > 0 {
		p.line("")
	}
	for _, l := range s.Log {
		p.entry(strings.TrimSpace(l.Time + " " + l.Text))
	}
	if !s.Well {
		p.fix("Once it is repaired: sudo sentinel --restart-service " + shellWord(s.Name))
	}
}

// after puts words before a text; nothing before nothing.
func after(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

func serviceRestartsText(s services.Service) string {
	switch {
	case s.State.Restarts > 0:
		return strconv.Itoa(s.State.Restarts) + after(", the first at ", s.FirstRestart)
	case s.Runs > 0:
		return fmt.Sprintf("started %d times since it was loaded", s.Runs)
	}
	return ""
}

func endedText(s services.Service) string {
	text := after("by ", s.State.Signal)
	if s.State.ExitStatus != nil {
		text = fmt.Sprintf("with status %d", *s.State.ExitStatus)
	}
	return text + after(": ", s.ExitMeaning)
}

func servicePortsText(list []services.Port) string {
	var texts []string
	for _, p := range list {
		texts = append(texts, p.Address+" ("+p.Protocol+")")
	}
	return strings.Join(texts, ", ")
}

func resourcesText(r *services.Resources) string {
	if r == nil {
		return ""
	}
	parts := []string{humanize.Count(r.Processes, "process", "processes")}
	if r.MemoryBytes != nil {
		text := humanize.Bytes(*r.MemoryBytes) + " of memory"
		if r.MemoryLimitBytes > 0 {
			text += " of " + humanize.Bytes(r.MemoryLimitBytes)
		}
		parts = append(parts, text)
	}
	if r.CPUPercent != nil {
		text := fmt.Sprintf("%.1f %% of a core", *r.CPUPercent)
		if r.CPULimitPercent > 0 {
			text += fmt.Sprintf(" of %.0f %%", r.CPULimitPercent)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
