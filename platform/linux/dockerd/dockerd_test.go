// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsSayWhatIsReadAndWhereItAnswers(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    {DefaultFile},
		"-H fd:// --config-file=/a -Htcp:// ": {"/a", "fd://", "tcp://"},
		"--config-file /a --config-file /b":   {"/b"},
		"-DH x --host=y --host z":             {DefaultFile, "x", "y", "z"},
		"-l H --live-restore":                 {DefaultFile},
	} {
		words := strings.Fields(text)
		if diff := cmp.Diff(want, append([]string{File(words)}, Hosts(words)...)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestOptionsAreSwitchedOn(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "--tlsverify": true, "--tlsverify=1": true, "--tlsverify=false": false, "--tlsverify --tlsverify=F": false, "--tlsverify=yes": false, "tlsverify": false,
	} {
		words := strings.Fields(text)
		if got := TLSVerify(words); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if got := LiveRestore(append(words, "--live-restore")); !got {
			t.Errorf("%q: it has no live-restore", text)
		}
	}
}

func TestAConfigurationIsRead(t *testing.T) {
	got, err := Parse([]byte(`{"hosts": ["fd://"], "tlsverify": true, "live-restore": true, "bip": "x"}`))
	if diff := cmp.Diff(Settings{[]string{"fd://"}, true, true}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	if got, err := Parse(nil); !cmp.Equal(got, Settings{}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"{", `{"hosts": 1}`, "[]", " "} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q", text)
		}
	}
}
