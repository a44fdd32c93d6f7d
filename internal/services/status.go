// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/sampling"
	"sentinel/internal/sanitize"
)

const (
	// inspectLimit bounds one answer.
	inspectLimit = 12 * time.Second
	// maxListed is how many services that are not well an answer describes.
	maxListed = 8
	// maxSuspects bounds how many are looked at, and maxInstances how many of one template.
	maxSuspects  = 64
	maxInstances = 3
	// listedLines and listedRunes are what is shown of the log where there are several services.
	listedLines = 3
	listedRunes = 160
	// restartsOften is from how many restarts on a service that runs again is not well.
	restartsOften = 3
	// recently is how long ago the last of them may be.
	recently = time.Hour
	maxPorts = 20
)

// A Question is what to tell of services.
type Question struct {
	Name string // "" for all that are not well
	Rows int    // services to list: 0 means all, less than 0 the default
	Now  time.Time
	// Listening lists the ports of this machine; nil where that is not read.
	Listening func(ctx context.Context) ([]Port, error)
}

// A Status answers a question about services.
type Status struct {
	Services    []Service   `json:"services" schema:"brief"`    // the one that was asked for, or those that are not well
	Total       int         `json:"services_total"`             // before the list was cut, of those that were looked at
	Truncated   bool        `json:"truncated"`                  // services does not show all
	Unavailable answer.Gaps `json:"unavailable" schema:"brief"` // what could not be read, and why
}

// A Service is what is known of one.
type Service struct {
	Name          string `json:"name"`                     // to its manager
	Instances     int    `json:"instances,omitempty"`      // of its template that may not be well, for which this one stands; absent where it stands for itself
	RequestedName string `json:"requested_name,omitempty"` // the alias that was asked for
	Description   string `json:"description,omitempty"`    // as its unit has it
	Well          bool   `json:"well"`                     // nothing is wrong with it
	Summary       string `json:"summary"`                  // its state and why, a sentence
	State         State  `json:"state"`                    // in the words of its manager
	Since         string `json:"since,omitempty"`          // RFC 3339: when it came into that state
	// FirstRestart is when the manager first started it again, of those that state.restarts counts.
	FirstRestart string `json:"first_restart,omitempty"`
	// Runs is how often launchd has started it since it was loaded.
	Runs         int         `json:"runs,omitempty"`
	ExitMeaning  string      `json:"exit_meaning,omitempty"`  // of the exit status or signal, in words
	FailedNeeds  []Need      `json:"failed_needs,omitempty"`  // what it needs and what is wrong with that: the root causes
	PortsTakenBy []Port      `json:"port_taken_by,omitempty"` // who listens on a port that its log says is in use
	Ports        []Port      `json:"ports,omitzero"`          // on which it listens; absent when unknown
	Resources    *Resources  `json:"resources,omitempty"`     // what its processes use
	Enabled      string      `json:"enabled,omitempty"`       // whether it is started at boot, in the words of its manager
	UnitFile     string      `json:"unit_file,omitempty"`     // that describes it
	ReloadNeeded string      `json:"reload_needed,omitempty"` // its file has changed since it was loaded, a sentence
	RestartedBy  []string    `json:"restarted_by,omitempty"`  // what starts it again, each a sentence
	Log          []ShownLine `json:"log,omitzero"`            // its last lines; absent when unknown
}

// A ShownLine is a line of a log.
type ShownLine struct {
	Time string `json:"time,omitempty"` // RFC 3339; absent where it is not known
	Text string `json:"text"`           // redacted and cut
	// Foreign as in [LogLine].
	Foreign bool `json:"-"`
}

// A Port is one that a process listens on.
type Port struct {
	PID      int    `json:"pid,omitempty"`          // of the process; absent when it cannot be seen
	Process  string `json:"process_name,omitempty"` // its name
	Address  string `json:"address"`                // host:port
	Protocol string `json:"protocol"`               // tcp, udp or udplite
	Number   uint16 `json:"-"`
}

// Resources are what the processes of a service use, and what they may.
type Resources struct {
	Processes        int      `json:"processes"`                    // running
	MemoryBytes      *uint64  `json:"memory_bytes,omitempty"`       // without cache that the kernel takes back first
	MemoryLimitBytes uint64   `json:"memory_limit_bytes,omitempty"` // absent for none
	CPUPercent       *float64 `json:"cpu_percent,omitempty"`        // over half a second; 100 is one core
	CPUSeconds       *float64 `json:"cpu_seconds,omitempty"`        // since it was started
	CPULimitPercent  float64  `json:"cpu_limit_percent,omitempty"`  // 100 is one core; absent for none
	ThrottledSeconds *float64 `json:"cpu_throttled_s,omitempty"`    // seconds that it waited because of that limit, since it was started
	Tasks            *uint64  `json:"tasks,omitempty"`              // processes and threads
	TasksLimit       uint64   `json:"tasks_limit,omitempty"`        // absent for none
}

