// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// victim starts a process that does not end when it is asked to, of which others learn that it was.
const victim = `victim() {
	sh -c 'trap "echo asked >/opt/asked" TERM; while :; do sleep 0.1; done' &
	victim=$!
	until grep -q 'SigCgt:.*4...$' /proc/$victim/status; do sleep 0.05; done
}
`

// stopping is the program of a user who has started a change of root's and wants it to end halfway: the
// end of standard error is closed, and sudo is sent signals, which it hands on.
const stopping = victim + `change() { echo "{\"pid\": $victim, \"graceful\": $1}" | exec sudo -n /usr/local/bin/sentinel --request terminate_process; }
told() { wait $victim; echo "$1: ended with $?"; }

victim
{ cat /opt/ready; change false; } 2>&1 >/opt/said | { exec <&-; echo >/opt/ready; }
kill -0 $victim 2>/dev/null && echo "nobody listens: it is not done" && kill -9 $victim
told "nobody listens"

victim
change true >/opt/said &
cat /opt/asked >/dev/null
for pid in $(pgrep -u root -x sudo); do
	for signal in TERM QUIT TERM TERM TERM; do kill -$signal $pid; sleep 0.1; done
done
wait $!
kill -0 $victim 2>/dev/null && echo "signals: it is not done" && kill -9 $victim
told "signals"
`

// killing is the program of a user who has sudo kill what it started, two seconds after it has asked that to end: by
// the signal of a clock, and by the end of the sudo that stands between the user's terminal and that of the run.
const killing = victim + `change() { echo "{\"pid\": $victim, \"graceful\": true}" | exec sudo -n /usr/local/bin/sentinel --request terminate_process >/opt/said; }
attempt() {
	victim
	change &
	cat /opt/asked >/dev/null
	kill -$1 $(pgrep -o -x sudo)
	wait $! 2>/dev/null
	while pgrep -x sentinel >/dev/null; do sleep 0.05; done
	kill -0 $victim 2>/dev/null && echo "$2: it is not done" && kill -9 $victim
	wait $victim 2>/dev/null
	echo "$2: ended with $?"
}
if [ $# = 0 ]; then
	attempt ALRM "alarm"
	script -qec '/bin/sh /opt/attempts terminal' /dev/null >/dev/null
	cat /opt/found
	echo '{}' | sudo -n /usr/local/bin/sentinel --request get_action_history | grep -o '"state": *"[a-z]*"'
else
	attempt KILL "terminal" >/opt/found
fi
`

// shooting is the program of a user who has one run of root's end the sudo of another.
const shooting = `sudo -n /usr/local/bin/sentinel --request get_asset_info </opt/stdin >/opt/said &
exec 3>/opt/stdin
until pgrep -x sentinel >/dev/null; do sleep 0.05; done
echo "{\"pid\": $!}" | sudo -n /usr/local/bin/sentinel --request terminate_process | grep -o 'must not be ended: it carries another run of sentinel as root'
echo '{}' >&3
exec 3>&-
wait $!
echo "ended with $?"
`

// attempt has a user who is in sudoers run a program, with the real sentinel, after the rest of what is prepared.
func attempt(t *testing.T, sudoers, prepare, program, want string) {
	t.Helper()
	files := map[string]string{"sudoers": silent + sudoers, "rules": shippedRules(t), "sentinel": realSentinel(t), "attempts": program}
	testenv.HangGuard(t)
	cmd := staged(t, files, install+prepare, "/bin/sh /opt/attempts")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); string(out) != want || err != nil {
		t.Errorf("%v: %s\nwant\n%s\n%s", err, out, want, stderr.String())
	}
}

// Once a run of root's has recorded a change, it makes it, whatever its caller does.
func TestACallerDoesNotStopAChangeHalfway(t *testing.T) {
	attempt(t, "", "mkfifo -m 666 /opt/ready /opt/asked\ninstall -m 666 /dev/null /opt/said\n", stopping,
		"nobody listens: ended with 137\nsignals: ended with 137\n")
}

// sudo kills what it started when its user has it do so, which must not end a change that is recorded.
func TestSudoThatKillsDoesNotStopAChangeHalfway(t *testing.T) {
	testenv.Program(t, "script", "bsdutils")
	attempt(t, "Defaults:sentineltest use_pty\n", "mkfifo -m 666 /opt/asked\nfor file in said found; do install -m 666 /dev/null /opt/$file; done\n", killing,
		"alarm: ended with 137\nterminal: ended with 137\n\"state\":\"done\"\n\"state\":\"done\"\n")
}

// Whoever may end processes does not end by that the run that another user has started.
func TestTheSudoOfAnotherRunIsNotEnded(t *testing.T) {
	attempt(t, "", "mkfifo -m 666 /opt/stdin\ninstall -m 666 /dev/null /opt/said\n", shooting,
		"must not be ended: it carries another run of sentinel as root\nended with 0\n")
}
