// SPDX-License-Identifier: Apache-2.0

package as

// starters start the command in their arguments; readers take one of these, or all of them
// together, for a text of a shell.
var (
	starters = []string{
		"-", "aa-exec", "and", "arch", "builtin", "busybox", "bwrap", "caffeinate", "capsh", "catchsegv", "cgexec", "choom", "chpst", "chroot", "chrt", "command", "cpulimit", "daemonize", "dbus-run-session",
		"doas", "dumb-init", "eatmydata", "entr", "env", "exec", "fakechroot", "fakeroot", "firejail", "flock", "gdb", "gosu", "i386", "ionice", "jobs", "ld.so", "linux32", "linux64", "logsave", "ltrace", "multitime", "newgrp",
		"nice", "nocorrect", "noglob", "nohup", "not", "npx", "nsenter", "numactl", "openvt", "or", "parallel", "perf", "pkexec", "prlimit", "proot", "proxychains", "qemu", "repeat", "rlwrap", "run0", "runcon", "runuser",
		"s6-setuidgid", "sandbox-exec", "screen", "sem", "setarch", "setpriv", "setsid", "setuidgid", "sshpass", "ssh-agent", "start-stop-daemon", "stdbuf", "strace", "su", "su-exec", "sudo", "systemd-inhibit", "systemd-run",
		"taskset", "time", "timeout", "tini", "tmux", "torify", "torsocks", "toybox", "tsocks", "unbuffer", "unshare", "uvx", "valgrind", "watch", "watchexec", "x86_64", "xargs", "xterm", "xvfb-run",
	}
	readers = []string{
		"ash", "bash", "compgen", "complete", "csh", "dash", "env", "eval", "fish", "flock", "hyperfine", "ksh", "mapfile", "mksh", "nix-shell", "parallel", "rbash", "readarray", "runuser", "script", "sem", "sg", "sh", "ssh", "su",
		"tcsh", "tmux", "trap", "watch", "xterm", "yash", "zsh",
	}
)

// A runner starts what stands behind one of these words of its own.
type runner struct {
	behind []string
	next   bool // the very next word begins the command, or is a text for a shell
}

var (
	finds    = runner{[]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, true}
	projects = runner{[]string{"exec", "run", "dlx", "x", "-c", "--command"}, false}
	runners  = map[string]runner{
		"find": finds, "fd": finds, "fdfind": finds, "git": {[]string{"--exec", "foreach", "run"}, true},
		"docker": projects, "podman": projects, "nerdctl": projects, "kubectl": projects, "oc": projects, "ip": projects, "npm": projects, "pnpm": projects, "yarn": projects, "bun": projects,
		"uv": projects, "poetry": projects, "pipenv": projects, "bundle": projects, "conda": projects, "mamba": projects, "direnv": projects, "op": projects, "doppler": projects, "nix": projects,
	}
)

// Builtins that change what a name stands for from then on, or read another text.
var changing = []string{".", "alias", "enable", "hash", "source"}

// Builtins that evaluate the subscript of an array in their arguments, and the substitutions in it.
var evaluating = []string{"[", "declare", "export", "let", "local", "printf", "read", "readonly", "test", "typeset", "unset", "wait"}

// programs are how the names of variables end that programs start.
var programs = []string{"ASKPASS", "BROWSER", "CMD", "COMMAND", "EDITOR", "LESSOPEN", "LESSCLOSE", "PAGER", "SHELL", "VISUAL"}
