// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

// answers makes a source that answers at once.
func answers[T any](value T, err error) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return value, err }
}

// well is a machine of which everything is known.
func well() Sources {
	return Sources{
		CPU: answers(CPUSample{}, nil), Load: answers(Load{1, 2, 3}, nil), Memory: answers(MemoryFacts{Total: 100, Available: 50}, nil),
		Limits: answers(Limits{}, nil), Sensors: answers([]Sensor{{"coretemp", "Package id 0", 50}}, nil),
		Disks:    answers([]DiskFacts{{Mountpoint: "/", Size: 100, Used: 10, Available: 90}}, nil),
		Pressure: answers(map[string]PressureFacts{"cpu": {Some: &Averages{1, 2}}}, nil), Uptime: answers(time.Hour, nil),
		OOMKills: answers(OOMKills{}, nil), FailedUnits: answers([]Unit{}, nil), RebootRequired: answers(false, nil),
	}
}

// facts are the fields of an answer and how to make each one's source do
// something else.
func facts(s *Sources) []struct {
	field string
	set   func(do func(context.Context) error)
} {
	return []struct {
		field string
		set   func(do func(context.Context) error)
	}{
		{"cpu_load", replace(&s.Load)}, {"memory", replace(&s.Memory)}, {"memory.limit", replace(&s.Limits)}, {"pressure", replace(&s.Pressure)},
		{"uptime_seconds", replace(&s.Uptime)}, {"temperature", replace(&s.Sensors)}, {"disks", replace(&s.Disks)}, {"oom_kills", replace(&s.OOMKills)},
		{"failed_units", replace(&s.FailedUnits)}, {"reboot_required", replace(&s.RebootRequired)},
	}
}

func replace[T any](source *func(context.Context) (T, error)) func(func(context.Context) error) {
	return func(do func(context.Context) error) {
		*source = func(ctx context.Context) (T, error) {
			var zero T
			return zero, do(ctx)
		}
	}
}

func known(f Facts) map[string]bool {
	return map[string]bool{
		"cpu_load": f.Load != nil, "memory": f.Memory != nil, "memory.limit": f.Limits != nil, "temperature": f.Sensors != nil, "disks": f.Disks != nil,
		"pressure": f.Pressure != nil, "uptime_seconds": f.Uptime != nil, "oom_kills": f.OOMKills != nil, "failed_units": f.FailedUnits != nil,
		"reboot_required": f.RebootRequired != nil,
	}
}

// oneMissing checks that exactly one fact is absent, with one gap.
func oneMissing(t *testing.T, f Facts, gaps answer.Gaps, field, reason string) {
	t.Helper()
	for name, is := range known(f) {
		if is == (name == field) {
			t.Errorf("without %s, %s is known: %v", field, name, is)
		}
	}
	if diff := cmp.Diff(answer.Gaps{{Field: field, Reason: reason}}, gaps); diff != "" {
		t.Error(diff)
	}
}

func TestAllThatIsKnownLeavesNoGap(t *testing.T) {
	gaps := answer.Gaps{}
	f := Collect(t.Context(), well(), &gaps)
	for name, is := range known(f) {
		if !is {
			t.Errorf("%s is not known", name)
		}
	}
	if len(gaps) != 0 {
		t.Errorf("gaps %v", gaps)
	}
}

func TestSourceThatFailsCostsItsOwnFactOnly(t *testing.T) {
	var every Sources
	for i := range facts(&every) {
		s, gaps := well(), answer.Gaps{}
		fact := facts(&s)[i]
		fact.set(func(context.Context) error { return errors.New("broken") })
		oneMissing(t, Collect(t.Context(), s, &gaps), gaps, fact.field, "broken")
	}
}

