// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"slices"
	"strconv"
	"strings"
)

// shownOptions say from where and to where a key leads. The values of others may hold secrets.
var shownOptions = []string{"from", "permitopen", "permitlisten", "expiry-time", "principals", "tunnel"}

// Command returns the command that a login with the key runs, "" for none, and the options as they
// may be shown: the values of some, of the others the names.
func (k Key) Command() (command string, options []string) {
	for _, o := range splitOptions(k.Options) {
		switch {
		case o.name == "command" && command == "":
			command = o.value
			options = append(options, o.name)
		case slices.Contains(shownOptions, o.name):
			options = append(options, o.name+"="+whole(o.value))
		default:
			options = append(options, o.name)
		}
	}
	return command, options
}

// whole quotes a value with a blank, behind which another option could seem to begin.
func whole(value string) string {
	if strings.ContainsAny(value, " \t\"") {
		return strconv.Quote(value)
	}
	return value
}

// An option restricts what a key may do, or names what is run for it.
type option struct{ name, value string }

// splitOptions splits options at the commas outside of quotes.
func splitOptions(text string) []option {
	var list []option
	quoted, begin := false, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case i < len(text) && text[i] == '"':
			quoted = !quoted
		case i == len(text) || !quoted && text[i] == ',':
			name, value, _ := strings.Cut(text[begin:i], "=")
			value = strings.TrimSuffix(strings.TrimPrefix(value, `"`), `"`)
			if name != "" {
				list = append(list, option{strings.ToLower(name), strings.ReplaceAll(value, `\"`, `"`)})
			}
			begin = i + 1
		}
	}
	return list
}
