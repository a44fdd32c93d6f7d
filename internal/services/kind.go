// SPDX-License-Identifier: Apache-2.0

package services

import "time"

// A Kind describes a service manager: how it names services, which of them must
// be left alone, and how a person talks to it. The platform fills it in.
type Kind struct {
	Name     string // in a sentence
	Vanished string // what is said, after its name, of a service that is not there any more

	// CheckName completes and checks what somebody typed. What it returns is safe to
	// hand to another program.
	CheckName func(typed string) (string, error)
	// BareName is the part of a name that patterns are compared with.
	BareName func(name string) string
	// ShortForms are what somebody may type for a name; none for what is not suggested.
	ShortForms func(name string) []string

	Rules   []Rule         // the first that matches decides
	Signals map[int]string // the names of signals, whatever this was built for
	// Exits are what the exit statuses of the manager itself mean, which it ends a service with that it
	// could not start.
	Exits map[int]string
	// CrashGrace is how long a service that died once may take to stay up.
	CrashGrace time.Duration
	Shutdown   Shutdown
	// Essential are the units that every service needs: to stop one is to stop all.
	Essential []string
	// AlwaysStarted has been started on any system that is up.
	AlwaysStarted string
	// Starters are the suffixes of units whose start may start others.
	Starters []string

	Commands Commands
}

// A Rule protects the services whose bare name matches a pattern of path.Match.
type Rule struct {
	Pattern string
	Why     string // ends "NAME is protected: ..."
	Lifts   bool   // by force
}

// Liftable returns the rules with one reason that force lifts.
func Liftable(why string, patterns ...string) []Rule { return rulesOf(why, true, patterns) }

// Final returns the rules with one reason that nothing lifts.
func Final(why string, patterns ...string) []Rule { return rulesOf(why, false, patterns) }

func rulesOf(why string, lifts bool, patterns []string) []Rule {
	rules := make([]Rule, len(patterns))
	for i, p := range patterns {
		rules[i] = Rule{p, why, lifts}
	}
	return rules
}

// Shutdown is what ends the system, puts it to sleep or leaves little of it
// running, in patterns of path.Match.
type Shutdown struct {
	Units    []string // whose start does
	Programs []string // of the service manager, which do with one of the verbs or units
	Verbs    []string
}

// Commands are what a person runs to look further. Those below the line are
// followed by the name of a service.
type Commands struct {
	Alive  string // whether the manager answers
	Loaded string // lists what there is
	All    string // and what is not loaded besides
	Queue  string

	Status      string
	Verify      string
	ResetFailed string // lets a service start again that has failed too often; empty where none is needed
}

// rule returns the rule that protects a service, or nil.
func (k *Kind) rule(name string) *Rule {
	bare := k.BareName(name)
	for i := range k.Rules {
		if matches(k.Rules[i].Pattern, bare) {
			return &k.Rules[i]
		}
	}
	return nil
}

// Protection says why a service is protected, and whether force lifts that; why
// is empty for one that is not.
func (k *Kind) Protection(name string) (why string, lifts bool) {
	if r := k.rule(name); r != nil {
		return r.Why, r.Lifts
	}
	return "", true
}
