// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxHosts bounds a list of hosts: each tool names them all to a model.
const MaxHosts = 64

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	maxName = 255 // letters of a host name (RFC 1035) and some of a user
)

// CheckName returns why a name is none that ssh may be given: an alias of its configuration, a host
// name or an address, perhaps with a user before it. Nothing in it is an option, and nothing has a
// meaning to a shell, which runs the ProxyCommand of a configuration with the name in it.
func CheckName(name string) error {
	user, host, both := strings.Cut(name, "@")
	if !both {
		user, host = "", name
	}
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("a name has 1 to %d letters", maxName)
	case both && !plain(user, "._-+"):
		return fmt.Errorf("%q is no name of a user", shown(user))
	case !plain(host, ".:_-"):
		return fmt.Errorf("%q is neither an alias of ssh, nor a host name, nor an address", shown(host))
	default:
		return nil
	}
}

// plain reports whether a text begins with a letter, a digit or, as an IPv6 address, a colon, and
// has nothing else in it but these and more.
func plain(text, more string) bool {
	other := func(r rune) bool { return !strings.ContainsRune(letters+more, r) }
	return text != "" && strings.ContainsRune(letters+":", rune(text[0])) && !strings.ContainsFunc(text, other)
}

func shown(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// CheckNames checks a list of hosts.
func CheckNames(names []string) error {
	if len(names) > MaxHosts {
		return fmt.Errorf("there are %d hosts; at most %d can be named", len(names), MaxHosts)
	}
	for i, name := range names {
		if err := CheckName(name); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return errors.New("the host " + name + " is there twice")
		}
	}
	return nil
}
