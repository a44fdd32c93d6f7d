// SPDX-License-Identifier: Apache-2.0

package socketfilterfw

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/sysexec"
)

// A script answers according to the arguments, and records the commands.
type script struct {
	answers map[string]sysexec.Result
	failure error
	ran     []string
}

func (s *script) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	args := strings.Join(c.Args, " ")
	s.ran = append(s.ran, args)
	if c.Path != Program || c.Timeout <= 0 || c.MaxOutput <= 0 {
		return sysexec.Result{}, errors.New("without bounds, or another program")
	}
	return s.answers[args], s.failure
}

func said(stdout string) sysexec.Result { return sysexec.Result{Stdout: []byte(stdout)} }

const together = "--getglobalstate --getblockall --getallowsigned --getstealthmode"

func TestStateTakesOneRun(t *testing.T) {
	s := &script{answers: map[string]sysexec.Result{together: said("Firewall is enabled. (State = 1)\nFirewall has block all state set to disabled.\n" +
		"Automatically allow built-in signed software ENABLED.\nAutomatically allow downloaded signed software ENABLED.\nFirewall stealth mode is off\n")}}
	got, err := New(s).State(t.Context())
	if err != nil || !got.On() || got.BlocksAll() || *got.Stealth || !*got.AllowSigned || !*got.AllowSignedApp || len(s.ran) != 1 {
		t.Errorf("%+v, %v after %q", got, err, s.ran)
	}
}

// If a version answers only the first option, the others are queried one by one.
func TestStateAsksForWhatIsMissing(t *testing.T) {
	s := &script{answers: map[string]sysexec.Result{
		together: said("Firewall is enabled. (State = 1)\n"), "--getblockall": said("Block all DISABLED! \n"),
		"--getstealthmode": said("Stealth mode enabled\n"), "--getallowsigned": {Exit: 64, Stderr: []byte("usage: …")},
	}}
	got, err := New(s).State(t.Context())
	if err != nil || got.Global != GlobalOn || *got.BlockAll || !*got.Stealth || got.AllowSigned != nil || len(s.ran) != 4 {
		t.Errorf("%+v, %v after %q", got, err, s.ran)
	}
}

func TestStateThatIsNotToldIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		script script
		want   error
	}{
		"missing":          {script{failure: fs.ErrNotExist}, fs.ErrNotExist},
		"hangs":            {script{failure: context.DeadlineExceeded}, context.DeadlineExceeded},
		"floods":           {script{failure: sysexec.ErrOutputTooLarge}, sysexec.ErrOutputTooLarge},
		"nothing":          {script{}, nil},
		"another language": {script{answers: map[string]sysexec.Result{together: said("Le coupe-feu est activé.\n")}}, nil},
		"fails":            {script{answers: map[string]sysexec.Result{together: {Exit: 1, Stderr: []byte("x\nsomething is wrong\n")}}}, nil},
		"managed": {
			script{answers: map[string]sysexec.Result{together: said("Firewall settings cannot be modified from command line on managed Mac computers.\n")}}, ErrManaged,
		},
	} {
		got, err := New(&c.script).State(t.Context())
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if name == "fails" && !strings.Contains(err.Error(), "something is wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusalsOfAChange(t *testing.T) {
	for name, c := range map[string]struct {
		result sysexec.Result
		want   error
	}{
		"nothing said, macOS 26":  {sysexec.Result{}, nil},
		"said, older":             {said("Firewall is enabled. (State = 1)\n"), nil},
		"not root":                {sysexec.Result{Stdout: []byte("Must be root to change settings.\n"), Exit: 255}, fs.ErrPermission},
		"not root, on stderr":     {sysexec.Result{Stderr: []byte("Must be root to change settings.\n"), Exit: 255}, ErrNotRoot},
		"managed, with success":   {said("Firewall settings cannot be modified from command line on managed Mac computers.\n"), ErrManaged},
		"managed, said on stderr": {sysexec.Result{Stderr: []byte("Firewall settings cannot be modified from command line on managed Mac computers.\n")}, ErrManaged},
	} {
		s := &script{answers: map[string]sysexec.Result{"--setglobalstate on": c.result}}
		if err := New(s).SetGlobal(t.Context(), true); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := &script{answers: map[string]sysexec.Result{"--setglobalstate off": {Exit: 2}}}
	if err := New(s).SetGlobal(t.Context(), false); err == nil || !strings.Contains(err.Error(), "no message") {
		t.Error(err)
	}
}

func TestProgramsAreNamedByTheirPath(t *testing.T) {
	s := &script{answers: map[string]sysexec.Result{}}
	tool := New(s)
	if err := errors.Join(tool.Allow(t.Context(), "/usr/sbin/sshd"), tool.Remove(t.Context(), "/usr/sbin/sshd")); err != nil {
		t.Error(err)
	}
	want := []string{"--add /usr/sbin/sshd", "--unblockapp /usr/sbin/sshd", "--remove /usr/sbin/sshd"}
	if !slices.Equal(s.ran, want) {
		t.Errorf("ran %q", s.ran)
	}
	for _, bad := range []string{"", "sshd", "--setglobalstate"} {
		_, err := tool.Rule(t.Context(), bad)
		if tool.Allow(t.Context(), bad) == nil || tool.Remove(t.Context(), bad) == nil || err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if len(s.ran) != len(want) {
		t.Errorf("ran %q", s.ran[len(want):])
	}
}
