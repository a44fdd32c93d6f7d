// SPDX-License-Identifier: Apache-2.0

package services

import "fmt"

// how describes how the last main process ended.
func (k *Kind) how(u Unit) string {
	s := k.state(u, 0)
	switch {
	case s.Signal != "":
		return " (" + s.Signal + ")"
	case s.ExitStatus != nil:
		return fmt.Sprintf(" (exit status %d)", *s.ExitStatus)
	}
	return ""
}

// state is what an answer shows of a unit.
func (k *Kind) state(u Unit, restarts int) State {
	s := State{Active: shown(u.Active), Sub: shown(u.Sub), MainPID: u.MainPID, Restarts: restarts}
	if u.Result != "success" {
		s.Result = shown(u.Result)
	}
	if u.MainPID > 0 {
		return s
	}
	switch u.ExitCode {
	case 1:
		s.ExitStatus = &u.ExitStatus
	case 2, 3:
		s.Signal = k.signalName(u.ExitStatus)
	}
	return s
}

// signalName names a signal, or gives its number.
func (k *Kind) signalName(n int) string {
	if name := k.Signals[n]; name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}
