// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func TestTimesAreWholeNumbersOfUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "1m": time.Minute, "60s": time.Minute, "30m": 30 * time.Minute, "24h": 24 * time.Hour, "7d": 7 * day,
		"2w": 14 * day, "1d12h": 36 * time.Hour, "1w1d1h1m1s": 8*day + time.Hour + time.Minute + time.Second,
		"90m": 90 * time.Minute, "010m": 10 * time.Minute, "3650d": 3650 * day, "0h1m": time.Minute,
	} {
		if got, err := ParseTTL(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestOtherTimesAreRefused(t *testing.T) {
	for _, text := range []string{
		"0", "0s", "5", "59s", "m", "h1", "1.5h", "-1h", "+1h", "1H", "1 h", " 1h", "1h ", "1y", "1M", "1h1d", "1m1m", "forever", "3651d", "522w",
		"9999999999s", "999999999w", "99999999999999999999h", "1h\x00", "١h", "1ms", "-j",
	} {
		_, err := ParseTTL(text)
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || e.Code != fault.InvalidArgument || e.Fix == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Ten thousand days are a time, only too long a one.
func TestTooLongATimeIsOutOfRange(t *testing.T) {
	for _, text := range []string{"10000d", "3651d", "18446747674s", "99999999999999999999h", "9999999999999999w9999999999999999d9999999999999999h9999999999999999m9999999999999999s", "59s"} {
		if _, err := ParseTTL(text); err == nil || !strings.HasSuffix(err.Error(), " is out of range.") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseTTL(f *testing.F) {
	for _, seed := range []string{"", "1m", "7d", "1d12h", "9999999999s", "-1h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTTL(text)
		if err == nil && (text == "") != (got == 0) || err == nil && got != 0 && (got < minTTL || got > maxTTL) {
			t.Errorf("%q is %v", text, got)
		}
	})
}
