// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

// A sysctl is a rule about settings of the running kernel, which are files below
// /proc/sys. What is in force counts, not what a file in /etc asks for.
type sysctl struct {
	// keys are paths below /proc/sys. Those that the kernel does not have are passed
	// over; without any the check does not apply. A "*" stands for every interface.
	keys []string
	good func(value int) bool
	// bad is the verdict for a value that is not good.
	bad audit.Status
	// set is the setting to make, for sysctl.d(5).
	set string
}

// maxInterfaces bounds what a "*" stands for.
const maxInterfaces = 512

func equalTo(want int) func(int) bool  { return func(v int) bool { return v == want } }
func atLeast(least int) func(int) bool { return func(v int) bool { return v >= least } }

// sysrqSafe knows the bits of Documentation/admin-guide/sysrq.rst.
func sysrqSafe(v int) bool { return v != 1 && v&(8|64) == 0 }

// A setting is a key and its value.
type setting struct {
	key   string
	value int
}

// String returns the setting as sysctl(8) prints it.
func (s setting) String() string {
	return strings.ReplaceAll(s.key, "/", ".") + " = " + strconv.Itoa(s.value)
}

func (s sysctl) run(_ context.Context, m *machine) audit.Finding {
	settings, err := m.settings(s.keys...)
	if err != nil {
		return audit.Unread("/proc/sys", err)
	}
	if len(settings) == 0 {
		return audit.NotApplicable("this kernel has no such setting")
	}
	return s.judge(m, settings)
}

func (s sysctl) judge(m *machine, settings []setting) audit.Finding {
	var all, wrong []string
	for _, one := range settings {
		all = append(all, one.String())
		if !s.good(one.value) {
			wrong = append(wrong, one.String())
		}
	}
	if len(wrong) == 0 {
		return audit.Passed(strings.Join(all[:min(len(all), 3)], ", "))
	}
	return audit.Finding{Status: s.bad, Value: strings.Join(wrong[:min(len(wrong), 3)], ", "), Evidence: sysctlEvidence(wrong), Fix: m.sysctlFix(s.set)}
}

func sysctlEvidence(settings []string) []string {
	var lines []string
	for _, s := range settings {
		lines = append(lines, "sysctl: "+s)
	}
	return lines
}

// sysctlFix is the fix that makes a setting. Only those of the network are a container's own; the
// others are read-only there.
func (m *machine) sysctlFix(setting string) string {
	fix := "rite " + setting + " into /etc/sysctl.d/60-hardening.conf, then run: sudo sysctl --system"
	if !strings.HasPrefix(setting, "net.") && m.foreignKernel() {
		return "This container cannot change it. On its host, w" + fix
	}
	return "W" + fix
}

// settings reads the keys that this kernel has.
func (m *machine) settings(keys ...string) ([]setting, error) {
	if !m.exists("/proc/sys/kernel") {
		return nil, errors.New("is not mounted here")
	}
	var list []setting
	for _, key := range keys {
		expanded, err := m.expand(key)
		if err != nil {
			return nil, err
		}
		for _, k := range expanded {
			value, err := m.setting(k)
			if hostfile.Missing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, setting{k, value})
		}
	}
	return list, nil
}

// expand replaces a "*" by each interface but loopback, which nobody outside can
// reach.
func (m *machine) expand(key string) ([]string, error) {
	before, after, wild := strings.Cut(key, "*")
	if !wild {
		return []string{key}, nil
	}
	names, err := m.names(path.Join("/proc/sys", before), maxInterfaces)
	if hostfile.Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, name := range names {
		if !slices.Contains([]string{"all", "default", "lo"}, name) {
			keys = append(keys, before+name+after)
		}
	}
	return keys, nil
}

func (m *machine) setting(key string) (int, error) {
	text, err := m.text("/proc/sys/" + key)
	if err != nil {
		return 0, err
	}
	return parseSetting(text)
}

var errSetting = errors.New("a setting is not a number")

// parseSetting returns the value of a setting.
func parseSetting(text string) (int, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errSetting
	}
	return int(v), nil
}
