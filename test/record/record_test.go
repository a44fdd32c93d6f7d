// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestScrub(t *testing.T) {
	scrub := newScrubber([]string{"worf-mbp", "mac", "worf", "alice"})
	for _, test := range []struct{ in, want string }{
		{"/Users/worf/x on worf-mbp", "/Users/alice/x on mac"},
		{"ether a4:83:e7:11:22:33", "ether 00:00:5e:00:53:01"},
		{"again a4:83:e7:11:22:33", "again 00:00:5e:00:53:01"},
		{"Boot UUID: 0D3CE0B5-5EA4-4A0B-8C3D-1A2B3C4D5E6F", "Boot UUID: 00000000-0000-4000-8000-000000000002"},
		{"inet 10.11.12.13", "inet 198.51.100.3"},
		{"inet6 2a02:1234::17", "inet6 2001:db8::4"},
		{"inet6 fe80::aede:48ff:fe00:1122", "inet6 fe80::5"},
		{"inet 127.0.0.1 netmask 255.255.255.0", "inet 127.0.0.1 netmask 255.255.255.0"},
		{"Serial Number (system): C02ABCDEFGH1", "Serial Number (system): XXXXXXXXXX"},
		{`"serial_number" : "C02ABCDEFGH1"`, `"serial_number" : "XXXXXXXXXX"`},
		{"16:43:12 up", "16:43:12 up"},
		{"ProductVersion: 26.5.1", "ProductVersion: 26.5.1"},
	} {
		if got := string(scrub([]byte(test.in))); got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
	}
}

func TestOnlyWhatReadsIsRun(t *testing.T) {
	for argv, want := range map[string]bool{
		"/usr/sbin/lsof -nP -iTCP": true, "/sbin/pfctl -s info": true, "/sbin/pfctl -a com.apple/sentinel -t sentinel -T show": true,
		"/sbin/pfctl -a com.apple/sentinel -t sentinel -T add -f -": false, "/sbin/pfctl -E": false, "/sbin/pfctl -F all": false,
		"/bin/launchctl print system/com.openssh.sshd": true, "/bin/launchctl kickstart -k system/x": false,
		"/usr/libexec/ApplicationFirewall/socketfilterfw --getglobalstate":    true,
		"/usr/libexec/ApplicationFirewall/socketfilterfw --setglobalstate on": false,
		"/usr/sbin/softwareupdate --list --no-scan":                           true, "/usr/sbin/softwareupdate --install --all": false,
		"/usr/sbin/sysctl -n hw.memsize": true, "/usr/sbin/sysctl kern.maxproc=5": false, "/usr/sbin/sysctl -w kern.maxproc": false,
		"/usr/sbin/cupsctl": true, "/usr/sbin/cupsctl --share-printers": false, "/usr/bin/xattr -d com.apple.quarantine /x": false,
		"/usr/bin/dscl . -read /Users/root": true, "/usr/bin/dscl . -delete /Users/root -read": false, "/usr/bin/codesign -d -f -s x /y": false,
		"/usr/bin/codesign --verify -R=anchor apple /y": true,
		"/bin/rm -rf /": false, "/usr/local/bin/sentinel --whatever": false, "/usr/sbin/systemsetup -setremotelogin on": false, "": false,
	} {
		if got := readsOnly(argv); got != want {
			t.Errorf("%q: %v, want %v", argv, got, want)
		}
	}
}

func TestFileNames(t *testing.T) {
	if got, want := fileName("/usr/sbin/lsof -nP -i@x"), "lsof--nP--i-x.txtar"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
