// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A runner is a program that runs what its arguments say.
type runner struct {
	names    string // those in a list; also with the number of a version
	named    bool   // it is told itself, also without a directory
	operands int    // before what it runs
	runs     runs
	// options are those with a value, and what follows the name says what the value is:
	//	nothing  nothing that is run
	//	~        the same, and it is part of the word if there is one
	//	=        the same, and there is one operand less
	//	*        a file that is run or loaded
	//	@        the same, and the operands are none
	//	!        a command line, and the operands are none
	//	^        no value, but the operand is a command line
	//	<        no value, but it reads commands, and the operands are their arguments
	//	/        the directory in which it runs
	//	.        code of another language, and what follows are its arguments
	//	;        a command up to a word ";" or "+"
	//	+        nothing that is run, and it has a second value
	options string
}

// runs is what a runner takes the operands for.
type runs int

const (
	program runs = iota // a command
	script              // a file, and its arguments
	shell               // the same, and it reads commands if there is none
	line                // the words of a command line
	first               // one command line
	input               // arguments of the commands that it reads
	nothing
)

// runners are programs as their manual pages have them. Options without a value are not listed, and
// neither are those that every runner would pass over.
var runners = []runner{
	{names: "builtin busybox catatonit chronic command cronic dbus-launch dbus-run-session eatmydata fakechroot fakeroot firejail linux32 linux64 nocorrect noglob nohup run-one setsid torsocks toybox unbuffer"},
	{names: "aa-exec", options: "-p --profile -n --namespace"},
	{names: "abduco dtach", operands: 1, options: "-e -r"},
	{names: "arch", options: "-arch -e -d"},
	{names: "bwrap", options: "--args --add-seccomp-fd --bind+ --bind-data+ --bind-fd+ --bind-try+ --block-fd --cap-add --cap-drop --chdir/ --chmod+ --dev --dev-bind+ --dev-bind-try+ --dir --exec-label --file+ --file-label --gid --hostname --info-fd --json-status-fd --lock-file --mqueue --overlay-src --perms --pidns --proc --remount-ro --ro-bind+ --ro-bind-data+ --ro-bind-fd+ --ro-bind-try+ --ro-overlay --seccomp --setenv+ --size --symlink+ --sync-fd --tmp-overlay --tmpfs --uid --unsetenv --userns --userns2 --userns-block-fd"},
	{names: "caffeinate", options: "-t -w"},
	{names: "cgexec", options: "-g"},
	{names: "choom", options: "-n --adjust -p --pid"},
	{names: "chpst", options: "-/ -b -c -d -e -f -l -L -m -n -o -p -r -t -u -U"},
	{names: "cpulimit", options: "-e --exe -l --limit -p --pid -P --path"},
	{names: "chroot", operands: 1, options: "--userspec --groups"},
	{names: "chrt", operands: 1, options: "-T --sched-runtime -P --sched-period -D --sched-deadline"},
	{names: "doas", options: "-a -u -C"},
	{names: "dumb-init", options: "-r --rewrite"},
	{names: "env", options: "-u --unset -C/ --chdir/ -S! --split-string! -P -a --argv0"},
	{names: "envdir envuidgid faketime gosu s6-envdir s6-setlock s6-setuidgid setlock setuidgid su-exec", operands: 1},
	{names: "exec", options: "-a"},
	{names: "flock", operands: 1, options: "-w --wait --timeout -E --conflict-exit-code -c! --command!"},
	{names: "ionice", options: "-c --class -n --classdata"},
	{names: "ld.so ld-linux.so ld-linux-aarch64.so ld-linux-armhf.so ld-linux-x86-64.so ld-musl-aarch64.so ld-musl-x86_64.so", options: "--library-path --preload* --audit* --argv0 --inhibit-rpath --glibc-hwcaps-prepend"},
	{names: "ltrace strace", options: "-a -A -b -D~ -e -E -I -l -n -o -O -p -P -s -S -u -U -w~ -x~ -X"},
	{names: "nice", options: "-n --adjustment"},
	{names: "nsenter", options: "-t --target -S --setuid -G --setgid -C~ -i~ -m~ -n~ -p~ -r~ -T~ -u~ -U~ -w~ -W --wdns"},
	{names: "numactl", options: "-C --physcpubind -i --interleave -m --membind -N --cpunodebind -p --preferred"},
	{names: "pkexec", options: "--user"},
	{names: "prlimit", options: "-o --output -p --pid"},
	{names: "proot", options: "-0~ -b --bind -k --kernel-release -m --mount -q* --qemu* -r --rootfs -R -S -v --verbose -w/ --pwd/ --cwd/"},
	{names: "proxychains proxychains4", options: "-f"},
	{names: "screen", options: "-c -e -h -p -r -s* -S -t -T -x"},
	{names: "runuser su", operands: 1, options: "-c! --command! --session-command! -g --group -G --supp-group -s* --shell* -u= --user= -w --whitelist-environment"},
	{names: "setpriv", options: "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile"},
	{names: "repeat sleep", operands: 1},
	{names: "runcon", operands: 1, options: "-l= --range= -r= --role= -t= --type= -u= --user="},
	{names: "sandbox-exec", options: "-D -f -n -p"},
	{names: "setarch", named: true, operands: 1},
	{names: "softlimit", options: "-a -c -d -f -l -m -o -p -r -s -t"},
	{names: "ssh-agent", options: "-a -E -O -P -t"},
	{names: "stdbuf", options: "-e --error -i --input -o --output"},
	{names: "sudo", options: "-C --close-from -D/ --chdir/ -g --group -h --host -p --prompt -r --role -R --chroot -t --type -T --command-timeout -u --user -U --other-user"},
	{names: "systemd-cat", options: "-p --priority --stderr-priority --level-prefix -t --identifier --namespace"},
	{names: "systemd-inhibit", options: "--mode --what --who --why"},
	{names: "systemd-run", options: "-C --capsule -E --setenv -H --host --description --gid --job-mode -M --machine --nice --on-active --on-boot --on-calendar --on-startup --on-unit-active --on-unit-inactive -p --property --path-property --service-type --slice --socket-property --timer-property -u --uid --unit --working-directory/"},
	{names: "taskset", operands: 1},
	{names: "time", options: "-f --format -o --output"},
	{names: "timeout", operands: 1, options: "-k --kill-after -s --signal"},
	{names: "tini", options: "-e -p"},
	{names: "trickle", options: "-d -l -L -n -p -t -u -w"},
	{names: "uclampset", options: "-m -M -p --pid"},
	{names: "unshare", options: "-G --setgid --boottime --map-group --map-groups --map-user --map-users --monotonic --propagation -R --root -S --setuid --setgroups -w/ --wd/"},
	{names: "xargs", options: "-a --arg-file -d --delimiter -e~ -E -i~ -I -J -l~ -L -n --max-args -P --max-procs --process-slot-var -R -s --max-chars -S"},
	{names: "xvfb-run", options: "-e --error-file -f --auth-file -n --server-num -p --xauth-protocol -s --server-args -w --wait"},

	{names: "eval", runs: line},
	{names: "parallel", named: true, runs: line, options: "-a --arg-file -C --colsep -d --delimiter -E -I --joblog -j --jobs --load -L -n --max-args -N -P --max-procs -s --max-chars -S --sshlogin --retries --results --timeout --tmpdir --wd/ --workdir/"},
	{names: "sg", operands: 1, runs: first, options: "-c! --command!"},
	{names: "tmux", named: true, operands: 1, runs: line, options: "-c/ -e -F -f* -L -n -s -S -t -T -x -y"},
	{names: "watch", runs: line, options: "-n --interval -q --equexit -s --shotsdir"},
	{names: "trap", runs: first},

	{names: "ash bash dash ksh lksh mksh oksh pdksh rbash rksh sh yash zsh", named: true, runs: shell, options: "-c^ -s< -o -O +o +O --init-file* --rcfile*"},
	{names: "fish", named: true, runs: shell, options: "-c! --command! -C! --init-command! -d -D -o -p"},
	{names: ". source", runs: script},
	{names: "bun deno node nodejs", named: true, runs: script, options: "-C --conditions -e. --eval. --import* --loader* --experimental-loader* -p. --print. -r* --require*"},
	{names: "expect", named: true, runs: script, options: "-c. -f@"},
	{names: "lua luajit", named: true, runs: script, options: "-e -l*"},
	{names: "osascript", named: true, runs: script, options: "-e. -l -s"},
	{names: "perl", named: true, runs: script, options: "-C~ -d~ -D~ -e. -E. -F~ -i~ -I -m~ -M~ -V~ -x~"},
	{names: "php", named: true, runs: script, options: "-B. -c -d -E. -f@ -F@ -g -r. -R. -S -t -z*"},
	{names: "python", named: true, runs: script, options: "-c. -m. -Q -W -X --check-hash-based-pycs"},
	{names: "ruby", named: true, runs: script, options: "-C/ -e. -E -F~ -i~ -I -K~ -r* -T~ -W~ -x~"},
	{names: "tclsh wish", named: true, runs: script},

	{names: "at batch", named: true, runs: input, options: "-f* -q -t"},
	{names: "awk gawk mawk nawk", named: true, runs: nothing, options: "-E@ --exec@ -f* --file* -F -i* --include* -l* --load* -v --assign --field-separator"},
	{names: "complete", runs: nothing, options: "-A -C! -F -G -P -S -W -X"},
	{names: "enable", runs: nothing, options: "-f*"},
	{names: "find", named: true, runs: nothing, options: "-exec; -execdir; -ok; -okdir;"},
	{names: "hash", runs: nothing, options: "-p*"},
	{names: "java", named: true, runs: nothing, options: "-cp -classpath --class-path -jar@ --module-path"},
	{names: "script", named: true, runs: nothing, options: "-c! --command!"},
	{names: "start-stop-daemon", named: true, runs: nothing, options: "-a* --startas* -c -d -g -I -k -n -N -O -p -P -r -R -s -u -x* --exec*"},
}

