// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// guard stops if the following commands could affect the machine.
const guard = `set -e
for kind in net mnt pid; do
	case " $MACHINE " in *" $(readlink /proc/self/ns/$kind) "*) echo "shares the $kind namespace of the machine" >&2; exit 99 ;; esac
done
`

// stage sets up the environment of one test in its own namespaces and then runs the test's command.
// The machine is not changed: /opt is a new file system, /etc a copy in it, and empty directories
// cover sentinel's state, the sockets of services, the logs and the control groups.
const stage = guard + `for dir in /opt /var/lib /var/log /run; do mount -t tmpfs -o mode=755 tmpfs $dir; done
test ! -d /sys/fs/cgroup || mount -t tmpfs tmpfs /sys/fs/cgroup
test ! -S /dev/log || mount --bind /dev/null /dev/log
mkdir /opt/bin
cp -a /etc /opt/etc
echo 'sentineltest:x:12345:12345::/nonexistent:/bin/sh' >>/opt/etc/passwd
echo 'sentineltest:x:12345:' >>/opt/etc/group
echo 'sentineltest:*:19000:0:99999:7:::' >>/opt/etc/shadow
cp "$WORLD/sudoers" /opt/etc/sudoers.d/sentineltest
chmod 0440 /opt/etc/sudoers.d/sentineltest
mount --bind /opt/etc /etc
cp "$WORLD/sentinel" "$WORLD/sentinel-mcp" /opt/bin
chmod 0755 /opt/bin/sentinel /opt/bin/sentinel-mcp
%s
exec setpriv --reuid 12345 --regid 12345 --init-groups %s
`

// server is the command line of sentinel-mcp on the stage.
const server = "/opt/bin/sentinel-mcp --log-level info"

// silent keeps sudo from writing to the host's log and mail.
const silent = "Defaults:sentineltest !syslog, !mail_badpass, !mail_no_user, !mail_no_perms, !mail_no_host\n"

// whoami is a sentinel that prints its user.
const whoami = `#!/bin/sh
cat >/dev/null
echo "{\"success\":true,\"action\":\"${2#get_}\",\"tool\":\"$2\",\"uid\":$(id -u),\"sudo_uid\":\"$SUDO_UID\"}"
`

// onStage returns sentinel-mcp, not started, as the user sentineltest with the given sudo rules.
// change is shell text for other differences.
func onStage(t *testing.T, rules, sentinel, change string) *exec.Cmd {
	t.Helper()
	return staged(t, map[string]string{"sudoers": silent + rules, "sentinel": sentinel}, change, server)
}

// staged returns a program, not started, as the user sentineltest on a stage with the given files
// in $WORLD.
func staged(t *testing.T, files map[string]string, change, program string) *exec.Cmd {
	t.Helper()
	testenv.Namespaces(t)
	for name, from := range map[string]string{"sudo": "sudo", "setpriv": "util-linux"} {
		testenv.Program(t, name, from)
	}
	world := t.TempDir()
	own, err := exec.LookPath("sentinel-mcp")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(world, "sentinel-mcp")); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(world, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		"/bin/sh", "-c", fmt.Sprintf(stage, change, program))
	cmd.Env = append(os.Environ(), "WORLD="+world, "MACHINE="+machine(t))
	return cmd
}

