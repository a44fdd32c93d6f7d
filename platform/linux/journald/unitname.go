// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// kinds are the suffixes of units (systemd.unit(5)). All of them may write, or be written about.
var kinds = []string{".service", ".socket", ".device", ".mount", ".automount", ".swap", ".path", ".timer", ".slice", ".scope", ".target"}

const maxUnitName = 255 // UNIT_NAME_MAX of systemd

// UnitName completes and checks the name of a unit: nginx is nginx.service. The result is safe to pass
// to another program as the value of an option, and is no pattern. The error is INVALID_SERVICE.
func UnitName(typed string) (string, error) {
	name := typed
	if !slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasSuffix(name, kind) }) {
		name += kinds[0]
	}
	bare := strings.TrimSuffix(name, name[strings.LastIndexByte(name, '.'):])
	why := ""
	switch {
	case bare == "":
		why = "it is empty"
	case len(name) > maxUnitName:
		why = "it is too long"
	case strings.HasPrefix(bare, "-") && bare != "-" || strings.HasPrefix(bare, ".") || strings.HasPrefix(bare, "@"):
		why = "it begins with " + bare[:1]
	case strings.ContainsFunc(name, notOfUnit):
		why = `only letters, digits and : - _ . @ \ are allowed, and no pattern or path`
	case strings.HasSuffix(bare, "@"):
		why = "it is a template, from which services are made: name one of them"
	default:
		return name, nil
	}
	return "", fault.New(fault.InvalidService, `"`+sanitize.Text(typed, 80)+`" is not the name of a service: `+why+".")
}

// notOfUnit reports whether systemd rejects r in the name of a unit (VALID_CHARS of
// src/basic/unit-name.c).
func notOfUnit(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune(`:-_.@\`, r)
}
