// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/humanize"
)

func TestMemoReadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memo[string]
		var reads atomic.Int32
		var asked sync.WaitGroup
		release := make(chan struct{})
		for range 8 {
			asked.Go(func() {
				got, err := m.Get(func() (string, error) {
					reads.Add(1)
					<-release
					return "value", context.Canceled
				})
				if got != "value" || !errors.Is(err, context.Canceled) {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		asked.Wait()
		if reads.Load() != 1 {
			t.Errorf("%d reads", reads.Load())
		}
	})
}

// Data that could not be read to its end must not look like an empty result.
func TestMemoOfWhatPanickedIsAnError(t *testing.T) {
	var m Memo[[]string]
	func() {
		defer func() { _ = recover() }()
		_, _ = m.Get(func() ([]string, error) { panic("index out of range") })
	}()
	if got, err := m.Get(func() ([]string, error) { return []string{"again"}, nil }); err == nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestBindKeepsTheOrderAndTheMachine(t *testing.T) {
	check := func(id string, limit time.Duration) CheckOf[string] {
		return CheckOf[string]{About: About{ID: id}, Limit: limit, Run: func(_ context.Context, m string) Finding { return Passed(id + " of " + m) }}
	}
	checks := Bind("mini", []func() []CheckOf[string]{
		func() []CheckOf[string] { return []CheckOf[string]{check("b.one", 0), check("b.two", time.Minute)} },
		func() []CheckOf[string] { return []CheckOf[string]{check("a.one", 0)} },
	})
	var got []string
	for _, c := range checks {
		got = append(got, c.ID+" "+c.Limit.String()+" "+c.Run(t.Context()).Value)
	}
	if want := []string{"b.one 0s b.one of mini", "b.two 1m0s b.two of mini", "a.one 0s a.one of mini"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWordsOfEvidence(t *testing.T) {
	for got, want := range map[string]string{
		At("/etc/sudoers", 3, "x"):         "/etc/sudoers:3: x",
		At("/etc/sudoers", 0, "x"):         "/etc/sudoers: x",
		humanize.Count(1, "file", "files"): "1 file",
		humanize.Count(0, "file", "files"): "0 files",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
