// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/platform/unix/hostfile"
)

// inHome is what is found of files in the home of mira, or in the runtime directory: "KIND NAME ENABLED PROGRAMS" by file.
func inHome(t *testing.T, files, links map[string]string) map[string]string {
	t.Helper()
	uid := strconv.Itoa(os.Geteuid() + 1)
	planned := map[string]string{"etc/passwd": "mira:x:" + uid + ":1000::/home/mira:/bin/sh\n"}
	place := func(name string) string {
		if rest, ok := strings.CutPrefix(name, "RUN/"); ok {
			return "run/user/" + uid + "/" + rest
		}
		if rest, ok := strings.CutPrefix(name, "/"); ok {
			return rest
		}
		return "home/mira/" + name
	}
	for name, text := range files {
		planned[place(name)] = text
	}
	linked := map[string]string{}
	for name, to := range links {
		linked[place(name)] = to
	}
	got := map[string]string{}
	found := surveyed(t, planted(t, planned, linked), nil)
	for _, e := range found.Entries {
		name := strings.Replace(strings.TrimPrefix(e.File, "/home/mira/"), "/run/user/"+uid, "RUN", 1)
		text := string(e.Kind) + " " + e.Name
		if e.User != "mira" {
			text += " of " + e.User
		}
		if e.Enabled == nil || !*e.Enabled {
			text += map[bool]string{true: "?", false: "!"}[e.Enabled == nil]
		}
		for _, p := range e.Programs {
			text += " " + p.Path
		}
		got[name] = strings.TrimPrefix(got[name]+"; "+text, "; ")
	}
	for _, u := range found.Unread {
		got[u.Path] += " unread " + u.Err.Error()
	}
	return got
}

