// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/assets"
	"sentinel/internal/audit"
	"sentinel/internal/doctor"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/reach"
)

// A usual screen is one on which a person looks after a server.
func usualScreen(doc document) *page {
	p := newPage(80, false)
	p.height, p.command = 24, "sentinel --x"
	p.fuller = func() string { return "sudo sentinel --x" }
	doc.view(p)
	p.end()
	return p
}

// troubled is a health document with so many reasons.
func troubled(failed int) *healthDocument {
	d := &healthDocument{Connections: &network.Connections{FlowsTotal: 12, ListeningTotal: 3, Listening: []network.Listener{
		{ProcessName: "sshd", Address: "0.0.0.0:22", Protocol: network.TCP, Exposed: true, Reach: reach.Reachable},
		{ProcessName: "sshd", Address: "[::]:22", Protocol: network.TCP, Exposed: true, Reach: reach.Reachable},
		{ProcessName: "mysqld", Address: "127.0.0.1:3306", Protocol: network.TCP},
	}}}
	d.Hostname = "web-1"
	d.CPU = &health.CPU{Percent: new(12.0), Cores: 4, Load1: new(0.5), Load5: new(0.5), Load15: new(0.5)}
	d.Memory = &health.Memory{TotalBytes: 16 << 30, UsedBytes: 4 << 30, UsedPercent: 25}
	d.FirewallStatus, d.FirewallEvidence = "DISABLED", "no rule that filters what comes in is loaded"
	d.Disks = []health.Disk{{Mountpoint: "/srv", Device: "/dev/sdb1", FileSystem: "ext4", SizeBytes: 1 << 40, UsedBytes: 9 << 36, AvailableBytes: 1 << 36, UsedPercent: 91}}
	d.DisksTotal = new(1)
	for i := range failed {
		d.FailedUnits = append(d.FailedUnits, health.FailedUnit{Name: fmt.Sprintf("job%d.service", i)})
	}
	d.FailedUnitsTotal = new(failed)
	d.Unavailable.Note("temperature", "not readable without root")
	d.Judge(health.DefaultThresholds())
	return d
}

func TestHealthFitsTheUsualScreenWithWhatIsBehindAndTheNextCommand(t *testing.T) {
	p := usualScreen(troubled(2))
	got := string(p.bytes())
	if !p.fits() {
		t.Errorf("it takes %d rows", p.rows(p.b.Bytes()))
	}
	for _, want := range []string{
		"WARNING: web-1 needs attention.\n\n",
		"WARNING  The file system at \"/srv\" is 91 % full.\n  \"/dev/sdb1\": 64.0 GiB of 1.0 TiB left\n  sudo sentinel --disk-usage /srv\n",
		"WARNING  Failed units: 2.\n  job0.service, job1.service\n  sentinel --service job0.service\n",
		"WARNING  The firewall is off.\n  no rule that filters what comes in is loaded\n  sudo sentinel --fix-firewall --dry-run\n",
		"network       12 connections, 3 listening sockets; for other hosts: sshd tcp 22\n",
		"not known     temperature (--verbose says why)\nas root       sudo sentinel --x\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "failed units  ") {
		t.Errorf("the units are there twice:\n%s", got)
	}
}

func audited(findings int) auditDocument {
	d := auditDocument{}
	d.Overall, d.Score, d.Evaluated, d.Applicable, d.ChecksTotal = audit.OverallFail, 60, 61, 62, 61
	for i := range findings {
		d.Checks = append(d.Checks, audit.Result{
			ID: fmt.Sprint("a.", i), Name: fmt.Sprintf("Check %d", i), Status: audit.Fail, Severity: audit.High, Value: strings.Repeat("seen ", 20) + "end.",
			Evidence: []string{"/etc/file: one", "/etc/file: two"}, Fix: fmt.Sprintf("Write it, then run: sudo fix %d", i),
		})
	}
	return d
}

