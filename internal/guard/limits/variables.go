// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/guard/policy"
)

// The variables of the first gateway. They come from the configuration of a client, so from the
// user: what they set holds besides the limits of the files, and loosens none.
const (
	BreakerVariable = "MCP_CIRCUIT_BREAKER" // which was a quota of calls
	CallsVariable   = "MCP_MAX_CALLS_PER_TOOL"
	WindowVariable  = "MCP_CALL_WINDOW_SECONDS"
	AskingVariables = "MCP_HITL_" // about asking a person
)

// What the first gateway did where a variable was not set; the window is in seconds.
const (
	DefaultCalls  = 100
	DefaultWindow = 60
)

// Bounds of what they may say.
const (
	maxCalls  = 1_000_000
	maxWindow = 86_400
)

// FromEnvironment returns what the variables in an environment, as [os.Environ] has it, let each
// tool be called, and the names of those that are not used.
func FromEnvironment(environment []string) (perTool Quota, unused []string, err error) {
	set := map[string]string{}
	for _, e := range environment {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case strings.HasPrefix(name, AskingVariables):
			unused = append(unused, name)
		case strings.HasPrefix(name, "MCP_"):
			set[name] = value
		}
	}
	slices.Sort(unused)
	if file, ok := set[policy.Variable]; ok && file == "" {
		return Quota{}, nil, fmt.Errorf("%s is empty; name a file of rules, or leave it out", policy.Variable)
	}
	perTool, err = quota(set)
	return perTool, unused, err
}

// quota returns the quota that was asked for by any of the variables.
func quota(set map[string]string) (Quota, error) {
	on, asked := true, false
	if text, ok := set[BreakerVariable]; ok {
		var err error
		if on, err = strconv.ParseBool(strings.ToLower(text)); err != nil {
			return Quota{}, fmt.Errorf("%s is %q; it may be true or false", BreakerVariable, shorten(text))
		}
		asked = on
	}
	calls, callsSet, err := number(set, CallsVariable, DefaultCalls, maxCalls)
	if err != nil {
		return Quota{}, err
	}
	window, windowSet, err := number(set, WindowVariable, DefaultWindow, maxWindow)
	if err != nil || !on || !asked && !callsSet && !windowSet {
		return Quota{}, err
	}
	return Quota{calls, time.Duration(window) * time.Second}, nil
}

func number(set map[string]string, name string, otherwise, most int) (n int, ok bool, err error) {
	text, ok := set[name]
	if !ok {
		return otherwise, false, nil
	}
	n, err = strconv.Atoi(text)
	if err != nil || n < 1 || n > most || strconv.Itoa(n) != text {
		return 0, true, fmt.Errorf("%s is %q; it must be a whole number from 1 to %d", name, shorten(text), most)
	}
	return n, true, nil
}

func shorten(text string) string { return text[:min(len(text), 40)] }