func TestPlacesOfAUserAreLookedAt(t *testing.T) {
	const service, called = "[Service]\nExecStart=/opt/evil\n", "[D-BUS Service]\nName=x\nExec=/opt/evil\n"
	got := inHome(t, map[string]string{
		".config/systemd/user.conf":                  "[Manager]\nDefaultEnvironment=LD_PRELOAD=/opt/evil.so\n",
		".config/systemd/user.conf.d/x.conf":         "[Manager]\nManagerEnvironment=PATH=/opt/bin:/bin A=b\nDefaultTimeoutStartSec=1\n",
		".config/systemd/other.conf":                 "[Manager]\nDefaultEnvironment=LD_PRELOAD=/opt/no.so\n",
		".bashrc.d/x":                                "/opt/evil\n",
		".bashrc.d/x.bak":                            "/opt/evil\n",
		".bashrc.d/.x":                               "/opt/evil\n",
		".config/bash_completion":                    "/opt/evil\n",
		".local/share/bash-completion/completions/x": "/opt/evil\n",
		".config/fish/functions/fish_prompt.fish":    "function fish_prompt; /opt/evil; end\n",
		".config/fish/functions/x.txt":               "/opt/evil\n",
		".config/fish/completions/ls.fish":           "/opt/evil\n",
		".forward+x":                                 "|/opt/evil\n",
		".forward":                                   "|/opt/mail\n",
		".forwards":                                  "|/opt/no\n",
		".Xsession":                                  "exec /opt/evil\n",
		".xinputrc":                                  "/opt/evil\n",
		".i18n":                                      "/opt/evil\n",
		".config/plasma-workspace/shutdown/x":        "/opt/evil\n",
		".local/share/flatpak/exports/share/dbus-1/services/x.service": called,
		".local/share/flatpak/exports/share/systemd/user/x.service":    service,
		"RUN/dbus-1/services/x.service":                                called,
	}, nil)
	want := map[string]string{
		".config/systemd/user.conf":                  "unit_drop_in user.conf: DefaultEnvironment /opt/evil.so",
		".config/systemd/user.conf.d/x.conf":         "unit_drop_in x.conf: ManagerEnvironment /opt/bin/",
		".bashrc.d/x":                                "shell_start x /opt/evil",
		".bashrc.d/x.bak":                            "shell_start x.bak /opt/evil",
		".bashrc.d/.x":                               "shell_start .x! /opt/evil",
		".config/bash_completion":                    "shell_start bash_completion /opt/evil",
		".local/share/bash-completion/completions/x": "shell_start x /opt/evil",
		".config/fish/functions/fish_prompt.fish":    "shell_start fish_prompt.fish /opt/evil",
		".config/fish/completions/ls.fish":           "shell_start ls.fish /opt/evil",
		".forward+x":                                 "mail_program .forward+x /opt/evil",
		".forward":                                   "mail_program .forward /opt/mail",
		".Xsession":                                  "shell_start .Xsession /opt/evil",
		".xinputrc":                                  "shell_start .xinputrc /opt/evil",
		".i18n":                                      "shell_start .i18n /opt/evil",
		".config/plasma-workspace/shutdown/x":        "login_script x /opt/evil",
		".local/share/flatpak/exports/share/dbus-1/services/x.service": "dbus_service x /opt/evil",
		".local/share/flatpak/exports/share/systemd/user/x.service":    "user_unit x.service! /opt/evil",
		"RUN/dbus-1/services/x.service":                                "dbus_service x /opt/evil",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The first place of a home that was not read is named: that is one of keys, if there is such, and not what its user
// prefers.
func TestOfAHomeKeysAreToldFirstAsUnread(t *testing.T) {
	uid := strconv.Itoa(os.Geteuid() + 1)
	root := planted(t, map[string]string{"etc/passwd": "mira:x:" + uid + ":1000::/home/mira:/bin/sh\n", "srv/x": "x\n"},
		map[string]string{"home/mira/.bash_profile": "/srv/x", "home/mira/.rhosts": "/srv/x", "home/mira/.ssh/authorized_keys2": "../../../srv/x"})
	var got []startup.Unread
	for _, u := range surveyed(t, root, nil).Unread {
		if strings.HasPrefix(u.Path, "/home/") {
			got = append(got, u)
		}
	}
	want := []startup.Unread{{Path: "/home/mira/.ssh/authorized_keys2", Err: hostfile.ErrLeadsOut}, {Path: "/home/mira/.rhosts", Err: hostfile.ErrLeadsOut}, {Path: "/home/mira/.bash_profile", Err: hostfile.ErrLeadsOut}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// A name that lets in, or makes others the user, is what a key is.
func TestNamesThatLetInAreListed(t *testing.T) {
	got := inHome(t, map[string]string{
		"/etc/ssh/sshd_config":       "AuthorizedPrincipalsFile %h/.ssh/principals /etc/ssh/names/%u\n",
		".k5login":                   "eve@EXAMPLE.ORG\n\nmira@EXAMPLE.ORG\n",
		".shosts":                    "host.example eve\n",
		".ssh/principals":            "# no\ncommand=\"/opt/evil x\",no-pty eve # me\nmira\n",
		"/etc/ssh/names/mira":        "ops\n",
		".rhosts":                    "# of the lab\n" + strings.Repeat("+ +\n", maxPrincipals+3),
		".ssh/authorized_principals": "no\n",
	}, nil)
	want := map[string]string{
		".k5login":            "authorized_key principal eve@EXAMPLE.ORG; authorized_key principal mira@EXAMPLE.ORG",
		".shosts":             "authorized_key principal host.example eve",
		".ssh/principals":     "authorized_key principal eve /opt/evil; authorized_key principal mira",
		"/etc/ssh/names/mira": "authorized_key principal ops",
		".rhosts":             strings.TrimSuffix(strings.Repeat("authorized_key principal + +; ", maxPrincipals), "; "),
		"/home/mira/.rhosts":  " unread lines beyond the first 200: 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Places in the home and the runtime directory of a user have names that the user chose; those in root's do not.
func TestItIsKnownWhoseHomesThereAre(t *testing.T) {
	uid := strconv.Itoa(os.Geteuid() + 1)
	root := planted(t, map[string]string{
		"etc/passwd":             "root:x:0:0::/root:/bin/sh\nmira:x:" + uid + ":1000::/home/mira/:/bin/sh\n",
		"root/.bashrc":           "",
		"run/user/" + uid + "/x": "",
		"home/mira/.bashrc":      "",
	}, nil)
	want := map[string]string{"/home/mira": "mira", "/run/user/" + uid: "mira"}
	if diff := cmp.Diff(want, surveyed(t, root, nil).Homes); diff != "" {
		t.Error(diff)
	}
}

// Of the names in a home only those of files that forward mail are kept, and that there are too many is said.
func TestAFullHomeIsSaidToBe(t *testing.T) {
	s, h := newSurvey(Parts{Root: t.TempDir()}), &home{user: mira, place: "/home/mira", files: map[string]file{}, left: homeBytes}
	h.user.Home = h.place
	write(t, s.path("/home/mira/.forward"), []byte("|/opt/a\n"))
	for i := range maxInHome {
		write(t, s.path("/home/mira/"+strconv.Itoa(i)), nil)
	}
	s.readForwards(t.Context(), h)
	if len(h.files) != 1 || len(h.unread) != 1 || h.unread[0].Path != "/home/mira/.forward+" {
		t.Errorf("%v, %+v", h.files, h.unread)
	}
	if left := homeBytes - len("|/opt/a\n"); h.left != left {
		t.Errorf("%d bytes are left, want %d", h.left, left)
	}
}

// What a unit that is started has started with it is enabled, through targets too, and not what one that may be
// started has.
func TestUnitsOfAUserThatTargetsStartAreEnabled(t *testing.T) {
	const service, dir = "[Service]\nExecStart=/opt/x\n", ".config/systemd/user/"
	got := inHome(t, map[string]string{
		dir + "evil.service":                     service,
		dir + "x.target":                         "[Unit]\nWants=evil.service y.target\n",
		dir + "y.target":                         "[Unit]\nRequires=deep@a.service\n",
		dir + "deep@.service":                    service,
		dir + "none.target":                      "[Unit]\nWants=maybe.service\n",
		dir + "maybe.service":                    service,
		dir + "default.target.d/x.conf":          "[Unit]\nUpholds=upheld.service\n",
		dir + "upheld.service":                   service,
		dir + "off.service":                      service,
		dir + "default.target.wants/x.target":    "",
		"RUN/systemd/user/plain.target":          "[Unit]\nDescription=x\n",
		"/usr/lib/systemd/system/hidden.service": service,
	}, nil)
	want := map[string]string{
		dir + "evil.service": "user_unit evil.service /opt/x", dir + "x.target": "user_unit x.target", dir + "y.target": "user_unit y.target", dir + "deep@.service": "user_unit deep@.service /opt/x",
		dir + "none.target": "user_unit none.target!", dir + "maybe.service": "user_unit maybe.service? /opt/x", dir + "default.target.d/x.conf": "user_unit default.target: x.conf?",
		dir + "upheld.service": "user_unit upheld.service /opt/x", dir + "off.service": "user_unit off.service! /opt/x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Specifiers of a unit are those of the user whose it is (systemd.unit(5)).
func TestSpecifiersOfUnitsAreExpanded(t *testing.T) {
	const dir = ".config/systemd/user/"
	got := inHome(t, map[string]string{
		dir + "a.service":               "[Service]\nExecStart=%T/.evil\nExecStartPre=%h/b %%h\nExecStop=%t/c\nEnvironment=LD_PRELOAD=%V/d.so\n",
		dir + "paths.target.d/own.conf": "[Unit]\nWants=%p-x.service\n", dir + "paths-x.service": "[Service]\nExecStart=/opt/x\n",
		dir + "tmp-x@opt-y.service":   "[Service]\nExecStart=%f\nExecStartPre=/opt/%p/%I\nExecStartPost=/%j/%J/%P/%n\nExecStop=%Y/z\nExecReload=%L/%U\n",
		dir + "home-mi\\x2da.service": "[Service]\nExecStart=%f\nExecStop=%N/%i\n", "/etc/systemd/system/opt@.service": "[Service]\nExecStart=/opt/%i/%p\nUser=%p\n",
		".config/user-tmpfiles.d/t.conf": "L %t/x - - - - %h/t\n", "/etc/systemd/user/all.service": "[Service]\nExecStart=%h/all\n", "/etc/tmpfiles.d/t.conf": "L /x - - - - %h/t\n",
	}, nil)
	uid := strconv.Itoa(os.Geteuid() + 1)
	want := map[string]string{
		dir + "a.service": "user_unit a.service! /tmp/.evil /home/mira/b /run/user/" + uid + "/c /var/tmp/d.so", dir + "paths.target.d/own.conf": "user_unit paths.target: own.conf?", dir + "paths-x.service": "user_unit paths-x.service /opt/x",
		dir + "tmp-x@opt-y.service":   "user_unit tmp-x@opt-y.service! /opt/y /opt/tmp-x/opt/y /x/x/tmp/x/tmp-x@opt-y.service /home/mira/.local/state/log/" + uid + " /home/mira/.config/systemd/user/z",
		dir + "home-mi\\x2da.service": "user_unit home-mi\\x2da.service! /home/mi-a", "/etc/systemd/system/opt@.service": "service_unit opt@.service of opt! /opt/%i/opt",
		".config/user-tmpfiles.d/t.conf": "file_rule t.conf /home/mira/t", "/etc/systemd/user/all.service": "user_unit all.service of ! %h/all", "/etc/tmpfiles.d/t.conf": "file_rule t.conf of root /root/t",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A unit in a home stands in the place of one that starts for everybody.
func TestUnitsOfAUserInThePlaceOfOthersAreEnabled(t *testing.T) {
	const service, dir = "[Service]\nExecStart=/opt/x\n", ".config/systemd/user/"
	got := inHome(t, map[string]string{
		dir + "dirmngr.socket": "[Socket]\nListenStream=%t/x\n", dir + "dirmngr.service": service, dir + "wanted.service": service, dir + "off.service": service,
		"/etc/systemd/user/sockets.target.wants/dirmngr.socket": "", "/usr/lib/systemd/user/dirmngr.socket": "[Socket]\nListenStream=/x\n",
		"/usr/lib/systemd/user/basic.target": "[Unit]\nWants=wanted.service\n",
	}, nil)
	want := map[string]string{
		dir + "dirmngr.socket": "user_unit dirmngr.socket /opt/x", dir + "dirmngr.service": "user_unit dirmngr.service /opt/x",
		dir + "wanted.service": "user_unit wanted.service? /opt/x", dir + "off.service": "user_unit off.service! /opt/x",
		"/usr/lib/systemd/user/dirmngr.socket": "user_unit dirmngr.socket of ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The same is true of the units of the system, in the folder of a vendor too.
func TestUnitsOfTheSystemThatTargetsStartAreTold(t *testing.T) {
	const service = "[Service]\nExecStart=/opt/x\n"
	got := map[string]bool{}
	for _, e := range surveyed(t, planted(t, map[string]string{
		"etc/systemd/system/x.target":               "[Unit]\nWants=evil.service\n",
		"usr/lib/systemd/system/evil.service":       service,
		"usr/lib/systemd/system/multi-user.target":  "[Unit]\nRequires=basic.target\n",
		"usr/lib/systemd/system/basic.target":       "[Unit]\nWants=base.service idle.target\n",
		"usr/lib/systemd/system/base.service":       service,
		"usr/lib/systemd/system/rescue.target":      "[Unit]\nWants=rescue.service\n",
		"usr/lib/systemd/system/rescue.service":     service,
		"etc/systemd/system/own.service":            service,
		"etc/systemd/system/alone.service":          "[Unit]\nWants=other.service\n" + service,
		"etc/systemd/system/other.service":          service,
		"usr/lib/systemd/system/idle.target":        "",
		"etc/systemd/system/idle.target.d/own.conf": "[Unit]\nWants=own.service\n",
	}, nil), nil).Entries {
		if e.Kind == startup.Service {
			got[e.Name] = *e.Enabled
		}
	}
	if diff := cmp.Diff(map[string]bool{"evil.service": true, "base.service": true, "own.service": true, "alone.service": false, "other.service": false}, got); diff != "" {
		t.Error(diff)
	}
}

// Where a link leads out of reach, what it may have started is not said to be off.
func TestUnitsThatALinkOutOfReachMayStartAreUnknown(t *testing.T) {
	const dir, text = ".config/systemd/user/", "[Service]\nExecStart=/opt/x\n"
	for link, want := range map[string]string{dir + "default.target.wants": "?", dir + "default.target.d": "?", dir + "default.target.d/x.conf": "?", dir + "al.service": "?", dir + "x.target": "?", ".bashrc": "!", ".config/autostart": "!"} {
		got := inHome(t, map[string]string{dir + "x.service": text}, map[string]string{link: "/home/mira/w"})
		if diff := cmp.Diff(map[string]string{dir + "x.service": "user_unit x.service" + want + " /opt/x", "/home/mira/" + link: " unread " + hostfile.ErrLeadsOut.Error()}, got); diff != "" {
			t.Errorf("%s: %s", link, diff)
		}
	}
}
