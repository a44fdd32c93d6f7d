// SPDX-License-Identifier: Apache-2.0

// Package startup tells what starts by itself on a machine: with the system, at a time, at a login,
// or whenever something else happens. It says first what did not do so at the last run, then what no
// package owns, then what was changed since its package was installed.
package startup

import (
	"context"
	"errors"
	"path"
	"time"
)

// A Source finds what starts by itself. It answers with what it can read in bounded time.
type Source interface {
	Startup(ctx context.Context) (Found, error)
}

// Found is what a source found.
type Found struct {
	Entries []Entry
	Unread  []Unread
	// Unseen are files whose programs were not all looked at, so that warnings may lack.
	Unseen []Unread
	// Homes are the directories of users but root, by path without a slash at the end, and whose they are.
	Homes map[string]string
	// Packages is why nothing is known of packages, nil if it is.
	Packages error
	// Compared reports that files were compared with what their packages have.
	Compared bool
}

// homeOf is the user in whose home a place is; "" for one of the system.
func (f Found) homeOf(place string) string {
	for dir := path.Clean(place); dir != path.Dir(dir); dir = path.Dir(dir) {
		if user, known := f.Homes[dir]; known {
			return user
		}
	}
	return ""
}

// An Unread is a file or a directory that may name more entries and was not read.
type Unread struct {
	Path string
	Err  error
}

// An Origin is where a file comes from.
type Origin int

// The origins.
const (
	UnknownOrigin Origin = iota // package data cannot be read
	NoPackage                   // of no package
	Packaged                    // as its package has it, as far as package data tell; on macOS part of the system
	Modified                    // its package has another content
)

// An Entry is one thing that starts by itself. Its texts are as they were found.
type Entry struct {
	Kind Kind
	Name string // by which people know it
	File string // that makes it start
	Line int    // 0 if it is the whole file
	// Identity tells it from other entries of the same file; "" if there are none.
	Identity string
	// Content tells whether it changed: a digest.
	Content string

	User     string // as whom it runs; "" if that is not said
	Owner    string // of the file; "" if unknown
	By       string // the user who chose that it starts, however many IDs that user has; "" is the system
	When     string // what starts it
	Enabled  *bool  // nil if that is not known
	Programs []Program
	Detail   string // what else matters: the options of a key
	Package  string // or publisher; "" is none
	Origin   Origin
	Changed  time.Time // of the file; zero if unknown
	Size     int64     // of the file, in bytes
	Writable bool      // everyone can write the file, or replace it
	Warnings []Warning // that only the source can tell
}

// A Program is a file that an entry runs or loads.
type Program struct {
	Path     string // absolute, or as the entry names it
	Real     string // the same without links; "" for unknown
	Missing  bool
	Writable bool // everyone can write it, or replace it
	Origin   Origin
}

// A Kind says by what something starts.
type Kind string

// The kinds, those that are rare on a machine and reach far first.
const (
	Preload         Kind = "preloaded_library"
	KernelParameter Kind = "kernel_parameter"
	PAMProgram      Kind = "pam_program"
	PAMModule       Kind = "pam_module"
	KernelHandler   Kind = "kernel_handler"
	SudoPlugin      Kind = "sudo_plugin"
	LoginHook       Kind = "login_hook"
	AtJob           Kind = "at_job"
	Timer           Kind = "timer_unit"
	CronJob         Kind = "cron_job"
	Service         Kind = "service_unit"
	Daemon          Kind = "launch_daemon"
	Agent           Kind = "launch_agent"
	BackgroundItem  Kind = "background_item"
	BootScript      Kind = "boot_script"
	ModuleCommand   Kind = "module_command"
	UdevRule        Kind = "udev_rule"
	Socket          Kind = "socket_unit"
	PathUnit        Kind = "path_unit"
	MountUnit       Kind = "mount_unit"
	DropIn          Kind = "unit_drop_in"
	Generator       Kind = "unit_generator"
	UserUnit        Kind = "user_unit"
	InitService     Kind = "init_service"
	CronScript      Kind = "cron_script"
	LoginScript     Kind = "login_script"
	NetworkScript   Kind = "network_script"
	SleepScript     Kind = "sleep_script"
	PackageHook     Kind = "package_hook"
	LogScript       Kind = "log_script"
	MailProgram     Kind = "mail_program"
	FileRule        Kind = "file_rule"
	AuthorizedKey   Kind = "authorized_key"
	Extension       Kind = "extension"
	KernelModule    Kind = "kernel_module"
	LibraryPath     Kind = "library_path"
	Autostart       Kind = "desktop_autostart"
	DBusService     Kind = "dbus_service"
	ShellStart      Kind = "shell_start"
)

// kinds has the order of the kinds.
var kinds = []Kind{
	Preload, KernelParameter, PAMProgram, PAMModule, KernelHandler, SudoPlugin, LoginHook, AtJob, Timer, CronJob, Service, Daemon, Agent, BackgroundItem, BootScript, ModuleCommand,
	UdevRule, Socket, PathUnit, MountUnit, DropIn, Generator, UserUnit, InitService, CronScript, LoginScript, NetworkScript, SleepScript, PackageHook, LogScript,
	MailProgram, FileRule, AuthorizedKey, Extension,
	KernelModule, LibraryPath, Autostart, DBusService, ShellStart,
}

// A Warning is a reason to look at an entry.
type Warning string

// The warnings, worst first.
const (
	ProgramInTmp      Warning = "program_in_tmp"     // in a directory where everyone can put files
	ProgramWritable   Warning = "program_writable"   // by everyone
	FileWritable      Warning = "file_writable"      // by everyone
	ProgramHidden     Warning = "program_hidden"     // in or below a name that begins with a dot
	ForcedCommand     Warning = "forced_command"     // a key whose login runs a command
	UserMissing       Warning = "user_missing"       // it runs as a user who does not exist
	ProgramUnpackaged Warning = "program_unpackaged" // a package owns the file, none owns the program
	ProgramMissing    Warning = "program_missing"
)

// warnings has the order of the warnings.
var warnings = []Warning{ProgramInTmp, ProgramWritable, FileWritable, ProgramHidden, ForcedCommand, UserMissing, ProgramUnpackaged, ProgramMissing}

// MaxEntries bounds what is kept of a machine, and of the last run.
const MaxEntries = 10_000

// ErrTooMany reports more entries than are kept.
var ErrTooMany = errors.New("there are more entries than can be compared")
