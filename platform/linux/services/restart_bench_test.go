// SPDX-License-Identifier: Apache-2.0

//go:build linux && bench

package services

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A restart must not cost more than the tool of systemd itself, less the time
// for which the service is watched.
func TestRestartIsNoSlowerThanSystemctl(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"good.service": sleeps}) {
		return
	}
	testenv.Systemctl(t, true, "start good")
	if err := os.MkdirAll("/etc/systemd/system/good.service.d", 0o755); err != nil {
		t.Fatal(err)
	}
	const unlimited = "[Unit]\nStartLimitIntervalSec=0\n"
	if err := os.WriteFile("/etc/systemd/system/good.service.d/limit.conf", []byte(unlimited), 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Systemctl(t, true, "daemon-reload")
	var ours, theirs []time.Duration
	rest := func() { <-time.After(20 * time.Millisecond) } // systemd tidies up after each
	for range 31 {
		rest()
		began := time.Now()
		withoutSettling(t, "good")
		ours = append(ours, time.Since(began))
		rest()
		began = time.Now()
		testenv.Systemctl(t, true, "restart good")
		theirs = append(theirs, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ratio := float64(ours[0]) / float64(theirs[0])
	t.Logf("median: ours %v, systemctl %v; fastest: ours %v, systemctl %v, ratio %.2f", ours[15], theirs[15], ours[0], theirs[0], ratio)
	if ratio > 1 {
		t.Errorf("%.2f times as long as systemctl", ratio)
	}
}

// An opened is a source that keeps the manager it opened.
type opened struct {
	Services
	manager services.Manager
}

func (o *opened) Open(ctx context.Context) (services.Manager, error) {
	m, err := o.Services.Open(ctx)
	o.manager = m
	return m, err
}

// withoutSettling plans a restart and does it until its job has ended.
func withoutSettling(t *testing.T, name string) {
	t.Helper()
	source := &opened{Services: NewServices("/", sysexec.Host{})}
	p, err := services.PlanRestart(t.Context(), source, services.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	job, err := source.manager.Restart(t.Context(), p.Name(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if result := <-job; result != "done" {
		t.Fatal(result)
	}
}
