// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// What a fetch that fails leaves behind makes no list younger, and no list is younger than now.
func TestOnlyAFetchThatSucceedsMakesTheListsYoung(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	old := now.Add(-90 * 24 * time.Hour)
	apt := map[string]string{"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "var/lib/apt/lists/a_Packages": "", "var/lib/apt/lists/partial/": ""}
	dnf := map[string]string{"usr/bin/dnf": "", "var/lib/rpm/x": "", "var/cache/dnf/base-1/repodata/repomd.xml": "", "var/cache/dnf/base.solv": "", "var/cache/dnf/expired_repos.json": "[]"}
	pacman := map[string]string{"usr/bin/pacman": "", "var/lib/pacman/local/x": "", "var/lib/pacman/sync/core.db": ""}
	for name, c := range map[string]struct {
		files  map[string]string
		fresh  string // what was touched today
		status audit.Status
		says   string
	}{
		"apt, fetched":             {apt, "var/lib/apt/lists", audit.Pass, "apt, fetched 0 days ago"},
		"apt, a failing fetch":     {apt, "var/lib/apt/lists/partial", audit.Fail, "apt, fetched 90 days ago"},
		"apt, a run of the timer":  {with(apt, "var/lib/apt/periodic/update-stamp", ""), "var/lib/apt/periodic/update-stamp", audit.Fail, "apt, fetched 90 days ago"},
		"apt, found current":       {with(apt, "var/lib/apt/periodic/update-success-stamp", ""), "var/lib/apt/periodic/update-success-stamp", audit.Pass, "apt, fetched 0 days ago"},
		"dnf, expired":             {dnf, "var/cache/dnf/expired_repos.json", audit.Fail, "dnf, fetched 90 days ago"},
		"dnf, fetched":             {dnf, "var/cache/dnf/base-1/repodata/repomd.xml", audit.Pass, "dnf, fetched 0 days ago"},
		"pacman, a failing fetch":  {pacman, "var/lib/pacman/sync", audit.Fail, "pacman, fetched 90 days ago"},
		"dnf beside an empty dpkg": {withAll(dnf, "usr/bin/apt-get", "", "var/lib/dpkg/status", ""), "var/cache/dnf/base-1/repodata/repomd.xml", audit.Pass, "dnf, fetched 0 days ago"},
	} {
		root := testenv.Plant(t, c.files)
		dated(t, root, old)
		at(t, filepath.Join(root, c.fresh), now)
		if got := one(t, "updates.list_age", Parts{Root: root, Now: now}); got.Status != c.status || got.Value != c.says {
			t.Errorf("%s: %+v, want %s %q", name, got, c.status, c.says)
		}
	}
	root := testenv.Plant(t, apt)
	dated(t, root, now.Add(48*time.Hour))
	if got := one(t, "updates.list_age", Parts{Root: root, Now: now}); got.Status != "" || !strings.Contains(got.Reason, "/var/lib/apt/lists is dated in the future") {
		t.Errorf("dated in the future: %+v", got)
	}
}

func withAll(files map[string]string, more ...string) map[string]string {
	files = maps.Clone(files)
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

func at(t *testing.T, path string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// dated gives everything below root the same date.
func dated(t *testing.T, root string, when time.Time) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			at(t, path, when)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One timer fetches the lists, the other installs from them.
func TestUnattendedUpgradesNeedBothOfTheirTimers(t *testing.T) {
	files := map[string]string{
		"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "run/systemd/system/": "", "usr/bin/unattended-upgrade": "",
		"etc/apt/apt.conf.d/20auto-upgrades":                     "APT::Periodic::Update-Package-Lists \"1\";\nAPT::Periodic::Unattended-Upgrade \"1\";\n",
		"etc/apt/apt.conf.d/50unattended-upgrades":               "Unattended-Upgrade::Allowed-Origins { \"Debian:bookworm-security\"; };\n",
		"etc/systemd/system/timers.target.wants/apt-daily.timer": "", "etc/systemd/system/timers.target.wants/apt-daily-upgrade.timer": "",
	}
	for masked, want := range map[string]audit.Status{"": audit.Pass, "apt-daily.timer": audit.Warn, "apt-daily-upgrade.timer": audit.Warn} {
		root := testenv.Plant(t, files)
		if masked != "" {
			if err := os.Symlink("/dev/null", filepath.Join(root, "etc/systemd/system", masked)); err != nil {
				t.Fatal(err)
			}
		}
		got := one(t, "updates.automatic", Parts{Root: root})
		if got.Status != want || want == audit.Warn && !strings.HasPrefix(got.Evidence[0], masked) {
			t.Errorf("%q masked: %+v, want %s", masked, got, want)
		}
	}
}

// What is set so that nothing is installed, or a year later, is not automatic.
func TestUnattendedUpgradesInstallSomethingInTime(t *testing.T) {
	const allowed = "Unattended-Upgrade::Allowed-Origins { \"Debian:bookworm-security\"; };\n"
	lists := func(every string) string { return "APT::Periodic::Update-Package-Lists \"" + every + "\";\n" }
	install := func(every string) string { return "APT::Periodic::Unattended-Upgrade \"" + every + "\";\n" }
	for name, c := range map[string]struct {
		config string
		want   audit.Status
		says   string
	}{
		"each day":               {lists("1") + install("1") + allowed, audit.Pass, "unattended-upgrades"},
		"each week":              {lists("7") + install("7d") + allowed, audit.Pass, "unattended-upgrades"},
		"in seconds":             {lists("30s") + install("5m") + allowed, audit.Pass, "unattended-upgrades"},
		"each run":               {lists("always") + install("2h") + allowed, audit.Pass, "unattended-upgrades"},
		"lists of a year":        {lists("365") + install("1") + allowed, audit.Warn, `/etc/apt/apt.conf.d: APT::Periodic::Update-Package-Lists "365"`},
		"once a year":            {lists("1") + install("365") + allowed, audit.Warn, `/etc/apt/apt.conf.d: APT::Periodic::Unattended-Upgrade "365"`},
		"in many hours":          {lists("1") + install("169h") + allowed, audit.Warn, `/etc/apt/apt.conf.d: APT::Periodic::Unattended-Upgrade "169h"`},
		"beyond all numbers":     {lists("1") + install("4294967295d") + allowed, audit.Warn, `/etc/apt/apt.conf.d: APT::Periodic::Unattended-Upgrade "4294967295d"`},
		"in no unit":             {lists("1") + install("1w") + allowed, audit.Warn, `/etc/apt/apt.conf.d: APT::Periodic::Unattended-Upgrade "1w"`},
		"off":                    {lists("1") + install("0") + allowed, audit.Warn, "/etc/apt/apt.conf.d: APT::Periodic::Unattended-Upgrade is not set"},
		"from nowhere":           {lists("1") + install("1"), audit.Warn, "/etc/apt/apt.conf.d: neither Unattended-Upgrade::Origins-Pattern nor Unattended-Upgrade::Allowed-Origins names one"},
		"cleared":                {lists("1") + install("1") + allowed + "#clear Unattended-Upgrade::Allowed-Origins;\n", audit.Warn, "/etc/apt/apt.conf.d: neither Unattended-Upgrade::Origins-Pattern nor Unattended-Upgrade::Allowed-Origins names one"},
		"nothing but the held":   {lists("1") + install("1") + allowed + "Unattended-Upgrade::Package-Blacklist { \".*\"; };\n", audit.Warn, "/etc/apt/apt.conf.d: Unattended-Upgrade::Package-Blacklist .*"},
		"held by their letters":  {lists("1") + install("1") + allowed + "Unattended-Upgrade::Package-Blacklist { \"[a-m]\"; \"[n-z0-9]\"; };\n", audit.Warn, "/etc/apt/apt.conf.d: Unattended-Upgrade::Package-Blacklist [a-m] [n-z0-9]"},
		"a kernel that is held":  {lists("1") + install("1") + allowed + "Unattended-Upgrade::Package-Blacklist { \"linux-\"; \"libc6$\"; };\n", audit.Pass, "unattended-upgrades"},
		"held by what is Python": {lists("1") + install("1") + allowed + "Unattended-Upgrade::Package-Blacklist { \"(?!x)\"; };\n", "", "Unattended-Upgrade::Package-Blacklist has a pattern that is not understood here: \"(?!x)\""},
	} {
		root := testenv.Plant(t, map[string]string{"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "usr/bin/unattended-upgrade": "", "etc/apt/apt.conf.d/20auto-upgrades": c.config})
		f := one(t, "updates.automatic", Parts{Root: root})
		said := f.Value + f.Reason
		if len(f.Evidence) > 0 {
			said = f.Evidence[0]
		}
		if f.Status != c.want || said != c.says || c.want == audit.Warn && f.Fix == "" {
			t.Errorf("%s: %+v, want %s", name, f, c.want)
		}
	}
}

func TestASourceOfSecurityUpdatesIsOneThatIsOn(t *testing.T) {
	const stanza = "Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security\n"
	for name, c := range map[string]struct {
		file, text string
		want       audit.Status
	}{
		"a stanza":         {"debian.sources", stanza, audit.Pass},
		"a disabled one":   {"debian.sources", "Enabled: no\n" + stanza, audit.Fail},
		"source code":      {"debian.list", "deb-src http://mirror.example/debian-security bookworm-security main\n", audit.Fail},
		"a name of a host": {"debian.list", "deb http://my-security.example/debian bookworm main\n", audit.Fail},
		"another release":  {"debian.list", "deb http://security.debian.org/debian-security buster/updates main\n", audit.Fail},
		"the one before":   {"debian.list", "deb http://security.debian.org/debian-security bullseye-security main\n", audit.Fail},
		"whichever it is":  {"debian.list", "deb http://security.debian.org/debian-security stable-security main\n", audit.Pass},
		"a line":           {"debian.list", "deb http://security.debian.org/debian-security bookworm-security main\n", audit.Pass},
	} {
		files := map[string]string{"etc/os-release": "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nPRETTY_NAME=Debian\n", "etc/apt/sources.list.d/" + c.file: c.text}
		if got := one(t, "updates.security_source", Parts{Root: testenv.Plant(t, files)}); got.Status != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestSignaturesAreSwitchedOffInEachFileOfDNF(t *testing.T) {
	dnf := map[string]string{"usr/bin/dnf5": "", "usr/lib/sysimage/rpm/x": "", "usr/bin/apt-get": "", "var/lib/dpkg/status": ""}
	if got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, dnf)}); got.Status != audit.Pass || got.Value != "dnf checks signatures" {
		t.Errorf("nothing switched off: %+v", got)
	}
	on := with(dnf, "etc/yum.repos.d/a.repo", "[a]\ngpgcheck=1\n")
	for file, text := range map[string]string{
		"etc/dnf/dnf.conf": "[main]\ngpgcheck = 0", "etc/yum.repos.d/b.repo": "[b]\ngpgcheck=0", "etc/dnf/repos.override.d/99.repo": "[*]\ngpgcheck=0",
		"etc/dnf/libdnf5.conf.d/9.conf": "[main]\npkg_gpgcheck=0", "usr/share/dnf5/libdnf.conf.d/9.conf": "[main]\npkg_gpgcheck=False",
	} {
		got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, with(on, file, text+"\n"))})
		_, line, _ := strings.Cut(strings.ReplaceAll(text, " ", ""), "\n")
		if got.Status != audit.Fail || len(got.Evidence) != 1 || got.Evidence[0] != "/"+file+":2: "+line {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

func TestSignaturesAreCheckedAsTheManagerReadsItsFiles(t *testing.T) {
	four := map[string]string{"usr/bin/dnf": "", "usr/lib/sysimage/rpm/x": ""}
	zypper := map[string]string{"usr/bin/zypper": "", "etc/products.d/x": ""}
	repo := func(base map[string]string, settings string) map[string]string {
		return with(base, "etc/yum.repos.d/a.repo", "[a]\nname=x\n"+settings+"\n", "etc/zypp/repos.d/a.repo", "[a]\nname=x\n"+settings+"\n")
	}
	const none = "a.repo:1: [a] has no gpgcheck, nor has [main]: the default is off"
	on := with(four, "etc/dnf/dnf.conf", "[main]\ngpgcheck=1\n")
	for name, c := range map[string]struct {
		files map[string]string
		says  string // "" where it passes
	}{
		"a tab":                    {repo(four, "gpgcheck\t= 0"), "a.repo:3: gpgcheck=0"},
		"nowhere":                  {repo(four, ""), none},
		"in the main file":         {repo(on, ""), ""},
		"no word":                  {repo(four, "gpgcheck=2"), none},
		"a comment behind":         {repo(four, "gpgcheck=1 # x"), none},
		"in quotes":                {repo(four, `gpgcheck="1"`), ""},
		"another case":             {repo(four, "GPGCHECK=1"), none},
		"a part of the name":       {repo(four, " gpgcheck=1"), none},
		"the last counts":          {repo(on, "gpgcheck=1\ngpgcheck=0"), "a.repo:4: gpgcheck=0"},
		"the key of dnf5":          {repo(four, "pkg_gpgcheck=1"), none},
		"switched off":             {repo(four, "gpgcheck=0\nenabled=no"), ""},
		"not a repository":         {with(four, "etc/yum.repos.d/a.repo.rpmsave", "[a]\ngpgcheck=0\n"), ""},
		"in the main file of dnf":  {with(on, "etc/dnf/dnf.conf", "[main]\ngpgcheck=1\n[own]\ngpgcheck=off\n"), "dnf.conf:4: gpgcheck=off"},
		"a drop-in of dnf5 alone":  {with(repo(four, ""), "etc/dnf/libdnf5.conf.d/a.conf", "[main]\ngpgcheck=1\n"), none},
		"a drop-in that is hidden": {with(repo(with(four, "usr/bin/dnf5", ""), ""), "etc/dnf/libdnf5.conf.d/a.conf", "", "usr/share/dnf5/libdnf.conf.d/a.conf", "[main]\ngpgcheck=1\n"), none},
		"an override that is on":   {with(repo(with(four, "usr/bin/dnf5", ""), "gpgcheck=0"), "etc/dnf/repos.override.d/a.repo", "[a*]\ngpgcheck=1\n"), ""},
		"zypper by default":        {repo(zypper, ""), ""},
		"zypper with blanks":       {repo(zypper, " gpgcheck\t= never"), "a.repo:3: gpgcheck=never"},
		"zypper with no word":      {repo(zypper, "gpgcheck=0 # x"), ""},
		"zypper of packages":       {repo(zypper, "gpgcheck=0\npkg_gpgcheck=1"), ""},
		"zypper in its main file":  {with(repo(zypper, ""), "etc/zypp/zypp.conf", "[main]\ngpgcheck = off\n"), "zypp.conf:2: gpgcheck=off"},
	} {
		got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, c.files)})
		failed := len(got.Evidence) == 1 && strings.HasSuffix(got.Evidence[0], c.says)
		if c.says == "" && got.Status != audit.Pass || c.says != "" && (got.Status != audit.Fail || !failed) {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
	}
}

// An included file is apt's as the one that includes it (apt.conf(5)).
func TestOptionsThatAptIncludesCount(t *testing.T) {
	files := map[string]string{
		"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "etc/apt/apt.conf.d/50own": "#include \"/srv/apt/more\";\n",
		"srv/apt/more": "APT::Get::AllowUnauthenticated \"with\";\n",
	}
	got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, files)})
	if got.Status != audit.Fail || len(got.Evidence) != 1 || got.Evidence[0] != "/etc/apt/apt.conf.d: APT::Get::AllowUnauthenticated is on" {
		t.Errorf("included: %+v", got)
	}
	delete(files, "srv/apt/more")
	if got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, files)}); got.Status != "" || !got.Applies {
		t.Errorf("an included file that is not there: %+v", got)
	}
	files["srv/apt/more"] = "APT::Get::AllowUnauthenticated \"with\";\n#clear APT::Get;\n"
	if got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, files)}); got.Status != audit.Pass {
		t.Errorf("taken back: %+v", got)
	}
}

