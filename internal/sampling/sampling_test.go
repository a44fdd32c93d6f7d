// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitLastsOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Wait(t.Context()); err != nil || time.Since(start) != Window {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
