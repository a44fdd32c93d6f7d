// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"

	"sentinel/internal/fault"
)

// An Other is another machine of the configuration, as ssh of this user finds it.
type Other struct {
	Host    string
	Version string // of sentinel there
	Err     error  // why it does not answer
}

// otherMachines checks that the hosts of the configuration answer.
func otherMachines(ctx context.Context, t Target) []Finding {
	if t.Others == nil {
		return one(OK, "None is named in the configuration", "")
	}
	list, err := t.Others(ctx)
	if err != nil {
		return one(Unknown, "They are not asked: "+err.Error()+".", "Run it as yourself, without sudo: sentinel --doctor")
	}
	var findings []Finding
	for _, o := range list {
		if f, wrong := o.judge(t.Version); wrong {
			findings = append(findings, f)
		}
	}
	if well := len(list) - len(findings); well > 0 {
		findings = append(findings, Finding{Status: OK, Value: fmt.Sprintf("%d of %d answer, with sentinel %s", well, len(list), t.Version)})
	}
	return findings
}

// judge says what is wrong with a machine.
func (o Other) judge(version string) (f Finding, wrong bool) {
	switch {
	case o.Err != nil:
		e := fault.From(o.Err)
		return Finding{Status: Warning, Value: e.Message, Fix: cmp.Or(e.Fix, "See what is wrong with: ssh "+o.Host+" true")}, true
	case o.Version != version:
		return Finding{Status: Warning, Value: o.Host + " has sentinel " + o.Version + ", and this is " + version + ".", Fix: "Install the same version on " + o.Host + "."}, true
	default:
		return Finding{}, false
	}
}