func TestAptTrustsInEachOfItsWords(t *testing.T) {
	const stanza = "Types: deb\nURIs: http://x.example/y\nSuites: z\n"
	for name, c := range map[string]struct {
		file, text string
		want       audit.Status
		says       string
	}{
		"a word":              {"a.list", "deb [trusted=true] http://x.example/y z\n", audit.Fail, "a.list:1: deb [trusted=true] http://x.example/y z"},
		"insecure":            {"a.list", "deb [allow-insecure=1] http://x.example/y z\n", audit.Fail, "a.list:1: deb [allow-insecure=1] http://x.example/y z"},
		"in the next line":    {"a.sources", stanza + "Trusted:\n on\n", audit.Fail, "a.sources:4: Trusted: on"},
		"switched off":        {"a.sources", "Enabled: no\n" + stanza + "Trusted: yes\n", audit.Pass, ""},
		"not one of apt":      {"a.list.save", "deb [trusted=yes] http://x.example/y z\n", audit.Pass, ""},
		"a word of its enemy": {"a.list", "deb [trusted=off] http://x.example/y z\n", audit.Pass, ""},
	} {
		files := map[string]string{"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "etc/apt/sources.list.d/" + c.file: c.text}
		got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, files)})
		if got.Status != c.want || c.says != "" && (len(got.Evidence) != 1 || got.Evidence[0] != "/etc/apt/sources.list.d/"+c.says) {
			t.Errorf("%s: %+v, want %s %q", name, got, c.want, c.says)
		}
	}
}
