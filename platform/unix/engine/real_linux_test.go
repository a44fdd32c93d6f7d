// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/internal/testenv"
)

// Both engines, as Debian has them, in namespaces of their own and without a network, with an image
// of one program.
func TestRealEnginesTellHowTheirContainersDo(t *testing.T) {
	busybox := testenv.Program(t, "busybox", "busybox-static")
	programs := map[string][]string{
		"podman": {testenv.Program(t, "podman", "podman"), "--root", "graph", "--runroot", "run", "--tmpdir", "tmp", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none", "system", "service", "--time", "0", "unix://s"},
		"docker": {
			testenv.Program(t, "dockerd", "docker.io"), "--data-root", "data", "--exec-root", "exec", "--pidfile", "pid", "--host", "unix://s", "--iptables=false", "--ip6tables=false",
			"--bridge", "none", "--storage-driver", "vfs",
		},
	}
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	for name, argv := range programs {
		e := startEngine(t, argv)
		e.importImage(t, busybox)
		e.run(t, "bad", `"Cmd":["/bin/sh","-c","exit 3"],"HostConfig":{"NetworkMode":"none","RestartPolicy":{"Name":"on-failure","MaximumRetryCount":1}}`)
		e.run(t, "good", `"Cmd":["/bin/sleep","1000"],"HostConfig":{"NetworkMode":"none","Memory":67108864,"PidsLimit":50}`)
		var found map[string]containers.Facts
		testenv.WaitFor(t, "the container that fails is given up", func() bool {
			found = e.facts(t, name)
			bad := found["bad"]
			return bad.State == containers.Exited && bad.Restarts != nil && *bad.Restarts == 1
		})
		bad, good := found["bad"], found["good"]
		if bad.Exit == nil || *bad.Exit != 3 || bad.Policy != "on-failure" || bad.Engine != name || bad.Ended.IsZero() || !strings.Contains(bad.Image, "test/box") {
			t.Errorf("%s: %+v", name, bad)
		}
		if good.State != containers.Running || good.PID <= 0 || good.Exit != nil || good.Use.MemoryLimitBytes == nil || *good.Use.MemoryLimitBytes != 64<<20 || good.ImageAt.IsZero() {
			t.Errorf("%s: %+v", name, good)
		}
		e.post(t, "/containers/good/kill", "", http.NoBody)
	}
}

type realEngine struct {
	socket Socket
	http   http.Client
}

func startEngine(t *testing.T, argv []string) realEngine {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for i, arg := range argv {
		if place, ok := strings.CutPrefix(arg, "unix://"); ok {
			argv[i] = "unix://" + filepath.Join(dir, place)
		} else if i > 0 && (argv[i-1] == "--root" || strings.HasSuffix(argv[i-1], "root") || argv[i-1] == "--tmpdir" || argv[i-1] == "--pidfile") {
			argv[i] = filepath.Join(dir, arg)
		}
	}
	var said bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.Env = append(os.Environ(), "HOME="+dir, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", argv[0], said.Bytes())
		}
	})
	e := realEngine{socket: Socket{Path: filepath.Join(dir, "s")}}
	e.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", e.socket.Path)
	}}
	testenv.WaitFor(t, argv[0]+" answers", func() bool {
		response, err := e.http.Get("http://engine/version")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	return e
}

func (e realEngine) post(t *testing.T, path, kind string, body io.Reader) {
	t.Helper()
	response, err := e.http.Post("http://engine"+path, kind, body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if said, _ := io.ReadAll(response.Body); response.StatusCode >= 300 {
		t.Fatalf("%s: %s %s", path, response.Status, said)
	}
}

func (e realEngine) run(t *testing.T, name, settings string) {
	t.Helper()
	e.post(t, "/containers/create?name="+name, "application/json", strings.NewReader(`{"Image":"docker.io/test/box:latest",`+settings+`}`))
	e.post(t, "/containers/"+name+"/start", "", http.NoBody)
}

// importImage makes an image with one program, which is a shell and sleeps.
func (e realEngine) importImage(t *testing.T, busybox string) {
	t.Helper()
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for _, name := range []string{"bin/sh", "bin/sleep"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(program); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	e.post(t, "/images/create?fromSrc=-&repo=docker.io/test/box&tag=latest", "application/x-tar", &image)
}

func (e realEngine) facts(t *testing.T, name string) map[string]containers.Facts {
	t.Helper()
	gaps := answer.Gaps{}
	engines, list, err := Containers(t.Context(), e.socket, &gaps)
	if err != nil || len(engines) != 1 || engines[0].Name != name || engines[0].Version == "" {
		t.Fatal(engines, err)
	}
	found := map[string]containers.Facts{}
	for _, f := range list {
		found[f.Name] = f
	}
	return found
}
