// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"slices"
	"strings"
)

// needed are the variables with which programs find their files, speak the language of the user
// and reach the network; upper and lower case do not matter. The official SDKs of MCP give a server
// the first six, and node, npx and uvx want the rest.
var needed = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
	"LANG", "LANGUAGE", "TZ", "PWD", "TMPDIR", "TMP", "TEMP",
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"NVM_DIR", "NVM_BIN", "VOLTA_HOME", "VIRTUAL_ENV", "__CF_USER_TEXT_ENCODING",
}

// neededPrefixes begin the names of variables of the same kinds.
var neededPrefixes = []string{"LC_", "XDG_", "NPM_", "UV_"}

// secretSuffixes end the names of variables that hold a secret, whatever else they are.
var secretSuffixes = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS", "_AUTH"}

// Minimal returns those of variables ("NAME=value") that a server needs, or that are named, and the
// names of the others. What a name says is a secret has to be named.
func Minimal(variables, named []string) (kept, taken []string) {
	kept = []string{} // nil would be all
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case slices.Contains(named, name) || isNeeded(strings.ToUpper(name)):
			kept = append(kept, v)
		case name != "":
			taken = append(taken, name)
		}
	}
	slices.Sort(taken)
	return kept, slices.Compact(taken)
}

func isNeeded(name string) bool {
	if slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
		return false
	}
	return slices.Contains(needed, name) || slices.ContainsFunc(neededPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