type inspection struct {
	kind    *Kind
	manager Manager
	asked   Question
	gaps    answer.Gaps
	ports   []Port
	looked  bool // for ports
}

// Inspect describes one service, or all that are not well. It changes nothing. It fails with
// INVALID_SERVICE, SERVICE_NOT_FOUND, UNSUPPORTED or UNAVAILABLE.
func Inspect(ctx context.Context, source Source, q Question) (Status, error) {
	kind, name := source.Kind(), ""
	if q.Name != "" {
		var err error
		if name, err = kind.CheckName(q.Name); err != nil {
			return Status{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	manager, err := source.Open(ctx)
	if err != nil {
		return Status{}, naming(err, name)
	}
	defer manager.Close()
	i := &inspection{kind: kind, manager: manager, asked: q, gaps: answer.Gaps{}}
	if name == "" {
		return i.unwell(ctx)
	}
	return i.one(ctx, name)
}

func (i *inspection) one(ctx context.Context, name string) (Status, error) {
	u, err := i.manager.Unit(ctx, name)
	switch {
	case err != nil:
		return Status{}, unavailable(i.kind, err)
	case u.Missing:
		p := planner{kind: i.kind, manager: i.manager}
		return Status{}, p.notFound(ctx, name, "get_service_status")
	case !u.Service:
		return Status{}, fault.New(fault.InvalidService, name+" is another name of "+shown(u.Name)+", which is not a service.")
	}
	s := i.describe(ctx, u, logLines, logRunes)
	if name != u.Name {
		s.RequestedName = name
	}
	i.measure(ctx, u, &s)
	return Status{Services: []Service{s}, Total: 1, Unavailable: i.gaps}, nil
}

// unwell describes the services that are not well.
func (i *inspection) unwell(ctx context.Context) (Status, error) {
	rows, unseen, err := i.manager.Suspects(ctx)
	if err != nil {
		return Status{}, unavailable(i.kind, err)
	}
	looked := min(len(rows), maxSuspects)
	for _, row := range rows[looked:] {
		unseen += len(row)
	}
	var found []unwellRow
	for _, row := range rows[:looked] {
		if u, ok := i.firstUnwell(ctx, row); ok {
			found = append(found, unwellRow{u, len(row)})
		} else {
			unseen += max(0, len(row)-maxInstances)
		}
	}
	if unseen > 0 {
		i.gaps.Note("services", humanize.Count(unseen, "more service", "more services")+" may not be well and were not looked at")
	}
	slices.SortStableFunc(found, func(a, b unwellRow) int { return b.unit.Since.Compare(a.unit.Since) })
	s := Status{Services: []Service{}, Total: len(found)}
	for _, row := range found[:min(len(found), i.rows())] {
		one := i.describe(ctx, row.unit, listedLines, listedRunes)
		if row.instances > 1 {
			one.Instances = row.instances
			one.Summary += fmt.Sprintf(" It is one of %d instances of its template that may not be well.", row.instances)
		}
		s.Services = append(s.Services, one)
	}
	s.Truncated, s.Unavailable = len(s.Services) < s.Total, i.gaps
	return s, nil
}

// An unwellRow is a service that is not well, and how many instances of its template it stands for.
type unwellRow struct {
	unit      Unit
	instances int
}

// firstUnwell finds the service that stands for a row.
func (i *inspection) firstUnwell(ctx context.Context, row []string) (Unit, bool) {
	for _, name := range row[:min(len(row), maxInstances)] {
		u, err := i.manager.Unit(ctx, name)
		if err != nil {
			i.gaps.Add("services."+shown(name), err)
		} else if !u.Missing && u.Service && !i.well(u) {
			return u, true
		}
	}
	return Unit{}, false
}

func (i *inspection) rows() int {
	switch {
	case i.asked.Rows < 0:
		return maxListed
	case i.asked.Rows == 0:
		return maxSuspects
	}
	return i.asked.Rows
}

// well says that nothing is wrong with a service. One that is off and is not meant to run is well.
func (i *inspection) well(u Unit) bool {
	switch {
	case u.Active == "failed" || u.Unmet || waitsToRestart(u) && u.Result != "success":
		return false
	case u.Active == "inactive":
		return u.Dormant != nil || u.Unusable != nil || u.Type == "oneshot"
	case i.oftenRestarted(u):
		return false
	}
	return true
}

// oftenRestarted says that a service which runs has died several times, the last time lately.
func (i *inspection) oftenRestarted(u Unit) bool {
	last := u.lastStart()
	return u.Restarts >= restartsOften && !last.IsZero() && i.asked.Now.Sub(last) < recently
}

// lastStart is when a service that runs was last started; zero where that is not known.
func (u Unit) lastStart() time.Time {
	if u.Started.IsZero() {
		return u.Since
	}
	return u.Started
}

// describe tells what is known of a service. What could not be read is added to the gaps.
func (i *inspection) describe(ctx context.Context, u Unit, lines, runes int) Service {
	s := Service{
		Name: shown(u.Name), Description: sanitize.Text(u.Description, 120), Well: i.well(u), State: i.kind.state(u, u.Restarts),
		Since: stamp(u.Since), Runs: u.Runs, Enabled: shown(u.Enabled), UnitFile: sanitize.Text(u.File, 200), ReloadNeeded: sanitize.Text(strings.TrimSpace(u.Stale), 200),
		ExitMeaning: i.kind.meaning(u), RestartedBy: i.restartedBy(u),
	}
	if u.Restarts > 0 {
		first, err := i.manager.FirstRestart(ctx, u.Name)
		i.gaps.Add("first_restart", err)
		s.FirstRestart = stamp(first)
	}
	if !s.Well || u.Active == "inactive" {
		s.FailedNeeds = i.failedNeeds(ctx, u)
	}
	s.Log = i.log(ctx, u, lines, runes)
	if !s.Well {
		s.PortsTakenBy = i.takenPorts(ctx, s.Log)
	}
	s.Summary = i.summary(u, s)
	return s
}

// restartedBy says what starts a service again.
func (i *inspection) restartedBy(u Unit) []string {
	list := []string{}
	for _, sentence := range u.RestartedBy[:min(len(u.RestartedBy), 5)] {
		list = append(list, sanitize.Text(sentence, 200))
	}
	if i.givenUp(u) && i.kind.Commands.ResetFailed != "" {
		list = append([]string{"Not " + i.kind.Name + ", which has given it up, until: " + i.kind.Commands.ResetFailed + " " + u.Name}, list...)
	}
	return list
}

// givenUp says that the manager does not start a service again although it would after a failure.
func (i *inspection) givenUp(u Unit) bool {
	return u.Active == "failed" && (u.Result == "start-limit-hit" || u.ComesBack && u.Restarts > 0)
}

// log reads the last lines of a service; nil where they cannot be read.
func (i *inspection) log(ctx context.Context, u Unit, lines, runes int) []ShownLine {
	ctx, cancel := context.WithTimeout(ctx, logLimit)
	defer cancel()
	found, err := i.manager.Log(ctx, u, time.Time{}, lines)
	if err != nil {
		i.gaps.Add("log", err)
		return nil
	}
	return shownLines(found, lines, runes)
}

// shownLines makes the last lines safe to show.
func shownLines(found []LogLine, lines, runes int) []ShownLine {
	list := []ShownLine{}
	for _, line := range found[max(0, len(found)-lines):] {
		if text := strings.TrimSpace(sanitize.Line(line.Text, runes)); text != "" {
			list = append(list, ShownLine{stamp(line.At), text, line.Foreign})
		}
	}
	return list
}

// measure adds what a service that runs uses, and its ports.
func (i *inspection) measure(ctx context.Context, u Unit, s *Service) {
	if u.MainPID == 0 && u.Group == "" {
		return
	}
	before, err := i.manager.Use(ctx, u)
	if err != nil {
		i.gaps.Add("resources", err)
		return
	}
	began := time.Now()
	s.Resources = resources(before)
	s.Since = cmp.Or(s.Since, stamp(before.Started))
	s.Ports = i.ownPorts(ctx, before.PIDs)
	if before.CPU == nil || sampling.Wait(ctx) != nil {
		return
	}
	after, err := i.manager.Use(ctx, u)
	if err != nil || after.CPU == nil || *after.CPU < *before.CPU {
		return // it has ended, or was started again
	}
	percent := round1(100 * float64(*after.CPU-*before.CPU) / float64(time.Since(began)))
	s.Resources.CPUPercent = &percent
}

func resources(u Use) *Resources {
	r := &Resources{
		Processes: len(u.PIDs), MemoryBytes: u.Memory, MemoryLimitBytes: u.MemoryLimit, CPULimitPercent: round1(100 * u.CPULimit),
		Tasks: u.Tasks, TasksLimit: u.TasksLimit, CPUSeconds: inSeconds(u.CPU),
	}
	if u.CPULimit > 0 {
		r.ThrottledSeconds = inSeconds(u.Throttled)
	}
	return r
}

func inSeconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	seconds := round1(d.Seconds())
	return &seconds
}

func round1(x float64) float64 { return float64(int64(x*10+0.5)) / 10 }

// stamp is a moment as answers have it; "" where it is not known.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