func TestTheAuditFitsTheUsualScreenAndCountsTheRest(t *testing.T) {
	p := usualScreen(audited(20))
	got := string(p.bytes())
	shown := strings.Count(got, "FAIL high  Check")
	if !p.fits() || shown < 2 {
		t.Errorf("%d rows with %d findings:\n%s", p.rows(p.b.Bytes()), shown, got)
	}
	for i := range shown {
		want := fmt.Sprintf("Write it, then run:\n  sudo fix %d\n", i)
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("\n%d more: %d FAIL high.\n41 checks pass, 1 could not run, 0 do not apply here.\nEverything, with what to do: sentinel --x --verbose\n", 20-shown, 20-shown),
		"  /etc/file: one; two\n", "seen end.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// A finding that is longer than the screen is there all the same, and so is the verdict
// below it.
func TestALongFindingEndsWithVerdictAndNextStep(t *testing.T) {
	d := audited(2)
	d.Checks[0].Value = strings.Repeat("seen ", 500)
	got := string(usualScreen(d).bytes())
	if !strings.HasSuffix(got, "\n\nFAIL: Score 60 of 100; 61 of 62 checks came to a verdict.\n  Write it, then run:\n  sudo fix 0\n") {
		t.Errorf("%s", got)
	}
}

func TestTheDoctorFitsTheUsualScreenWithWholeValues(t *testing.T) {
	var checks []doctor.Finding
	for i := range 12 {
		checks = append(checks, doctor.Finding{Status: doctor.OK, Name: fmt.Sprintf("part %d", i), Value: "fine"})
	}
	long := strings.Repeat("It is not as it should be. ", 5) + "END"
	for i := range 9 {
		checks = append(checks, doctor.Finding{Status: []string{doctor.Unknown, doctor.Warning, doctor.Problem}[i%3], Name: fmt.Sprintf("matter %d", i), Value: long, Fix: fmt.Sprintf("Run: sudo repair %d", i)})
	}
	p := usualScreen(doctored(checks...))
	got := string(p.bytes())
	shown := strings.Count(got, "END\n")
	if !p.fits() || shown < 2 || !strings.HasPrefix(got, "PROBLEM: 21 checks, 3 problems, 3 warnings.\n\nproblem  matter 2: It is not") {
		t.Errorf("%d rows, %d findings:\n%s", p.rows(p.b.Bytes()), shown, got)
	}
	for _, want := range []string{fmt.Sprintf("\n%d more of 9: sentinel --x --verbose\n", 9-shown), "\nok  part 0, part 1,", "  Run:\n  sudo repair 2\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestAssetsFitTheUsualScreen(t *testing.T) {
	d := assetDocument{}
	d.Asset = assets.Asset{
		AssetID: "0b5d3f6e-0000-4000-8000-000000000000", SerialNumber: "PF00000", Hostname: "laptop",
		Hardware: assets.Hardware{Vendor: "LENOVO", Model: "20XW", Chip: "a processor", Cores: new(8), CoresPhysical: new(4), MemoryBytes: new(uint64(16 << 30))},
		OS:       assets.OS{Name: "Debian GNU/Linux", Version: "12", Kernel: "6.1.0", Architecture: "x86_64", Build: "12.5", Uptime: "3 days, 1:02"},
		Security: assets.Security{Firewall: "ACTIVE", SecureBoot: "enabled", AppArmor: "enabled", SELinux: "disabled", DiskEncryption: new(true)},
	}
	for i := range 20 {
		d.Asset.Network.Interfaces = append(d.Asset.Network.Interfaces, assets.Interface{Name: fmt.Sprint("eth", i), State: "up", Addresses: []string{fmt.Sprintf("192.0.2.%d/24", i), "fe80::1/64"}})
		d.Asset.Storage.Volumes = append(d.Asset.Storage.Volumes, assets.VolumeRow{Mountpoint: fmt.Sprint("/srv/", i), Device: "/dev/sda", FileSystem: "ext4", SizeBytes: new(uint64(1 << 40))})
	}
	d.Asset.Network.InterfacesTotal, d.Asset.Storage.VolumesTotal = new(20), new(20)
	d.Unavailable = answer.Gaps{{Field: "security.lockdown", Reason: "securityfs is not mounted here"}}
	p := usualScreen(d)
	got := string(p.bytes())
	if !p.fits() {
		t.Errorf("it takes %d rows:\n%s", p.rows(p.b.Bytes()), got)
	}
	for _, want := range []string{
		"ASSET: laptop is a LENOVO 20XW with Debian GNU/Linux 12.\n\n",
		"hardware       a processor, 8 cores (4 physical), 16.0 GiB of memory\n",
		"interfaces     eth0 192.0.2.0/24, eth1 192.0.2.1/24, eth2 192.0.2.2/24, 17 more\n",
		"volumes        /srv/0 - of 1.0 TiB used, ext4; ",
		"not known      security.lockdown (--verbose says why)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// What was cut must be there for whoever wants it.
func TestVerbosePagesCutNothing(t *testing.T) {
	for name, doc := range map[string]document{"audit": audited(20), "doctor": doctored(doctor.Finding{Status: doctor.OK, Name: "part", Value: strings.Repeat("fine ", 40) + "END"}), "health": troubled(3)} {
		p := newPage(80, false)
		p.height, p.verbose = 24, true
		doc.view(p)
		got := string(p.bytes())
		if strings.Contains(got, "…") || p.cut {
			t.Errorf("%s is cut:\n%s", name, got)
		}
		for word, there := range map[string]int{"audit": strings.Count(got, "Write it, then run:"), "doctor": 20 * strings.Count(got, "END"), "health": 20 * strings.Count(got, "MOUNTED AT")} {
			if word == name && there < 20 {
				t.Errorf("%s is not whole:\n%s", name, got)
			}
		}
	}
}

// A value in a table that the page is too narrow for is cut with a word on how to see it.
func TestACutPageSaysHowToSeeTheWhole(t *testing.T) {
	for verbose, want := range map[bool]string{false: "\nValues that end in … are whole with: sentinel --x --verbose\n", true: "end."} {
		p := newPage(40, false)
		p.command, p.verbose = "sentinel --x", verbose
		p.table("", []column{{title: "name"}, {title: "value"}}, [][]string{{"x", strings.Repeat("long ", 20) + "end."}})
		p.end()
		got := string(p.bytes())
		if verbose && !strings.Contains(got, want) || !verbose && !strings.Contains(strings.Join(strings.Fields(got), " "), strings.TrimSpace(strings.Join(strings.Fields(want), " "))) {
			t.Errorf("%s", got)
		}
	}
}

// Values that begin as a command does are wrapped; a command is not.
func TestFactsWrapAllButACommand(t *testing.T) {
	command, volumes := "sudo /opt/sentinel/bin/sentinel --request get_system_health < /dev/null", strings.TrimSpace(strings.Repeat("/srv/data is full, ", 5))
	p := newPage(60, false)
	p.facts([][]string{{"volumes", volumes}, {"as root", command}})
	if got := p.b.String(); !strings.HasSuffix(got, "\nas root  "+command+"\n") || strings.Count(got, "\n") < 4 {
		t.Errorf("%s", got)
	}
}
