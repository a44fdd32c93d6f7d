// SPDX-License-Identifier: Apache-2.0

package clients

import "path/filepath"

// A User is the person whose clients are configured.
type User struct {
	OS   string              // as runtime.GOOS has it
	Home string              // absolute
	Env  func(string) string // the environment, as os.Getenv reads it
	UID  int                 // effective; what is changed must belong to it
}

// A place is a path below a base, or an absolute one.
type place struct {
	base base
	path string
}

// A base is a directory below a home. A variable names another one, except on
// macOS where it has a place of its own.
type base struct{ usual, variable, mac string }

var (
	home = base{}
	// appData is for programs built on Electron (Electron, app.getPath, appData).
	appData = base{usual: ".config", variable: "XDG_CONFIG_HOME", mac: "Library/Application Support"}
	// Claude Code keeps .claude.json in the home, and all else in .claude,
	// unless a variable names one directory for both.
	claudeHome = base{variable: "CLAUDE_CONFIG_DIR"}
	claudeDir  = base{usual: ".claude", variable: "CLAUDE_CONFIG_DIR"}
	copilotDir = base{usual: ".copilot", variable: "COPILOT_HOME"}
)

func (p place) of(u User) string {
	if filepath.IsAbs(p.path) {
		return p.path
	}
	return filepath.Join(p.base.of(u), p.path)
}

// of returns the directory. A relative path in the variable means nothing to a
// client that is started elsewhere.
func (b base) of(u User) string {
	if u.OS == "darwin" && b.mac != "" {
		return filepath.Join(u.Home, b.mac)
	}
	if dir := u.Env(b.variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(u.Home, b.usual)
}

// MaxFile bounds what is read of a configuration, in bytes. Some clients keep
// their history in it.
const MaxFile = 8 << 20

// HomeFiles lists the files below a home in which clients on an OS keep servers,
// as far as they can be told without the environment of the user.
func HomeFiles(goos string) []string {
	unmoved := User{OS: goos, Env: func(string) string { return "" }}
	var files []string
	for _, c := range list {
		for _, p := range append([]place{c.config}, c.more...) {
			files = append(files, p.of(unmoved))
		}
	}
	return files
}

// Managed lists the absolute paths of files with servers for all users that c reads on an OS.
func (c Client) Managed(goos string) []string { return c.managed[goos] }

// ManagedFiles lists the absolute paths of those for all users.
func ManagedFiles(goos string) []string {
	var files []string
	for _, c := range list {
		files = append(files, c.managed[goos]...)
	}
	return files
}
