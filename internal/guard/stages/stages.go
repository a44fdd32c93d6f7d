// SPDX-License-Identifier: Apache-2.0

// Package stages has the stages of the guard's pipeline.
package stages

import (
	"sentinel/internal/guard/limits"
	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
)

// Settings are what stages judge by besides the message.
type Settings struct {
	Server string       // what the user calls the server
	Rules  *policy.Live // nil: there are none
	// PerTool is what each tool may be called besides the limits of the rules.
	PerTool limits.Quota
}

// All returns the stages in the order in which they judge. One more is a file with the function
// that makes it, and its line here.
func All(settings Settings) []stage.Stage {
	return []stage.Stage{
		envelope(),
		rules(settings),
		bounded(settings),
	}
}