// A read that never returns is abandoned after its limit.
func TestSourceThatHangsCostsItsOwnFactOnly(t *testing.T) {
	var every Sources
	for i := range facts(&every) {
		synctest.Test(t, func(t *testing.T) {
			s, gaps := well(), answer.Gaps{}
			mended := make(chan struct{})
			defer close(mended)
			fact := facts(&s)[i]
			fact.set(func(context.Context) error { <-mended; return nil })
			began := time.Now()
			f := Collect(t.Context(), s, &gaps)
			if took := time.Since(began); took != factLimit {
				t.Errorf("%s took %v", fact.field, took)
			}
			oneMissing(t, f, gaps, fact.field, "did not answer in time")
		})
	}
}

// A value that an abandoned source finds later must not appear in an answer that is
// being written.
func TestSourceThatAnswersTooLateIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, gaps := well(), answer.Gaps{}
		s.Load = func(ctx context.Context) (Load, error) {
			<-ctx.Done()
			<-time.After(time.Second)
			return Load{9, 9, 9}, nil
		}
		f := Collect(t.Context(), s, &gaps)
		oneMissing(t, f, gaps, "cpu_load", "did not answer in time")
		<-time.After(time.Minute)
		synctest.Wait()
		if f.Load != nil {
			t.Errorf("load %v", *f.Load)
		}
	})
}

func TestSlowSourcesRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, gaps := well(), answer.Gaps{}
		for _, fact := range facts(&s) {
			fact.set(func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		}
		began := time.Now()
		Collect(t.Context(), s, &gaps)
		if took := time.Since(began); took != factLimit || len(gaps) != 1 || len(gaps[0].Fields()) != len(facts(&s)) {
			t.Errorf("%d gaps after %v", len(gaps), took)
		}
	})
}

func TestGapsAreInOneOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var want []string
		for run := range 5 {
			s, gaps := well(), answer.Gaps{}
			want = nil
			for i, fact := range facts(&s) {
				want = append(want, fact.field)
				delay := time.Duration((i*7+run*3)%11) * time.Millisecond
				fact.set(func(context.Context) error {
					<-time.After(delay)
					return errors.New("broken")
				})
			}
			Collect(t.Context(), s, &gaps)
			var got []string
			for _, g := range gaps {
				got = append(got, g.Fields()...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("run %d: %s", run, diff)
			}
		}
	})
}

func TestCollectEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := make(chan struct{})
		defer close(mended)
		s, gaps := well(), answer.Gaps{}
		for _, fact := range facts(&s) {
			fact.set(func(context.Context) error { <-mended; return fmt.Errorf("too late") })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		Collect(ctx, s, &gaps)
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// A machine on its knees is judged by what was read first; what it was not read in time for is listed.
func TestWhatTheVerdictRestsOnIsReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, gaps := well(), answer.Gaps{}
		stuck := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		begun := 0
		late := func(context.Context) (Reading, error) { begun++; return Reading{}, nil }
		for _, fact := range facts(&s) {
			if slices.Contains([]string{"disks", "oom_kills", "failed_units", "reboot_required"}, fact.field) {
				fact.set(stuck)
			}
		}
		s.Restarting = func(ctx context.Context) ([]RestartingUnit, error) { return nil, stuck(ctx) }
		s.Figures = map[string]Reader{}
		for _, f := range All() {
			if f.Member == NoMember {
				continue
			}
			s.Figures[f.Key] = late
			if len(s.Figures) == 1 { // the last reader waits, too
				s.Figures[f.Key] = func(ctx context.Context) (Reading, error) { return Reading{}, stuck(ctx) }
			}
		}
		f := Collect(t.Context(), s, &gaps)
		for _, field := range []string{"cpu_load", "memory", "memory.limit", "pressure", "uptime_seconds", "temperature"} {
			if !known(f)[field] {
				t.Errorf("%s is not known", field)
			}
		}
		if len(gaps) != 1 || len(gaps[0].Fields()) != 5+len(s.Figures) || begun != 0 {
			t.Errorf("%d figures were read after the time was over; gaps %v", begun, gaps)
		}
		for _, gap := range gaps {
			if gap.Reason != "did not answer in time" {
				t.Errorf("%+v", gap)
			}
		}
	})
}
