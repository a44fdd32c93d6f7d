// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sentinel/internal/services"
	"sentinel/internal/sysexec"
)

// items is a dump in the form that several people have recorded on macOS 13 to 26.
func items(restore string) string {
	return `========================
 Records for UID -2 : FFFFEEEE-DDDD-CCCC-BBBB-AAAAFFFFFFFE
========================

 Items:

 #1:
                 UUID: 00000000-0000-0000-0000-000000000001
                 Name: Example Ltd
       Developer Name: Example Ltd
                 Type: developer (0x20)
          Disposition: [disabled, disallowed, visible, not notified] (0)
           Identifier: Example Ltd
  Embedded Item Identifiers:
    #1: 16.com.sentinel.restore

 #2:
                 UUID: 00000000-0000-0000-0000-000000000002
                 Name: sentinel
       Developer Name: (null)
                 Type: legacy daemon (0x10010)
                Flags: [  ] (0)
          Disposition: ` + restore + `
           Identifier: 16.com.sentinel.restore
                  URL: file:///Library/LaunchDaemons/com.sentinel.restore.plist
      Executable Path: /usr/local/bin/sentinel
           Generation: 1
`
}

func TestItemsAreReadByRecord(t *testing.T) {
	const off = "[enabled, disallowed, visible, notified] (0x9)"
	for name, c := range map[string]struct {
		dump string
		want bool
	}{
		"switched off":            {items(off), true},
		"without a kind":          {strings.ReplaceAll(items(off), "16.com", "com"), true},
		"allowed":                 {items("[enabled, allowed, visible, notified] (0xb)"), false},
		"allowed for one user":    {items(off) + items("[enabled, allowed, notified] (0xb)"), false},
		"another job":             {strings.ReplaceAll(items(off), "restore", "restorer"), false},
		"nothing":                 {"", false},
		"usage of an older macOS": {"Usage: sfltool resetlist | dumplist\n", false},
		"no disposition":          {items("unknown"), false},
	} {
		if got := itemDisallowed(c.dump, restoreLabel); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestBackgroundItemsThatAreSwitchedOff(t *testing.T) {
	const disallowed = "[enabled, disallowed, visible, notified] (0x9)"
	state := func(label, state string) func(context.Context, string) (string, error) {
		return func(_ context.Context, unit string) (string, error) {
			if unit != label {
				return "inactive", nil
			}
			return state, nil
		}
	}
	for name, c := range map[string]struct {
		state   func(context.Context, string) (string, error)
		asRoot  bool
		dump    sysexec.Result
		status  string // of the background items
		says    string
		fix     string
		restore string // status of the restoring of blocks
	}{
		"all are loaded":         {state("", ""), true, sysexec.Result{}, OK, "switched off", "", OK},
		"nobody tells":           {func(context.Context, string) (string, error) { return "", errors.New("no") }, true, sysexec.Result{}, OK, "switched off", "", OK},
		"in launchd":             {state(restoreLabel, services.SwitchedOff), false, sysexec.Result{}, Warning, "com.sentinel.restore is switched off in launchd", "sudo launchctl enable system/com.sentinel.restore && sudo launchctl bootstrap", Warning},
		"reports, in launchd":    {state(reportLabel, services.SwitchedOff), false, sysexec.Result{}, Warning, "com.sentinel.report is switched off in launchd", "enable system/com.sentinel.report", OK},
		"in System Settings":     {state(restoreLabel, services.NotLoaded), true, sysexec.Result{Stdout: []byte(items(disallowed))}, Warning, "by a user or by device management", "Login Items & Extensions", Warning},
		"only not loaded":        {state(restoreLabel, services.NotLoaded), true, sysexec.Result{Stdout: []byte(items("[enabled, allowed] (0x3)"))}, OK, "", "", Warning},
		"not loaded, as a user":  {state(restoreLabel, services.NotLoaded), false, sysexec.Result{Stdout: []byte(items(disallowed))}, OK, "", "", Warning},
		"macOS 12":               {state(restoreLabel, services.NotLoaded), true, sysexec.Result{Exit: 64, Stdout: []byte("Usage: sfltool\n")}, OK, "", "", Warning},
		"reports are not loaded": {state(reportLabel, services.NotLoaded), true, sysexec.Result{}, OK, "", "", OK},
	} {
		t.Run(name, func(t *testing.T) {
			p := wellMac(t, map[string]string{"Library/LaunchDaemons/com.sentinel.restore.plist": shippedFile(t), "Library/LaunchDaemons/com.sentinel.report.plist": ""})
			m := answers()
			m["/usr/bin/sfltool"] = c.dump
			p.Programs, p.UnitState, p.AsRoot = m, c.state, c.asRoot
			r := Examine(t.Context(), p)
			f, restored := find(t, r, "background_items"), find(t, r, "restore")
			if f.Status != c.status || !strings.Contains(f.Value, c.says) || !strings.Contains(f.Fix, c.fix) || len(f.Fix) > maxFix {
				t.Errorf("%+v", f)
			}
			if restored.Status != c.restore || c.restore == Warning && !strings.Contains(restored.Value, "not loaded") {
				t.Errorf("%+v", restored)
			}
		})
	}
}

func FuzzItems(f *testing.F) {
	f.Add(items("[enabled, disallowed] (0x1)"))
	f.Fuzz(func(t *testing.T, dump string) {
		if itemDisallowed(dump, restoreLabel) && !strings.Contains(dump, "disallowed") {
			t.Errorf("%q", dump)
		}
	})
}