// machine names the namespaces that nothing on a stage may share.
func machine(t *testing.T) string {
	t.Helper()
	var names []string
	for _, kind := range []string{"net", "mnt", "pid"} {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestStageIsNotSetUpOnTheMachine(t *testing.T) {
	testenv.Namespaces(t)
	for shared, apart := range map[string][]string{
		"net": {"--mount", "--pid", "--fork", "--mount-proc"},
		"mnt": {"--net", "--pid", "--fork"},
		"pid": {"--net", "--mount"},
		"":    {"--net", "--mount", "--pid", "--fork", "--mount-proc"},
	} {
		cmd := exec.Command("unshare", append(apart, "/bin/sh", "-c", guard+"echo went on")...)
		cmd.Env = append(os.Environ(), "MACHINE="+machine(t))
		out, err := cmd.CombinedOutput()
		want := "shares the " + shared + " namespace of the machine\n"
		if shared == "" {
			want = "went on\n"
		}
		if string(out) != want || (err == nil) != (shared == "") {
			t.Errorf("sharing %q: %v, %q, want %q", shared, err, out, want)
		}
	}
}

func toolLine(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`+"\n", id, tool)
}

// users runs one call of each tool and returns who ran it, by tool, and what
// the server logged.
func users(t *testing.T, cmd *exec.Cmd, tools ...string) (map[string]string, string) {
	t.Helper()
	var in, stdout, stderr bytes.Buffer
	for i, tool := range tools {
		in.WriteString(toolLine(i, tool))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	got := map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		var answer struct {
			Result struct {
				StructuredContent struct {
					Tool    string
					UID     int
					SudoUID string `json:"sudo_uid"`
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		c := answer.Result.StructuredContent
		got[c.Tool] = strings.TrimSpace(fmt.Sprintf("%d %s", c.UID, c.SudoUID))
	}
	return got, stderr.String()
}

func rule(tool string) string {
	return "sentineltest ALL=(root) NOPASSWD: /opt/bin/sentinel --request " + tool + "\n"
}

func TestSudoRunsWhatItsRulesNameAndNothingElse(t *testing.T) {
	cmd := onStage(t, rule("get_system_health")+rule("get_top_processes"), whoami, "")
	got, log := users(t, cmd, "get_system_health", "get_asset_info", "get_top_processes")
	want := map[string]string{
		"get_system_health": "0 12345", // allowed
		"get_asset_info":    "12345",   // not allowed: without root
		"get_top_processes": "12345",   // allowed, but root would see no more
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who ran each tool (-want +got):\n%s\n%s", diff, log)
	}
	if !strings.Contains(log, "sudo does not allow the tool") || !strings.Contains(log, "tool=get_asset_info") {
		t.Errorf("log %q does not say that sudo refused", log)
	}
}

func TestUserWithoutRulesGetsAnswersWithoutRoot(t *testing.T) {
	got, log := users(t, onStage(t, "", whoami, ""), "get_system_health")
	if diff := cmp.Diff(map[string]string{"get_system_health": "12345"}, got); diff != "" {
		t.Errorf("who ran the tool (-want +got):\n%s\n%s", diff, log)
	}
}

func TestBinaryThatOthersCanChangeNeverRunsAsRoot(t *testing.T) {
	for change, reason := range map[string]string{
		"chown sentineltest /opt/bin/sentinel": "/opt/bin/sentinel belongs to user 12345",
		"chmod 0775 /opt/bin/sentinel":         "/opt/bin/sentinel can be written by others",
		"chmod 1777 /opt/bin":                  "/opt/bin can be written by others",
	} {
		t.Run(change, func(t *testing.T) {
			got, log := users(t, onStage(t, rule("get_system_health"), whoami, change), "get_system_health")
			if diff := cmp.Diff(map[string]string{"get_system_health": "12345"}, got); diff != "" {
				t.Errorf("who ran the tool (-want +got):\n%s", diff)
			}
			if !strings.Contains(log, "level=INFO msg=\"root is not used") || !strings.Contains(log, reason) {
				t.Errorf("log %q, want a line with %q", log, reason)
			}
		})
	}
}

// TestCancelEndsTheProgramBehindSudo checks that sudo passes on SIGTERM from a user who could not
// signal the program itself.
func TestCancelEndsTheProgramBehindSudo(t *testing.T) {
	up, held := pipe(t), pipe(t)
	cmd := onStage(t, rule("get_system_health"), "#!/bin/sh\nexec 3>"+held+"; id -u >"+up+"; exec sleep 600\n", "")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(held)
		gone <- err
	}()
	io.WriteString(in, toolLine(1, "get_system_health"))
	if who, err := os.ReadFile(up); err != nil || string(who) != "0\n" {
		t.Fatalf("sentinel runs as %q, %v: %s", who, err, stderr.String())
	}
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	if err := <-gone; err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	if stdout.Len() != 0 {
		t.Errorf("a cancelled call was answered: %s", stdout.String())
	}
}
