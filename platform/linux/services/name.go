// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/services"
)

const (
	suffix  = ".service"
	maxName = 255 // UNIT_NAME_MAX of systemd
)

// otherKinds are the suffixes of units that are not services (systemd.unit(5)). Targets and scopes
// stand for the system and for user sessions, so a request for one is refused instead of taken for
// a typing error.
var otherKinds = []string{".socket", ".device", ".mount", ".automount", ".swap", ".path", ".timer", ".slice", ".scope", ".target"}

// unitName completes and checks the name of a service: nginx is nginx.service. The result is safe
// to pass to another program as the value of an option.
func unitName(asked string) (string, error) {
	if err := checkKind(asked); err != nil {
		return "", err
	}
	name := strings.TrimSuffix(asked, suffix)
	switch {
	case name == "":
		return "", invalid(asked, "it is empty")
	case len(name)+len(suffix) > maxName:
		return "", invalid(asked, "it is longer than "+strconv.Itoa(maxName)+" characters")
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "@"):
		return "", invalid(asked, "it begins with "+strconv.Quote(name[:1]))
	case strings.ContainsFunc(name, disallowed):
		return "", invalid(asked, `only letters, digits and : - _ . @ \ are allowed`)
	case strings.Contains(name+".", suffix+"."):
		return "", invalid(asked, "it goes on after "+suffix)
	case strings.Index(name, "@") == len(name)-1:
		return "", fault.New(fault.InvalidService, asked+" is a template, from which services are made.").
			WithFix("Name one of its services, such as " + name + "NAME" + suffix + "; list them with: systemctl list-units '" + name + "*'")
	}
	return name + suffix, nil
}

func checkKind(asked string) error {
	for _, kind := range otherKinds {
		if !strings.HasSuffix(asked, kind) {
			continue
		}
		if kind == ".target" || strings.HasPrefix(asked, "session") {
			return services.Refusal(shown(asked), "it is not a service but a state of the system or a session of a person", false)
		}
		return invalid(asked, "it is not a service but a "+kind[1:])
	}
	return nil
}

// disallowed reports whether systemd rejects r in the name of a unit (VALID_CHARS of
// src/basic/unit-name.c).
func disallowed(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune(`:-_.@\`, r)
}

func invalid(asked, why string) error {
	return fault.New(fault.InvalidService, strconv.Quote(shown(asked))+" is not the name of a service: "+why+".")
}

func shown(name string) string { return sanitize.Text(name, 80) }
