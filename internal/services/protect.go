// SPDX-License-Identifier: Apache-2.0

package services

import (
	"path"
	"slices"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// final says whether a service may never be restarted.
func (k *Kind) final(name string) bool {
	_, lifts := k.Protection(name)
	return !lifts
}

// shutsDown says whether starting a unit ends the system or most of it.
func (k *Kind) shutsDown(name string) bool { return anyMatches(k.Shutdown.Units, name) }

func anyMatches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if matches(pattern, name) {
			return true
		}
	}
	return false
}

// matches takes what is no valid pattern for a name: it comes from the
// configuration.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil && pattern == name
}

// protectNames says why a unit is protected by its names, and whether force lifts that; why is empty for
// one that is not. It looks at every name, so that an alias protects no less than the real one.
func (k *Kind) protectNames(u Unit, asked string, o Options) (why string, lifts bool) {
	if u.Foreign && !o.Force {
		return "it is a service of another person", true
	}
	for _, name := range append([]string{asked, u.Name}, u.Names...) {
		if r := k.rule(name); r != nil && (!r.Lifts || !o.Force) {
			return r.Why, r.Lifts
		}
		if k.configured(name, o.Protected) && !o.Force {
			return "the configuration of this machine says so", true
		}
	}
	return "", true
}

// configured says whether the configuration protects a name.
func (k *Kind) configured(name string, protected []string) bool {
	return slices.ContainsFunc(protected, func(pattern string) bool { return matches(k.BareName(pattern), k.BareName(name)) })
}

// Refusal says why a service is protected, and what to do about it.
func Refusal(name, why string, lifts bool) *fault.Error {
	e := fault.New(fault.ProtectedService, name+" is protected: "+why+".")
	if lifts {
		return e.WithFix("A person who can reach the machine when the session is cut may restart it with: sudo sentinel --restart-service " + name + " --force")
	}
	return e.WithFix("Leave it alone; nothing lifts this protection.")
}

func shown(text string) string { return sanitize.Text(text, 80) }
