// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

const aKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKLXODIb6PZbd4uSCHtNdRxxqkKGLwIOSz51efNsTY2Z"

// Whatever sshd may run or trust for some connection is told, in Match blocks and behind a part that is not read too.
func TestWhatSSHDRunsAndTrusts(t *testing.T) {
	for text, want := range map[string][]string{
		"": {},
		"Subsystem sftp /usr/lib/openssh/sftp-server -l INFO\nSubsystem other internal-sftp\nForceCommand none\nTrustedUserCAKeys none\n": {},
		"AuthorizedKeysCommand /opt/k %u\nAuthorizedKeysCommandUser nobody\nAuthorizedKeysCommand /opt/shadowed\n":                        {"AuthorizedKeysCommand | nobody |  | /opt/k"},
		"Match User *\nAuthorizedKeysCommand /opt/k\n":                                                {"AuthorizedKeysCommand |  | Match User * | /opt/k"},
		"Include /etc/ssh/*/a.conf\nAuthorizedKeysCommand /opt/k\nAuthorizedKeysCommand /opt/other\n": {"AuthorizedKeysCommand |  |  | /opt/k", "AuthorizedKeysCommand |  |  | /opt/other", "! an Include has a wildcard in the name of a folder, which is not followed"},
		"AuthorizedPrincipalsCommand /opt/p\nAuthorizedPrincipalsCommandUser daemon\n":                {"AuthorizedPrincipalsCommand | daemon |  | /opt/p"},
		"Match all\nForceCommand sh -c '/opt/f'\n":                                                    {"ForceCommand |  | Match all | sh /opt/f"},
		"Subsystem sftp /usr/lib/openssh/sftp-server; /opt/s\nSubsystem x /opt/x\n":                   {"Subsystem |  |  | /usr/lib/openssh/sftp-server /opt/s", "Subsystem |  |  | /opt/x"},
		"SshdSessionPath /opt/session\nXAuthLocation /opt/xauth\n":                                    {"SshdSessionPath |  |  | /opt/session", "XAuthLocation |  |  | /opt/xauth"},
		"Match User mira\nTrustedUserCAKeys /etc/ssh/ca\n":                                            {"TrustedUserCAKeys ssh-ed25519 ca |  | SHA256:SGiZyCiyrIS8rDYaheC2Dns/sDA1nsBGTO4aJF9xbNA, Match User mira | "},
		"Match User *\nAuthorizedKeysFile /opt/keys/%u /opt/%U/k\n":                                   {"ssh-ed25519 match | mira | SHA256:SGiZyCiyrIS8rDYaheC2Dns/sDA1nsBGTO4aJF9xbNA | "},
	} {
		root := testenv.Plant(t, map[string]string{
			"etc/passwd": "mira:x:" + strconv.Itoa(os.Geteuid()+1) + ":1000::/home/mira:/bin/sh\n", "etc/ssh/sshd_config": text,
			"etc/ssh/ca": aKey + " ca\n", "opt/keys/mira": aKey + " match\n", "home/mira/x": "",
		})
		found, got := surveyed(t, root, nil), []string{}
		for _, e := range found.Entries {
			var programs []string
			for _, p := range e.Programs {
				programs = append(programs, p.Path)
			}
			got = append(got, strings.Join([]string{e.Name, e.User, e.Detail, strings.Join(programs, " ")}, " | "))
		}
		for _, u := range found.Unread {
			got = append(got, "! "+u.Err.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s%s", text, diff)
		}
	}
}
