// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/internal/userdb"
	"sentinel/platform/linux/audit/filetree"
	"sentinel/platform/linux/dockerd"
	"sentinel/platform/linux/packages"
)

// tableOf is the mount table that a text of mountinfo makes.
func tableOf(t *testing.T, text string) ([]*mountinfo.Info, error) {
	t.Helper()
	root := testenv.Plant(t, map[string]string{"proc/self/mountinfo": text})
	return (&machine{Parts: Parts{Root: root}}).mounts()
}

func TestMountTableIsReadWholeOrNotAtAll(t *testing.T) {
	got, err := tableOf(t, "22 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw\n30 22 0:44 /sub\\040x /mnt/a\\040b ro,nosuid - btrfs  rw\n")
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if m := got[1]; m.Root != "/sub x" || m.Mountpoint != "/mnt/a b" || m.Options != "ro,nosuid" || m.FSType != "btrfs" {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{"", "\n", "22 1 8:1 / / rw\n", "22 1 8:1 / relative rw - ext4 x rw\n", "22 1 8:1 / / rw - ext4\n"} {
		if got, err := tableOf(t, bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// toAll is for walkStarts: everybody gets everywhere.
func toAll(string) bool { return false }

// Each file system is walked once, from where its whole is seen; below the system directories, from there.
func TestWalksBeginOncePerFileSystem(t *testing.T) {
	table, err := tableOf(t, strings.Join([]string{
		"1 0 8:1 / / rw - ext4 /dev/sda1 rw",
		"2 1 0:5 / /proc rw - proc proc rw",
		"3 1 8:2 / /usr rw - ext4 /dev/sda2 rw",
		"4 1 8:3 / /home rw,nosuid - ext4 /dev/sda3 rw",
		"5 1 8:4 / /srv rw - xfs /dev/sda4 rw",
		"6 1 8:4 /data /var/data rw - xfs /dev/sda4 rw",
		"7 1 0:9 / /mnt/net rw - nfs4 server:/ rw",
		"8 1 0:10 / /tmp rw - tmpfs tmpfs rw",
		"9 1 0:11 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw",
		"10 1 0:12 /@ /mnt/btrfs rw - btrfs /dev/sdb rw",
		"11 1 0:13 / /run/user/1000 rw - tmpfs tmpfs rw",
		"12 1 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro",
		"13 1 8:5 / /opt rw - ext4 /dev/sda5 rw",
		"14 1 8:6 / /opt rw - ext4 /dev/sda6 rw",
		"15 1 0:14 / /var/lock rw,nosuid - tmpfs tmpfs rw",
	}, "\n")+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/", "/usr", "/var/data", "/opt"}, walkStarts(table, true, toAll)); diff != "" {
		t.Errorf("of the system: %s", diff)
	}
	if diff := cmp.Diff([]string{"/", "/var/tmp", "/var/run", "/srv", "/tmp", "/mnt/btrfs", "/run/user/1000"}, walkStarts(table, false, toAll)); diff != "" {
		t.Errorf("the rest: %s", diff)
	}
	if top := mountedAt(table, "/opt"); top == nil || top.Minor != 6 {
		t.Errorf("at /opt is %+v", top)
	}
	system, rest, mounted := walkSkips(true), walkSkips(false), mountedIn(table)
	for path, want := range map[string][2]bool{
		"/etc": {false, true}, "/home": {true, true}, "/root/x": {false, true}, "/data": {true, false}, "/usr": {true, true}, "/usr/bin": {false, true},
		"/proc": {true, true}, "/procession": {true, false}, "/var/lib/docker": {true, true}, "/var/lib/dockery": {false, true}, "/var/tmp": {true, false}, "/var/tmp/x": {true, false}, "/var/tmpfiles": {false, true}, "/dev": {true, false}, "/run/x": {true, false}, "/run/containerd/x": {true, true},
	} {
		if got := [2]bool{mounted[path] != filetree.Nothing || system(path), mounted[path] != filetree.Nothing || rest(path)}; got != want {
			t.Errorf("%s: skipped by the two walks: %v, want %v", path, got, want)
		}
	}
}

// What is shared may lie on a server that does not answer, and is not asked for then.
func TestAWalkBeginsAtNothingOfAServer(t *testing.T) {
	table, err := tableOf(t, "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /var rw - nfs4 server:/ rw\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/"}, walkStarts(table, false, toAll)); diff != "" {
		t.Error(diff)
	}
}

func TestDirectoryServicesAreNoticed(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "passwd: files systemd\ngroup: files [SUCCESS=merge] systemd\nhosts: files dns\n": false, "passwd:\tfiles sss\n": true,
		"group: compat winbind # x": true, "# passwd: ldap\npasswd: files": false, "passwd: files [!UNAVAIL=return] ldap": true,
	} {
		if got := len(userdb.Directories([]byte(text), "passwd", "group")) > 0; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestObjectionsAreToWhatNoPackageShips(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		mode uint32
		of   packages.File
		want string
	}{
		"of no package":           {"/usr/bin/su", 0o4755, packages.File{}, "of no package"},
		"as Debian ships it":      {"/usr/bin/su", 0o4755, packages.File{Package: "p", Mode: -1}, ""},
		"a shell of a package":    {"/usr/bin/dash", 0o4755, packages.File{Package: "p", Mode: -1}, "which gives a shell or writes any file"},
		"a shell with a version":  {"/usr/bin/python3.11", 0o2755, packages.File{Package: "p", Mode: -1}, "which gives a shell or writes any file"},
		"vim in a form":           {"/usr/bin/vim.basic", 0o4755, packages.File{Package: "p", Mode: -1}, "which gives a shell or writes any file"},
		"an override":             {"/usr/bin/dumpcap", 0o4754, packages.File{Package: "p", Mode: -1, Override: true}, ""},
		"an override of a shell":  {"/bin/bash", 0o4755, packages.File{Package: "p", Mode: -1, Override: true}, "which gives a shell or writes any file"},
		"as the data have it":     {"/bin/bbsuid", 0o4111, packages.File{Package: "p", Mode: 0o4111}, ""},
		"more than the data have": {"/bin/ping", 0o4755, packages.File{Package: "p", Mode: 0o755}, "which its package ships without"},
		"more than the override":  {"/usr/bin/at", 0o6755, packages.File{Package: "p", Mode: 0o2755, Override: true}, "which dpkg-statoverride has without"},
		"the loader of programs":  {"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", 0o4755, packages.File{Package: "p", Mode: -1}, "which gives a shell or writes any file"},
		"it runs others":          {"/usr/bin/setpriv", 0o4755, packages.File{Package: "p", Mode: -1}, "which gives a shell or writes any file"},
		"another bit":             {"/bin/x", 0o6755, packages.File{Package: "p", Mode: 0o2755}, "which its package ships without"},
		"writable":                {"/usr/bin/su", 0o4757, packages.File{Package: "p", Mode: -1}, "which everyone can write"},
	} {
		if got := setuidFault(foundFile{path: c.path, Entry: filetree.Entry{Mode: 0o100000 | c.mode}}, c.of); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What package data do not say is known of the programs that are shipped so, and of no others.
func TestOnlyWhatIsKnownToBeShippedSoPasses(t *testing.T) {
	packaged := packages.File{Package: "p", Mode: -1}
	for name, c := range map[string]struct {
		path string
		mode uint32
		caps capabilities
		of   packages.File
		want audit.Status
	}{
		"as Debian ships it":           {"/usr/bin/su", 0o4755, 0, packaged, audit.Pass},
		"diverted":                     {"/usr/bin/mount.distrib", 0o4755, 0, packaged, audit.Pass},
		"for the group of its files":   {"/usr/bin/ssh-agent", 0o2755, 0, packaged, audit.Pass},
		"for root instead":             {"/usr/bin/ssh-agent", 0o4755, 0, packaged, audit.Warn},
		"both bits":                    {"/usr/bin/tmux", 0o6755, 0, packaged, audit.Warn},
		"a game with its scores":       {"/usr/games/robots", 0o2755, 0, packaged, audit.Pass},
		"a helper of authbind":         {"/usr/lib/authbind/helper", 0o4755, 0, packaged, audit.Pass},
		"a helper of another":          {"/usr/lib/x/helper", 0o4755, 0, packaged, audit.Warn},
		"not known":                    {"/usr/bin/frobnicate", 0o4755, 0, packaged, audit.Warn},
		"not known, as the data have":  {"/usr/bin/frobnicate", 0o4755, 0, packages.File{Package: "p", Mode: 0o104755}, audit.Pass},
		"not known, as overridden":     {"/usr/bin/frobnicate", 0o4755, 0, packages.File{Package: "p", Mode: 0o4755, Override: true}, audit.Pass},
		"overridden to none":           {"/usr/bin/su", 0o4755, 0, packages.File{Package: "p", Mode: 0o755}, audit.Fail},
		"capabilities of newuidmap":    {"/usr/bin/newuidmap", 0o755, 1 << 7, packages.File{Package: "p", Mode: 0o755}, audit.Pass},
		"capabilities that none ships": {"/usr/bin/frobnicate", 0o755, 1 << 7, packages.File{Package: "p", Mode: 0o755}, audit.Warn},
		"capabilities beside a bit":    {"/usr/bin/chage", 0o2755, 1 << 7, packaged, audit.Warn},
		"a shell of a package":         {"/usr/bin/dash", 0o4755, 0, packaged, audit.Fail},
	} {
		one := foundFile{path: c.path, Entry: filetree.Entry{Mode: 0o100000 | c.mode}, caps: c.caps}
		if got := judgeSetuid([]foundFile{one}, map[string]packages.File{c.path: c.of}, localUsers{}); got.Status != c.want || got.Status != audit.Pass && len(got.Evidence) != 1 {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestSettingsOfINIFiles(t *testing.T) {
	const text = "# x\n[Journal]\nStorage = volatile\n#Storage=none\n[Other]\nStorage=x\n[ journal ]\n[Journal]\nstorage=persistent\n"
	if value, line := parseINI(text, "Journal", "Storage"); value != "persistent" || line != 9 {
		t.Errorf("%q in line %d", value, line)
	}
	if value, line := parseINI("Storage=x\n", "Journal", "Storage"); line != 0 {
		t.Errorf("outside of its section: %q in line %d", value, line)
	}
}

func TestOneLineParsers(t *testing.T) {
	for text, want := range map[string]int{"": 0, "# rocommunity public\n": 0, "rocommunity public\n": 1, "rocommunity secret\n": 0, "rwcommunity private 127.0.0.1\n": 0, "com2sec n default public\ncom2sec n localhost public\n": 1,
		"rocommunity \"public\"\n": 1, "ROcommunity 'public' default\n": 1, "rocommunity public notlocalhost.example\n": 1, "com2sec -Cn c n localhost public\n": 0,
		"com2sec ro default public  # everyone\n": 1, "com2sec -Cn c ro default public x\n": 1, "authcommunity read,write public\n": 1, "AuthCommunity log private 127.0.0.1\n": 0, "com2sec public localhost own\n": 0,
		"[snmpd] rocommunity public\n": 1, "[snmp] rocommunity public\n": 0, "[snmp]\nrocommunity public\n[snmpd]\nrocommunity public\n": 1, "[": 0, "[]": 0,
		"rocommunity public 127.0.0.1 -V all\n": 0, "rocommunity\ncom2sec\ncom2sec -Cn\nauthcommunity read\n": 0} {
		if got := easyCommunities(snmpConfig, snmpd, text); len(got) != want {
			t.Errorf("SNMP: %q: %v", text, got)
		}
	}
	for text, want := range map[string][2]int{
		"": {}, "-D\n-b 1\n-w /etc/x -p wa\n  -a always,exit -S x\n-a\n#-w /x\n": {2, 0}, "-D\n-a task,never\n-w /etc/x\n": {1, 2},
		"-a never,task -F auid=1000\n-a never,exit -S x\n-a exit,always -S y\n": {1, 0},
		"-a always,exclude -F msgtype=CWD\n-w /etc/x\n":                         {1, 0}, "-w /etc/x\n-a exclude,always\n": {1, 2}, "-w /etc/x\n-e 0\n": {1, 2}, "-w /etc/x\n-e 2\n": {1, 0},
	} {
		if rules, off := countRules(text); rules != want[0] || off != want[1] {
			t.Errorf("audit rules: %q: %d, switched off in line %d", text, rules, off)
		}
	}
	for text, want := range map[string]string{"rw,hidepid=2": "hidepid=2", "rw": "", "hidepid=0": "", "rw,xhidepid=2": ""} {
		if got := hidePIDOption(text); got != want {
			t.Errorf("proc: %q: %q", text, got)
		}
	}
}

func TestGRUBAsksForAPasswordThatIsThere(t *testing.T) {
	const fedora = "if [ -f ${prefix}/user.cfg ]; then\n  source ${prefix}/user.cfg\n  if [ -n \"${GRUB2_PASSWORD}\" ]; then\n    set superusers=\"root\"\n    export superusers\n    password_pbkdf2 root ${GRUB2_PASSWORD}\n  fi\nfi\n"
	const own = "set superusers=\"root\"\npassword_pbkdf2 root grub.pbkdf2.sha512.10000.AB.CD\n"
	for name, c := range map[string]struct {
		config, user string
		want         audit.Status
	}{
		"a hash":                         {own, "", audit.Pass},
		"a text":                         {"set superusers=root\npassword root secret\n", "", audit.Pass},
		"no superuser":                   {"set superusers=\"\"\npassword x y\n", "", audit.Warn},
		"none that is set":               {"password_pbkdf2 root x\n", "", audit.Warn},
		"a superuser alone":              {"set superusers=root\n", "", audit.Warn},
		"without a password":             {"set superusers=root\npassword root\n", "", audit.Warn},
		"Fedora, as it is installed":     {fedora, "", audit.Warn},
		"Fedora, with a password":        {fedora, "GRUB2_PASSWORD=grub.pbkdf2.sha512.10000.AB.CD\n", audit.Pass},
		"Fedora, with one taken back":    {fedora, "GRUB2_PASSWORD=grub.pbkdf2.sha512.10000.AB.CD\nGRUB2_PASSWORD=\n", audit.Warn},
		"a password that nobody asks of": {"menuentry x {\n}\n", "GRUB2_PASSWORD=grub.pbkdf2.sha512.10000.AB.CD\n", audit.Warn},
	} {
		files := map[string]string{"boot/grub2/grub.cfg": c.config, "boot/grub2/user.cfg": c.user}
		if f := ask(t, "files.boot_password", files); f.Status != c.want {
			t.Errorf("%s: %+v, want %s", name, f, c.want)
		}
	}
}

func TestDockerAddressesThatAnswerEveryone(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 0, ``: 0, `{"hosts": ["tcp://0.0.0.0:2375"]}`: 1, `{"hosts": ["tcp://0.0.0.0:2376"], "tlsverify": true}`: 0, `{"hosts": ["tcp://127.0.0.1:2375", "tcp://[::1]:2375", "fd://", "tcp://localhost", "127.1.2.3:2375"]}`: 0, `{"hosts": ["tcp://192.0.2.1"], "tls": true}`: 1,
		`{"hosts": ["0.0.0.0:2375", "tcp://127.0.0.1.nip.io:2375", "tcp://localhost.example:2375", "[::]:2375", "tcp://[::]", " 192.0.2.1 "]}`: 6, `{"hosts": [":2375", "tcp://", "tcp://:2375", "unix:///run/docker.sock"]}`: 0,
	} {
		c, err := dockerd.Parse([]byte(text))
		if got := openIn(c, dockerd.DefaultFile); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := dockerd.Parse([]byte("{")); err == nil {
		t.Errorf("what is cut off: %v", got)
	}
}

func TestDockerIsControlledAsItsServiceHasIt(t *testing.T) {
	const unit, dropIn = "usr/lib/systemd/system/docker.service", "etc/systemd/system/docker.service.d/10-tcp.conf"
	const socket, socketDropIn = "usr/lib/systemd/system/docker.socket", "etc/systemd/system/docker.socket.d/10-tcp.conf"
	files := map[string]string{unit: "[Service]\nEnvironmentFile=-/etc/default/docker\nExecStart=/usr/sbin/dockerd -H fd:// $DOCKER_OPTS\n"}
	for name, c := range map[string]struct {
		files map[string]string
		want  audit.Status
		says  string
	}{
		"as Debian has it":               {files, audit.Pass, ""},
		"a drop-in":                      {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/dockerd -H tcp://0.0.0.0:2375\n", dockerd.DefaultFile[1:], "{}"), audit.Fail, "docker.service: -H tcp://0.0.0.0:2375"},
		"another form":                   {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/dockerd --host=0.0.0.0:2375\n"), audit.Fail, "docker.service: -H 0.0.0.0:2375"},
		"its variable":                   {with(files, "etc/default/docker", "# x\nDOCKER_OPTS=\"--dns 192.0.2.1 -H 192.0.2.1\"\n"), audit.Fail, "docker.service: -H 192.0.2.1"},
		"taken back":                     {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/dockerd -H tcp://:2375\n"), audit.Pass, ""},
		"with certificates":              {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/dockerd --tlsverify -H tcp://0.0.0.0:2376\n"), audit.Pass, ""},
		"a hidden drop-in":               {with(files, dropIn, "", "usr/lib/systemd/system/docker.service.d/10-tcp.conf", "[Service]\nExecStart=dockerd -H 0.0.0.0\n"), audit.Pass, ""},
		"no Docker":                      {map[string]string{"etc/": ""}, "", ""},
		"another file":                   {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd --config-file /srv/d.json\n", "srv/d.json", `{"hosts": ["tcp://0.0.0.0:2375"]}`), audit.Fail, "/srv/d.json: tcp://0.0.0.0:2375"},
		"the file that it does not read": {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd --config-file=/srv/d.json\n", "srv/d.json", "{}", dockerd.DefaultFile[1:], `{"hosts": ["tcp://0.0.0.0:2375"]}`), audit.Pass, ""},
		"another file that is cut off":   {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd --config-file=/srv/d.json\n", "srv/d.json", "{"), "", "/srv/d.json: is not JSON"},
		"letters in one word":            {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd -DH tcp://0.0.0.0:2375\n"), audit.Fail, "docker.service: -H tcp://0.0.0.0:2375"},
		"letters and value in one word":  {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd -DH=0.0.0.0\n"), audit.Fail, "docker.service: -H 0.0.0.0"},
		"a value with its letter":        {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd -GH tcp://0.0.0.0:2375\n"), audit.Pass, ""},
		"by a shell":                     {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/bin/sh -c \"exec dockerd -H tcp://0.0.0.0:2375\"\n"), audit.Fail, "docker.service: -H tcp://0.0.0.0:2375"},
		"by a shell, for itself":         {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/bin/sh -c '(exec dockerd -H tcp://127.0.0.1:2375); true'\n"), audit.Pass, ""},
		"by a shell in a shell":          {with(files, dropIn, "[Service]\nEnvironment=O=-H0.0.0.0\nExecStart=\nExecStart=/usr/bin/env sh -c \"true && sh -c 'dockerd $O'\"\n"), audit.Fail, "docker.service: -H 0.0.0.0"},
		"by a variable of itself":        {with(files, dropIn, "[Service]\nEnvironment=\"O=\\\"$O x\\\" y\"\nExecStart=\nExecStart=/bin/sh -c \"$O z\"\n"), "", `docker.service starts "/bin/sh", which may start dockerd with any option`},
		"by a script":                    {with(files, dropIn, "[Service]\nExecStart=\nExecStart=/srv/start -H fd://\n"), "", `docker.service starts "/srv/start", which may start dockerd with any option`},
		"its socket":                     {with(files, socket, "[Socket]\nListenStream=/run/docker.sock\n", socketDropIn, "[Socket]\nListenStream=0.0.0.0:2375\n"), audit.Fail, "docker.socket: ListenStream=0.0.0.0:2375"},
		"its socket, by a specifier":     {with(files, socket, "[Socket]\nListenStream=%t/docker.sock\n"), audit.Pass, ""},
		"its socket, by the port alone":  {with(files, socket, "[Socket]\nListenStream=2375\n"), audit.Fail, "docker.socket: ListenStream=2375"},
		"its socket, taken back":         {with(files, socket, "[Socket]\nListenStream=2375\n", socketDropIn, "[Socket]\nListenStream=\nListenStream=[::1]:2375\nListenStream=@x\nListenStream=vsock::1\n"), audit.Pass, ""},
		"its socket with certificates":   {with(files, socket, "[Socket]\nListenStream=2376\n", dockerd.DefaultFile[1:], `{"tlsverify": true}`), audit.Pass, ""},
		"a socket alone":                 {map[string]string{socket: "[Socket]\nListenStream=2375\n"}, audit.Fail, "docker.socket: ListenStream=2375"},
		"a file that is big":             {with(files, "etc/default/docker", strings.Repeat("#", maxFile+1)), "", ""},
	} {
		f := ask(t, "containers.network", c.files)
		said := append(slices.Clone(f.Evidence), f.Reason)
		if f.Status != c.want || len(f.Evidence) > 1 || c.says != "" && said[0] != c.says {
			t.Errorf("%s: %+v, want %q %s", name, f, c.want, c.says)
		}
	}
}

// What parsers of lines find stands in their input.
func FuzzLines(f *testing.F) {
	f.Add("[Journal]\nStorage=x\n")
	f.Add("rocommunity public\nset superusers=x\npassword x\nproc /proc proc rw 0 0\nx:y:1:a,b\npasswd: ldap\n")
	f.Fuzz(func(t *testing.T, text string) {
		raw := []byte(text)
		if value, line := parseINI(text, "Journal", "Storage"); line > strings.Count(text, "\n")+1 || !strings.Contains(text, value) {
			t.Errorf("%q in line %d", value, line)
		}
		for _, d := range []repositoryDialect{ofDNF(true), ofZypp} {
			for _, s := range d.sections("/x", text) {
				d.checks(s)
			}
		}
		userdb.Directories(raw)
		asksPassword(text, text)
		easyCommunities(snmpConfig, snmpd, text)
		countRules(text)
		supportEnd(text)
		if c, err := dockerd.Parse(raw); err == nil && len(openIn(c, dockerd.DefaultFile)) > len(c.Hosts) {
			t.Errorf("%v", c)
		}
		c := unitCommand{environment: map[string]string{}}
		c.take(text)
		c.set("ExecStart", text, new([]string))
		c.arguments()
	})
}

// A user can move what is mounted in a directory of theirs to where no walk comes. The rest is walked, and a
// file system that may hold programs there is said to be missing.
func TestAWalkSaysThatFileSystemsAreFarAway(t *testing.T) {
	far := "/home/eve" + strings.Repeat("/"+strings.Repeat(`\040`, 250), 75)
	table, err := tableOf(t, strings.Join([]string{
		"1 0 8:1 / / rw - ext4 /dev/sda1 rw",
		"2 1 8:2 / " + far + "/disk rw - ext4 /dev/sdb1 rw",
		"3 1 8:3 / " + far + "/stick rw,nosuid - ext4 /dev/sdc1 rw",
		"4 1 0:9 / " + far + "/mnt rw,nosuid,nodev - fuse.x x rw,user_id=54321",
		"5 1 8:4 / /srv rw - xfs /dev/sda4 rw",
		"6 1 8:4 " + far + " /srv/far rw - xfs /dev/sda4 rw",
	}, "\n")+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/", "/var/tmp", "/var/lock", "/var/run", "/srv", "/srv/far"}, walkStarts(table, false, toAll)); diff != "" {
		t.Error(diff)
	}
	if mounted := mountedIn(table); mounted["/srv/far"] != filetree.OfSystem || walkSkips(false)("/home/eve") {
		t.Error("what is mounted is entered, or what is not is left out")
	}
	r := walkResult{far: countFar(table)}
	if got := r.incomplete(); got != "file systems at paths that are too long to follow: 1" {
		t.Error(got)
	}
}
