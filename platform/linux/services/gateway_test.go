// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	linuxprocesses "sentinel/platform/linux/processes"
)

// gateways are services with a network of their own: one with two processes, and two that share theirs, of which one
// goes with the other.
var gateways = map[string]string{
	"gate.service":   "[Service]\nPrivateNetwork=yes\nExecStart=/bin/sh -c 'sleep infinity & exec sleep infinity'\n",
	"shared.service": "[Service]\nPrivateNetwork=yes\nExecStart=/bin/sleep infinity\n",
	"joined.service": "[Unit]\nBindsTo=shared.service\nAfter=shared.service\nJoinsNamespaceOf=shared.service\n[Service]\nPrivateNetwork=yes\nExecStart=/bin/sleep infinity\n",
}

// The network of a service ends with all of its processes, and the routes over it with that.
func TestTheNetworkOfAGatewayEndsWithItsServices(t *testing.T) {
	if !testenv.Booted(t, gateways) {
		return
	}
	prepare(t, []string{"start gate shared joined"})
	for i, unit := range []string{"gate", "shared"} {
		main := mainProcess(t, unit+suffix)
		if why := restarts(t, unit); why != "" {
			t.Errorf("%s without a route over it: %s", unit, why)
		}
		network := fmt.Sprintf("10.%d.0.", i+3)
		for _, command := range []string{
			fmt.Sprintf("ip link add r%d type veth peer name e0 netns %d", i, main),
			fmt.Sprintf("ip addr add %s1/24 dev r%d", network, i), fmt.Sprintf("ip link set r%d up", i),
			fmt.Sprintf("nsenter -t %d -n ip addr add %s2/24 dev e0", main, network), fmt.Sprintf("nsenter -t %d -n ip link set e0 up", main),
			"ip route replace default via " + network + "2",
		} {
			words := strings.Fields(command)
			if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
		}
		if why := restarts(t, unit); !strings.Contains(why, processes.WhyRouting) {
			t.Errorf("%s may be restarted: %q", unit, why)
		}
		if why := ends(t, unit, main); !strings.Contains(why, processes.WhyRouting) {
			t.Errorf("%s may be ended: %q", unit, why)
		}
	}
	if why := ends(t, "joined", mainProcess(t, "joined"+suffix)); why != "" {
		t.Errorf("one of two that share a network may not be ended: %s", why)
	}
}

// essential looks at the processes of this system.
func essential() services.Dependents {
	t := linuxprocesses.NewTerminator("/")
	return services.Dependents{Essential: func(ctx context.Context, list []services.Ending, along []int) (pid int, who, why string, err error) {
		var ends []processes.Ending
		for _, e := range list {
			ends = append(ends, processes.Ending(e))
		}
		return processes.Essential(ctx, t, ends, along, nil)
	}}
}

func restarts(t *testing.T, unit string) (refused string) {
	t.Helper()
	plan, err := services.PlanRestart(t.Context(), NewServices("/", sysexec.Host{}), services.Options{Name: unit, Dependents: essential()})
	if err != nil {
		return err.Error()
	}
	plan.Close()
	return ""
}

func ends(t *testing.T, unit string, pid int) (refused string) {
	t.Helper()
	_, err := services.CheckEnd(t.Context(), NewServices("/", sysexec.Host{}), services.End{
		Name: unit + suffix, PID: pid, Dependents: essential(),
		Refusal: func(why string, _ bool) *fault.Error { return fault.New(fault.ProtectedProcess, why+".") },
	})
	if err != nil {
		return err.Error()
	}
	return ""
}
