// SPDX-License-Identifier: Apache-2.0

package sshdconf

import "sentinel/internal/sysexec"

// A Server is the configuration of an installed server.
type Server struct {
	Files Config
	// Printed is what sshd -T prints: with the defaults that it was built with, without
	// Match blocks. It is nil where sshd could not be asked.
	Printed map[string]Setting
}

// Default stands for the file of a setting that nothing sets.
const Default = "default"

// Printed returns the settings that a run of sshd -T printed, nil when it did not.
// Only root can run it: sshd reads the host keys first.
func Printed(r sysexec.Result, err error) map[string]Setting {
	if err != nil || r.Exit != 0 {
		return nil
	}
	c, err := Effective(r.Stdout)
	if err != nil {
		return nil
	}
	return c.Global
}

// Setting returns what is in force outside of Match blocks, with the place in a
// file if there is one. known is false when a part that could not be read may set it.
func (s Server) Setting(keyword, byDefault string) (setting Setting, known bool) {
	file, inFile := s.Files.Global[keyword]
	printed, isPrinted := s.Printed[keyword]
	switch {
	case isPrinted && inFile:
		file.Value = printed.Value
		return file, true
	case isPrinted:
		return printed, true
	case inFile:
		return file, true
	case s.Printed == nil && s.Files.Hole != nil:
		return Setting{}, false
	default:
		return Setting{Keyword: keyword, Value: byDefault, File: Default}, true
	}
}
