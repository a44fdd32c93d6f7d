// SPDX-License-Identifier: Apache-2.0

// Package clients holds sentinel-mcp to what the clients that people use
// expect: the official TypeScript SDK and the Inspector, both on Node.
package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// observed is a sentinel that says in the pipe "up" that the real one was
// started, and in "status" how it ended. Before it has become sentinel, the child is a
// copy of this shell. A signal to the group of both is passed on, as sudo does: a short run of root's
// has left it. A wait that the signal interrupts is waited again.
const observed = `#!/bin/sh
pid=
trap '[ -z "$pid" ] || kill -TERM $pid' TERM
exec 3<&0
%s/sentinel "$@" <&3 &
pid=$! tries=0
until case $(readlink /proc/$pid/exe) in */sentinel) ;; *) [ $tries -ge 200 ] ;; esac; do
	tries=$((tries + 1)); sleep 0.05
done
echo up >%s/up
wait $pid; status=$?
[ $status -le 128 ] || { wait $pid; status=$?; }
echo $status >%s/status
`

// isolatedServer is a script that runs a server so that the installation id, which
// root's first run creates, stays out of this machine. The rest of /var/lib is visible: package
// managers have their data there.
const isolatedServer = `#!/bin/sh
[ "$(id -u)" = 0 ] || exec %[1]s "$@"
exec unshare --mount --propagation private /bin/sh -c '
	mount -t tmpfs tmpfs /mnt &&
	mkdir /mnt/upper /mnt/work &&
	mount -t overlay -o lowerdir=/var/lib,upperdir=/mnt/upper,workdir=/mnt/work overlay /var/lib &&
	umount --lazy /mnt &&
	exec "$0" "$@"' %[1]s "$@"
`

// lonely is a server on a machine of its own, whose one neighbour never answers:
// what is sent to it goes to a port that nobody has.
const lonely = `#!/bin/sh
exec unshare --net --mount --propagation private /bin/sh -c '
	mount -t tmpfs -o mode=755 tmpfs /var/lib &&
	ip link set lo up &&
	ip link add near0 type veth peer name far0 &&
	ip addr add 10.9.8.1/24 dev near0 &&
	ip link set near0 up &&
	ip link set far0 up &&
	ip neigh add 10.9.8.2 lladdr 02:00:00:00:00:02 dev near0 &&
	exec "$0" "$@"' %s "$@"
`

