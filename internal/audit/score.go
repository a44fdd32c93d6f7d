// SPDX-License-Identifier: Apache-2.0

package audit

// score sets the overall verdict and the totals. Exempt checks and those that do
// not apply are not counted.
func (r *Report) score(outcomes []outcome) {
	got, most := 0, 0
	r.Overall = OverallPass
	for _, o := range outcomes {
		if o.Status == "" {
			if o.Applies {
				r.Applicable++
			}
			continue
		}
		r.Applicable++
		r.Evaluated++
		got += points(o.Status) * o.Weight
		most += 2 * o.Weight
		r.Overall = worse(r.Overall, o)
	}
	if most > 0 {
		r.Score = 100 * got / most
		r.Coverage = float64(100*r.Evaluated/r.Applicable) / 100
	}
}

// points returns the value of a verdict in halves of the weight.
func points(s Status) int {
	switch s {
	case Pass:
		return 2
	case Warn:
		return 1
	default:
		return 0
	}
}

func worse(before Overall, o outcome) Overall {
	switch {
	case before == OverallFail || o.Status == Fail && o.Severity == High:
		return OverallFail
	case o.Status != Pass:
		return OverallWarning
	default:
		return before
	}
}
