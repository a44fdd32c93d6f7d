// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// watching prints, as root, how a process whose PID is written to /opt/ask stands.
const watching = `mkfifo -m 666 /opt/ask /opt/answer /opt/stdin
cat >/opt/watch <<'END'
while read -r pid </opt/ask; do
	for try in $(seq 200); do # until it has done the last step, or never does
		test "$(readlink /proc/$pid/cwd)" != / || break
		sleep 0.05
	done
	{
		for task in /proc/$pid/task/*; do
			set -- $(sed 's/.*) //' $task/stat)
			echo "nice ${17}"
			echo "policy ${39}"
			echo "processors $(grep Cpus_allowed_list $task/status | cut -f2)"
			echo "ioprio $(ionice -p ${task##*/})"
			echo "timer slack $(cat /proc/${task##*/}/timerslack_ns)"
		done
		set -- $(sed 's/.*) //' /proc/$pid/stat)
		test "$4" = "$pid" && echo "session own" || echo "session of the caller"
		test "$3" = "$pid" && echo "group own" || echo "group of the caller"
		echo "umask $(grep Umask /proc/$pid/status | cut -f2)"
		echo "oom $(cat /proc/$pid/oom_score_adj)"
		echo "directory $(readlink /proc/$pid/cwd)"
		sed -n 's/^Max \(cpu time\|file size\|data size\|address space\) *\([^ ]*\) *\([^ ]*\).*/\1 \2 \3/p' /proc/$pid/limits
		sed -n 's/^Max pending signals *\([^ ]*\).*/pending signals \1/p' /proc/$pid/limits
	} | sort -u >/opt/answer
done
END
sh /opt/watch &
echo "processors of all $(taskset -c 0-1023 grep Cpus_allowed_list /proc/self/status | cut -f2)" >/opt/all
`

// starting is the program of a user who starts a run of root's with as little as a user can give, and
// looks at what that run has while it waits for its request. The tool is none that gets a
// better place than others. Limits are the soft ones, since root of a container may not raise hard
// ones.
const starting = `cd /tmp
umask 0777
ulimit -S -f 4096
ulimit -S -t 100
ulimit -S -d 9000000
ulimit -S -v 9000000
echo 100000000 >/proc/self/timerslack_ns
echo 900 >/proc/self/oom_score_adj
first=$(sed 's/processors of all \([0-9]*\).*/\1/' /opt/all)
nice -n 19 ionice -c 3 taskset -c "$first" chrt --idle 0 prlimit --sigpending=0:5000 sudo -n /usr/local/bin/sentinel --request get_asset_info </opt/stdin >/dev/null &
exec 3>/opt/stdin
while :; do
	for pid in $(pgrep -u root -f '^/usr/local/bin/sentinel --request'); do
		test "$(readlink /proc/$pid/exe 2>/dev/null)" = "" || continue
		break 2
	done
done
`

// What a user may do to own processes does not reach a run of root's that the user has started.
func TestARunOfRootLeavesItsCaller(t *testing.T) {
	for _, program := range []string{"chrt", "taskset", "ionice", "setpriv"} {
		testenv.Program(t, program, "util-linux")
	}
	files := map[string]string{"sudoers": silent, "rules": shippedRules(t), "sentinel": realSentinel(t), "attempts": starting + `
echo "$pid" >/opt/ask
cat /opt/answer /opt/all
echo '{}' >&3
exec 3>&-
wait
`}
	testenv.HangGuard(t)
	cmd := staged(t, files, install+watching, "/bin/sh /opt/attempts")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	said, all, _ := strings.Cut(strings.TrimSpace(string(out)), "\nprocessors of all ")
	want := strings.Join([]string{
		"address space unlimited unlimited", "cpu time unlimited unlimited", "data size unlimited unlimited", "directory /", "file size unlimited unlimited",
		"group own", "ioprio none: prio 0", "nice 0", "oom 0", "pending signals 4096", "policy 0", "processors " + all, "session own", "timer slack 50000", "umask 0022",
	}, "\n")
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("-want +got:\n%s%s", diff, stderr.String())
	}
}