// binaries builds both programs as they are shipped and returns their directory.
func binaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sentinel", "sentinel-mcp"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "real", name), "./cmd/"+name)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	server := fmt.Sprintf(isolatedServer, filepath.Join(dir, "real", "sentinel-mcp"))
	if err := os.WriteFile(filepath.Join(dir, "sentinel-mcp"), []byte(server), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("real", "sentinel"), filepath.Join(dir, "sentinel")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// watched returns a folder with a sentinel that is observed and its pipes.
func watched(t *testing.T, dir string) string {
	t.Helper()
	watch := t.TempDir()
	script := fmt.Sprintf(observed, dir, watch, watch)
	if err := os.WriteFile(filepath.Join(watch, "sentinel"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"up", "status"} {
		if err := syscall.Mkfifo(filepath.Join(watch, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return watch
}

// TestVersionsOfTheTypeScriptSDK has one from 2025 and the newest, which is split into
// packages and speaks the revision without a handshake.
func TestVersionsOfTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	dir := binaries(t)
	const old, recent = "sdk-of-2025/client/", "@modelcontextprotocol/client"
	for name, test := range map[string]struct{ client, transport, revision string }{
		"1.12":              {old + "index.js", old + "stdio.js", "2025-03-26"},
		"2.4":               {recent, recent + "/stdio", "2025-11-25"},
		"2.4, no handshake": {recent, recent + "/stdio", "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), testenv.Node(t), "versions.mjs", test.client, test.transport, test.revision, dir, watched(t, dir)).CombinedOutput()
			if err != nil || string(out) != "ok list\nok error\nok cancel\nok call\n" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

func TestTypeScriptSDK(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	dir := binaries(t)
	for name, node := range map[string]string{"system node": "node", "recent node": testenv.Node(t)} {
		t.Run(name, func(t *testing.T) {
			watch := watched(t, dir)
			out, err := exec.CommandContext(t.Context(), node, "sdk.mjs", dir, watch).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := []string{"instructions", "list", "wrong argument", "unknown tool", "side by side", "cancel"}
			for _, op := range ops.All() {
				if op.Effect == ops.Read && !op.OfFleet() {
					want = append(want, "call "+op.Name)
				}
			}
			for _, name := range want {
				if !strings.Contains(string(out), "ok "+name+"\n") {
					t.Errorf("%s did not run:\n%s", name, out)
				}
			}
		})
	}
}

func TestProgressInTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	testenv.Namespaces(t)
	testenv.Program(t, "ip", "iproute2")
	dir := binaries(t)
	server := filepath.Join(dir, "lonely")
	if err := os.WriteFile(server, []byte(fmt.Sprintf(lonely, filepath.Join(dir, "real", "sentinel-mcp"))), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, node := range map[string]string{"system node": "node", "recent node": testenv.Node(t)} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), node, "progress.mjs", server).CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "ok none after the answer\n") {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// inspect runs the Inspector's command line and returns its exit status and
// what it printed on both streams.
func inspect(t *testing.T, server string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	const launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	cmd := exec.CommandContext(t.Context(), testenv.Node(t), append([]string{launcher, "--cli", server}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// everyTool is the server with all of its toolsets, as one word of a command
// line.
func everyTool(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "every-tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec "+dir+"/sentinel-mcp --toolsets all\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInspector(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	server := everyTool(t, binaries(t))
	// The handshake of before is the same for every tool; the Go SDK calls each after it.
	inEach := "get_system_health"
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			status, out, errs := inspect(t, server, "--protocol-era", era, "--method", "tools/list", "--strict")
			if status != 0 || errs != "" {
				t.Errorf("tools/list: status %d, %s", status, errs)
			}
			for _, op := range ops.All() {
				if op.OfFleet() { // no other machine is named
					continue
				}
				if !strings.Contains(out, `"name": "`+op.Name+`"`) {
					t.Errorf("tools/list has no %s", op.Name)
				}
				if op.Effect == ops.Read && (era == "modern" || op.Name == inEach) {
					inspectCall(t, server, era, op.Name)
				}
			}
			status, out, _ = inspect(t, server, "--protocol-era", era, "--method", "tools/call", "--tool-name", "get_top_processes", "--tool-arg", "count=0")
			if status == 0 || !strings.Contains(out, `"error_code": "INVALID_ARGUMENT"`) {
				t.Errorf("wrong argument: status %d, %s", status, out)
			}
		})
	}
}

func inspectCall(t *testing.T, server, era, tool string) {
	t.Helper()
	args := []string{"--protocol-era", era, "--method", "tools/call", "--tool-name", tool}
	for _, arg := range map[string][]string{"get_process_details": {"pid=" + strconv.Itoa(os.Getpid())}, "get_disk_usage": {"path=/etc"}}[tool] {
		args = append(args, "--tool-arg", arg)
	}
	status, out, errs := inspect(t, server, args...)
	// Without systemd, and without a recorder that has run here.
	if missing := map[string]string{"get_service_status": "UNSUPPORTED", "get_health_history": "UNAVAILABLE"}[tool]; missing != "" && status != 0 && strings.Contains(out, `"error_code": "`+missing+`"`) {
		return
	}
	var result struct {
		StructuredContent struct{ Success bool }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || status != 0 || !result.StructuredContent.Success {
		t.Errorf("%s: status %d, %v, %s%s", tool, status, err, out, errs)
	}
}