var runnersByName = sync.OnceValue(func() map[string]*runner {
	byName := map[string]*runner{}
	for i := range runners {
		for name := range strings.FieldsSeq(runners[i].names) {
			byName[name] = &runners[i]
		}
	}
	return byName
})

func runnerOf(name string) *runner {
	if r := runnersByName()[name]; r != nil {
		return r
	}
	return runnersByName()[strings.TrimRight(name, "0123456789.")]
}

const marks = "~=*@!^</.;+"

const maxCluster = 64 // letters of options in one word

// mark says what the value of an option is: ' ' is nothing that is run, 0 that it has none.
func (r *runner) mark(option string) byte {
	for field := range strings.FieldsSeq(r.options) {
		if name := strings.TrimRight(field, marks); name == option {
			return (field + " ")[len(name)]
		}
	}
	return 0
}

// An option is one with a value, of the word it is in.
type option struct {
	mark  byte
	value string
	apart bool // the value is the next word
	runs  runs // what the operands are now, if not 0
}

func (r *runner) option(word string) option {
	name, value, attached := strings.Cut(word, "=")
	if mark := r.mark(name); mark != 0 && mark != '^' && mark != '<' {
		return option{mark: mark, value: value, apart: !attached && mark != '~'}
	}
	var o option
	if strings.HasPrefix(word, "--") {
		return o
	}
	for i := 1; i < min(len(word), maxCluster); i++ {
		switch mark := r.mark(word[:1] + word[i:i+1]); mark {
		case 0:
		case '^':
			o.runs = first
		case '<':
			o.runs = input
		default:
			o.mark, o.value, o.apart = mark, word[i+1:], i+1 == len(word) && mark != '~'
			return o
		}
	}
	return o
}

