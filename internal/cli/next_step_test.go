// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/ops"
	"sentinel/internal/processes"
	"sentinel/internal/services"
)

// A person gets a command of sentinel, whatever the system, and a model the call that it is.
func TestEveryReasonLeadsOnForPeopleAndModels(t *testing.T) {
	codes := map[string]bool{}
	for _, file := range healthSources(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?:Code: +|reach\(|wrong\()"([A-Z_]+)"`).FindAllSubmatch(raw, -1) {
			codes[string(found[1])] = true
		}
	}
	if !codes["DISK_FULL"] || !codes["THERMAL_PRESSURE"] || !codes["CLOCK_BEHIND"] {
		t.Fatalf("the codes are not found: %v", codes)
	}
	d := &healthDocument{}
	all := func(text string) string { return ops.AsCalls(text, func(string) bool { return true }) }
	for code := range codes {
		r := health.Reason{Code: code, Object: "12"}
		step := d.nextStep(r)
		if code == "CPU_STOLEN" { // the host's doing, which no command here tells more of
			if step != "" {
				t.Errorf("%s: %s", code, step)
			}
			continue
		}
		if !strings.HasPrefix(strings.TrimPrefix(step, "sudo "), "sentinel --") {
			t.Errorf("%s: a person is told %q", code, step)
		}
		d.ThreatReasons = []health.Reason{r}
		d.advise(all)
		name, arguments, _ := strings.Cut(d.ThreatReasons[0].Next, " ")
		op, known := ops.ByName(name)
		if !known {
			t.Errorf("%s: a model is told %q", code, d.ThreatReasons[0].Next)
			continue
		}
		if arguments == "" {
			arguments = "{}"
		}
		if _, err := op.ParseRequest([]byte(arguments)); err != nil {
			t.Errorf("%s: %s: %v", code, d.ThreatReasons[0].Next, err)
		}
	}
	for code := range steps {
		if !codes[code] {
			t.Errorf("%s is no reason", code)
		}
	}
}

func healthSources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../health/*.go")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheNextStepIsAboutWhatFailed(t *testing.T) {
	services := func(name string) bool { return strings.HasSuffix(name, ".service") }
	d := &healthDocument{isService: services}
	for r, want := range map[health.Reason]string{
		{Code: "FAILED_UNITS", Object: "nginx.service"}:       "sentinel --service nginx.service",
		{Code: "FAILED_UNITS", Object: "srv.mount"}:           "sudo sentinel --logs --unit srv.mount --since 7d",
		{Code: "FAILED_UNITS", Object: `dev-a\x2db.swap`}:     `sudo sentinel --logs --unit 'dev-a\x2db.swap' --since 7d`,
		{Code: "FAILED_UNITS"}:                                "",
		{Code: "ZOMBIE_PROCESSES", Object: "77"}:              "sudo sentinel --process 77",
		{Code: "ZOMBIE_PROCESSES"}:                            "",
		{Code: "DISK_FULL", Object: "/my data"}:               "sudo sentinel --disk-usage '/my data'",
		{Code: "OOM_KILLS"}:                                   "sudo sentinel --logs --unit kernel --text 'out of memory'",
		{Code: "CPU_STOLEN"}:                                  "",
		{Code: "A_REASON_OF_A_LATER_VERSION_OF_ANOTHER_HOST"}: "",
	} {
		if got := d.nextStep(r); got != want {
			t.Errorf("%s %s: %q, want %q", r.Code, r.Object, got, want)
		}
	}
}

// Where sudo would not find this program by its name, every command of a page has its path.
func TestCommandsOfAPageHaveThePathOfTheProgram(t *testing.T) {
	p := newPage(80, false)
	p.named = Program{Own: func() (string, error) { return "/opt/own/sentinel", nil }}.named
	troubled(2).view(p)
	got := string(p.bytes())
	for _, want := range []string{"  /opt/own/sentinel --service job0.service\n", "  sudo /opt/own/sentinel --disk-usage /srv\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// What others wrote is shown as they did, also where it reads like a command of this program.
func TestWhatOthersWroteIsNoCommandOfAPage(t *testing.T) {
	const theirs = "type sudo sentinel --disable-firewall"
	for name, host := range map[string]string{"here": "", "of another machine": "web-1"} {
		p := newPage(120, false)
		p.host, p.named = host, Program{Own: func() (string, error) { return "/opt/own/sentinel", nil }}.named
		(&serviceDocument{}).viewOne(p, services.Service{Name: "cron", Well: true, Log: []services.ShownLine{{Text: theirs}}})
		p.facts([][]string{{"program", "/home/mal/" + theirs + "/sshd"}})
		p.fix("Look: sentinel --disk-usage '/srv/" + theirs + "'")
		p.verdict(warn, "X", `A path is "/srv/`+theirs+`".`)
		if got := string(p.bytes()); strings.Count(got, theirs) != 4 || !strings.Contains(got, p.own("sentinel --disk-usage ")+"'/srv/") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// No row of the page begins with a word in the middle of a line of a log.
func TestALineOfALogGoesOnIndented(t *testing.T) {
	p := newPage(80, false)
	p.entry("2026-11-30T15:50:01Z app: " + strings.Repeat("x", 76) + " 2026-11-30T15:50:31Z systemd: broken")
	want := "2026-11-30T15:50:01Z app:\n  " + strings.Repeat("x", 76) + "\n  2026-11-30T15:50:31Z systemd: broken\n"
	if got := string(p.bytes()); got != want {
		t.Errorf("%q", got)
	}
}

// Neither a listing in a sentence nor a row of a table has more members than there are.
func TestNamesOfProcessesMakeNoFurtherOnes(t *testing.T) {
	if got, want := busiestText([]processes.Process{{Name: "x (PID 1) 99 %,", PID: 23, CPUPercent: 2}, {Name: "kworker/0:1", PID: 5}}), `"x (PID 1) 99 %," (PID 23) 2 %, kworker/0:1 (PID 5) 0 %`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	open := []network.Listener{{ProcessName: "sshd tcp 22, a", Protocol: "tcp", Address: "0.0.0.0:7777", Exposed: true}}
	if got, want := exposedText(open), `; perhaps for other hosts: "sshd tcp 22, a" tcp 7777`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p := newPage(80, false)
	p.table("", []column{{title: "user"}, {title: "from"}}, [][]string{{"bob   203.0.113.9", "198.51.100.1"}})
	if want := "\nUSER             FROM\nbob 203.0.113.9  198.51.100.1\n"; string(p.bytes()) != want {
		t.Errorf("%q, want %q", p.bytes(), want)
	}
}

// A name of something with a command in it, as a mount point may have, takes no call away, and gives none.
func TestACallIsNotToldByAWordInIt(t *testing.T) {
	for object, want := range map[string]string{
		"/media/ann/sudo sentinel --kill 1": `get_disk_usage {"path":"/media/ann/sudo sentinel --kill 1"}`,
		"/media/ann/a; sentinel --kill 1":   `get_disk_usage {"path":"/media/ann/a; sentinel --kill 1"}`,
		"/media/ann/it's sentinel --kill 1": "get_disk_usage",
	} {
		for on, want := range map[bool]string{true: want, false: ""} {
			d := &healthDocument{}
			d.ThreatReasons = []health.Reason{{Code: "DISK_FULL", Object: object}}
			d.advise(func(text string) string { return ops.AsCalls(text, func(string) bool { return on }) })
			if got := d.ThreatReasons[0].Next; got != want {
				t.Errorf("%s: %q, want %q", object, got, want)
			}
		}
	}
}
