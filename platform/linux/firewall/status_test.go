// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
	"sentinel/internal/testenv"
)

func TestUFWIsOnWhenItsConfigurationSaysSo(t *testing.T) {
	for content, want := range map[string]bool{
		"ENABLED=yes\n": true, "# comment\nENABLED=yes\nLOGLEVEL=low\n": true, "ENABLED=\"yes\"\n": true, "ENABLED='YES'\n": true, "  ENABLED=yes  \n": true,
		"ENABLED=no\n": false, "#ENABLED=yes\n": false, "ENABLED=\n": false, "": false, "ENABLE": false, "XENABLED=yes\n": false, "ENABLED=yesterday\n": false,
	} {
		if got := ufwEnabled(testenv.Plant(t, map[string]string{"etc/ufw/ufw.conf": content})); got != want {
			t.Errorf("%q: %v", content, got)
		}
	}
	if ufwEnabled(t.TempDir()) {
		t.Error("ufw is on where it is not installed")
	}
}

// Opening a FIFO that nobody writes to would wait for ever.
func TestUFWConfigurationThatIsNoFileIsNotRead(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"etc/ufw/x": ""})
	if err := unix.Mkfifo(filepath.Join(root, "etc/ufw/ufw.conf"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ufwEnabled(root) {
		t.Error("a FIFO says that ufw is on")
	}
}

func TestTreeThatIsNotLiveHasUnreadableRules(t *testing.T) {
	s := NewSource(testenv.Plant(t, map[string]string{"etc/ufw/ufw.conf": "ENABLED=yes\n"}), &fake{})
	f := s.Firewall(t.Context())
	if !errors.Is(f.Unreadable, fs.ErrPermission) || len(f.Managers) != 1 || f.Chains != nil {
		t.Errorf("got %+v", f)
	}
}

// A failure in the older rules must not leave the newer half as the answer.
func TestHalfOfTheRulesIsUnreadable(t *testing.T) {
	s := NewSource(testenv.Plant(t, map[string]string{names4: "filter\n"}), &fake{})
	s.nft = func() ([]firewall.Chain, error) { return []firewall.Chain{{Table: "t", Name: "in", Input: true}}, nil }
	if got := firewall.Assess(s.Firewall(t.Context())); got.State != firewall.Unknown {
		t.Errorf("got %+v", got)
	}
}

// What filters is known, whatever else cannot be read.
func TestRulesThatFilterAreEnoughWhateverElseIsUnreadable(t *testing.T) {
	s := NewSource(testenv.Plant(t, map[string]string{names4: "filter\n"}), &fake{})
	s.nft = func() ([]firewall.Chain, error) {
		return []firewall.Chain{{Table: "t", Name: "in", Input: true, DropPolicy: true}}, nil
	}
	if got := firewall.Assess(s.Firewall(t.Context())); got.State != firewall.Active {
		t.Errorf("got %+v", got)
	}
}
