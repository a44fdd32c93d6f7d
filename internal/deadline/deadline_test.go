// SPDX-License-Identifier: Apache-2.0

package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What a caller recovers from stays the caller's, as what a read of a hostile file breaks off.
func TestAPanicInTimeIsTheCallers(t *testing.T) {
	var recovered any
	func() {
		defer func() { recovered = recover() }()
		Call(t.Context(), time.Minute, func(context.Context) (int, error) { panic("broken") })
	}()
	if recovered != "broken" {
		t.Errorf("recovered %v", recovered)
	}
}

func TestALateResultAndALatePanicAreDropped(t *testing.T) {
	for what, end := range map[string]func() (int, error){
		"result": func() (int, error) { return 7, nil },
		"panic":  func() (int, error) { panic("late") },
	} {
		synctest.Test(t, func(t *testing.T) {
			n, err := Call(t.Context(), time.Second, func(context.Context) (int, error) {
				<-time.After(2 * time.Second)
				return end()
			})
			if n != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %d, %v", what, n, err)
			}
			<-time.After(2 * time.Second)
		})
	}
}