// A call is a runner with its arguments.
type call struct {
	frame
	runs     runs
	operands int
	left     []string // not looked at yet
	found    []string
}

// run returns what a runner runs.
func (f frame) run(r *runner, list []string) []string {
	c := &call{frame: f, runs: r.runs, operands: r.operands, left: list}
	for ended := false; len(c.left) > 0; {
		word := c.left[0]
		if !ended && isOption(word, c.runs) {
			ended, c.left = word == "--", c.left[1:]
			if !c.option(r.option(word)) {
				return c.found
			}
			continue
		}
		if c.operands <= 0 && c.runs < input {
			break
		}
		c.operands--
		c.left = c.left[1:]
	}
	return append(c.found, c.operand(c.runs, c.left)...)
}

// option takes an option, and reports whether what follows it is still the runner's.
func (c *call) option(o option) bool {
	if o.runs != 0 {
		c.runs = o.runs
	}
	if o.mark == ';' {
		return c.nested()
	}
	if o.apart {
		o.value = c.next()
	}
	switch o.mark {
	case '+':
		c.next()
	case '=':
		c.operands--
	case '/':
		c.dir = c.reader.join(c.dir, o.value)
	case '*':
		c.found = append(c.found, c.file(o.value)...)
	case '@':
		c.found = append(c.found, c.file(o.value)...)
		c.runs = nothing
	case '!':
		c.found = append(c.found, c.within(o.value)...)
		c.runs = nothing
	}
	return o.mark != '.'
}

func (c *call) next() (word string) {
	if len(c.left) > 0 {
		word, c.left = c.left[0], c.left[1:]
	}
	return word
}

// nested takes a command up to its end. One without an end would have each option within it look for that
// again, which is counted.
func (c *call) nested() bool {
	end := slices.IndexFunc(c.left, func(w string) bool { return w == ";" || w == "+" })
	if end < 0 {
		c.reader.spend(len(strings.Join(c.left, " ")))
		end = len(c.left)
	}
	if c.reader.cut {
		return false
	}
	c.found = append(c.found, c.command(c.left[:end])...)
	c.left = c.left[end:]
	return true
}

// isOption reports whether a word is one; shells have some with a plus. The text of a trap may be "-".
func isOption(word string, runs runs) bool {
	return strings.HasPrefix(word, "-") && (word != "-" || runs != first) || strings.HasPrefix(word, "+") && (runs == shell || runs == first)
}

// operand returns what the operands of a runner say.
func (f frame) operand(runs runs, list []string) []string {
	switch {
	case runs == input, runs == shell && (len(list) == 0 || path.Base(list[0]) == "stdin"):
		return f.within(f.in.take())
	case len(list) == 0 || runs == nothing:
		return nil
	case runs == program:
		return f.command(list)
	case runs == line:
		return f.within(strings.Join(list, " "))
	case runs == first:
		return f.within(list[0])
	default:
		return f.file(list[0])
	}
}
