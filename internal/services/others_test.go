// SPDX-License-Identifier: Apache-2.0

package services

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sentinel/internal/fault"
)

// shopping is a machine where a restart of nginx restarts, stops and starts others.
func shopping(others ...Unit) *fake {
	off := func(name string) Unit {
		return with(running(name), func(u *Unit) { u.Active, u.Sub = "inactive", "dead" })
	}
	nginx := with(running("nginx.service"), func(u *Unit) {
		u.Starts, u.OnFailure, u.Carries = []string{"fresh.service", "gone.service", "masked.service"}, []string{"alarm.service"}, []string{"shop.service"}
	})
	fresh := with(off("fresh.service"), func(u *Unit) { u.Stops = []string{"legacy.service"} })
	alarm := with(off("alarm.service"), func(u *Unit) { u.Stops = []string{"quiet.service"}; u.Starts = []string{"siren.service"} })
	masked := with(off("masked.service"), func(u *Unit) { u.Unusable = errors.New("it is masked") })
	f := machine(nginx, fresh, running("legacy.service"), alarm, off("siren.service"), masked, running("quiet.service"),
		with(running("shop.service"), func(u *Unit) { u.Carries = []string{"till.service", "closed.service"} }), running("till.service"), off("closed.service"))
	for _, u := range others {
		f.units[u.Name] = u
	}
	f.job = "done"
	return f
}

func TestARestartNamesWhatGoesWithIt(t *testing.T) {
	r, err := PlanRestart(t.Context(), shopping(), Options{Name: "nginx"})
	if err != nil {
		t.Fatal(err)
	}
	const want = " It also restarts shop.service, till.service; stops legacy.service; may start fresh.service."
	if !strings.HasSuffix(r.Summary(), "would be restarted."+want) || r.Others().AlsoTotal != 4 {
		t.Errorf("%q, %+v", r.Summary(), r.Others())
	}
	bound := []any{[]string{"shop.service", "till.service"}, []string{"legacy.service"}, []string{"fresh.service"}}
	if got := r.Others().Bound(); !reflect.DeepEqual(got, bound) {
		t.Errorf("%v", got)
	}
}

func TestWhatAFailureStartsToo(t *testing.T) {
	f := shopping()
	f.units["nginx.service"] = with(f.units["nginx.service"], func(u *Unit) {
		u.OnFailure, u.Starts = []string{"alarm.service", "fresh.service"}, []string{"middle.service"}
	})
	f.units["middle.service"] = with(f.units["siren.service"], func(u *Unit) { u.Name, u.Starts = "middle.service", []string{"fresh.service"} })
	r, err := PlanRestart(t.Context(), f, Options{Name: "nginx"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Others().AlsoStarts, []string{"fresh.service", "middle.service"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestAFailureSaysWhatWasNotSeenAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := shopping()
		f.job = "failed"
		f.life = []moment{{0, now("failed", "failed", exited(3))}}
		r, err := PlanRestart(t.Context(), f, Options{Name: "nginx"})
		if err != nil {
			t.Fatal(err)
		}
		f.silent = "till.service"
		if done, err := r.Do(t.Context()); code(err) != fault.RestartFailed || !strings.Contains(done.Message, " Not seen now: till.service: it does not answer.") {
			t.Errorf("%v, %+v", err, done)
		}
	})
}

func TestWhatWentWithARestartIsLookedAtAgain(t *testing.T) {
	failed := with(running("till.service"), func(u *Unit) { u.Active, u.Sub, u.Result = "failed", "failed", "exit-code" })
	waits := with(failed, func(u *Unit) { u.Job = "start" }) // for another to start
	for _, now := range []Unit{running("till.service"), waits, failed} {
		dead := now.Active == "failed" && now.Job == ""
		synctest.Test(t, func(t *testing.T) {
			f := shopping()
			r, err := PlanRestart(t.Context(), f, Options{Name: "nginx"})
			if err != nil {
				t.Fatal(err)
			}
			f.units["till.service"] = now
			done, err := r.Do(t.Context())
			says := "It also restarts shop.service, till.service; stops legacy.service; may start fresh.service."
			if err != nil || done.AlsoTotal != 4 || !strings.Contains(done.Message, says) || strings.Contains(done.Message, "Not on now: till.service.") != dead || slices.Contains(done.AlsoOff, "till.service") != dead {
				t.Errorf("%v, %+v", err, done)
			}
		})
	}
}

func TestOthersThatCannotBeLookedAtAgainAreNamed(t *testing.T) {
	f := shopping()
	r, err := PlanRestart(t.Context(), f, Options{Name: "nginx"})
	if err != nil {
		t.Fatal(err)
	}
	f.silent = "till.service"
	var done Restarted
	if r.lookAgain(t.Context(), &done); done.Unread == nil || !strings.Contains(done.Unread.Error(), "till.service: it does not answer") || done.AlsoOff != nil {
		t.Errorf("%+v", done)
	}
}

func TestOtherUnitsAreNamedWithinBounds(t *testing.T) {
	var o Others
	for i := range 60 {
		o.add(stops, Unit{Name: fmt.Sprintf("u%02d.service", 59-i)})
	}
	o.add(restarts, Unit{Name: "u00.service"})
	o.settle()
	if want := " It also stops u00.service, u01.service, u02.service, u03.service, u04.service and 55 more."; o.Sentence("It") != want {
		t.Errorf("%q", o.Sentence("It"))
	}
	if len(o.AlsoStops) != maxOthers || o.AlsoStops[19] != "u19.service" || o.AlsoTotal != 60 || len(o.Bound()[1].([]string)) != 60 || o.AlsoRestarts != nil {
		t.Errorf("%+v", o)
	}
	if none := (Others{}); none.Sentence("It") != "" {
		t.Errorf("%q", none.Sentence("It"))
	}
}
