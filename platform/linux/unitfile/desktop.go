// SPDX-License-Identifier: Apache-2.0

package unitfile

import (
	"slices"
	"strings"
)

// BusService is the section of a file of a service of the bus.
const BusService = "D-BUS Service"

// desktopEscapes are those of values of desktop entries, which come before the quotes of a command.
var desktopEscapes = strings.NewReplacer(`\\`, `\`, `\s`, " ", `\t`, "\t", `\r`, "\r")

// DesktopSettings calls use for the settings of a section of a desktop entry, or of a service of the bus, as each reader
// has them: for systemd a backslash joins the next line, and for GLib and the bus it does not.
func DesktopSettings(text, section string, use func(key, value string)) {
	texts := []string{text, strings.ReplaceAll(text, "\\\n", "\n")}
	for _, text := range slices.Compact(texts) {
		Settings(text, func(in, key, value string) {
			if in == section {
				use(key, desktopEscapes.Replace(value))
			}
		})
	}
}
