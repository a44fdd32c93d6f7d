// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// An Interactive program is used by the person at the terminal, such as a pager. Unlike a
// [Command] it has the terminal, its keys and an environment of the caller's choice, and runs
// until the person ends it.
type Interactive struct {
	Path  string   // absolute
	Args  []string // without the program's name
	Env   []string // all of it
	Stdin []byte
}

// Run starts the program and waits for its end. The error says that it could not be
// started; how it ended does not matter. It is for the end of a run: Ctrl-C and Ctrl-\ are
// left to the program from then on, and Ctrl-Z stops both, so that the shell gets its terminal back.
func (i Interactive) Run(stdout, stderr io.Writer) error {
	if !filepath.IsAbs(i.Path) {
		return fmt.Errorf("run %q: the path is not absolute", i.Path)
	}
	cmd := exec.Command(i.Path, i.Args...) //nolint:gosec,noctx // running what the caller names is the purpose, until its user ends it
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = i.Env, bytes.NewReader(i.Stdin), stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	defer stopOnRequest()()
	if err := launched(cmd); err != nil {
		return fmt.Errorf("run %s: %w", i.Path, err)
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT)
	cmd.Wait() //nolint:errcheck // whoever leaves before the end has seen enough
	return nil
}

// stopOnRequest lets the terminal stop this process, until the returned function is
// called. What is ignored would stay so in the program; what is caught has its usual meaning there.
func stopOnRequest() (end func()) {
	requests := make(chan os.Signal, 1)
	signal.Notify(requests, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	go func() {
		for range requests {
			syscall.Kill(os.Getpid(), syscall.SIGSTOP) //nolint:errcheck // one's own process can always be stopped
		}
	}()
	return func() {
		signal.Stop(requests)
		close(requests)
	}
}

// Find returns the absolute path of a program that the user names, by the user's PATH.
// One that would be taken from the working directory is not found.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) {
		return "", errors.New(path + " is not an absolute path")
	}
	return path, nil
}
