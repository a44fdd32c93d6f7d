// SPDX-License-Identifier: Apache-2.0

package health

// A Measurement is a number of a report with the level by which it is judged.
type Measurement struct {
	Key   string // of the figure
	Part  string // of the machine, such as a mount point; "" for all of it
	Value float64
	Unit  string // "%", "s" or "" for a count, a ratio and degrees Celsius
	Level
}

// Measurements returns every number that is known and has a level, in the order
// of the configuration.
func (r *Report) Measurements(t Thresholds) []Measurement {
	var list []Measurement
	for _, f := range Configurable() {
		if f.Default.Severity != "" {
			continue
		}
		if value := f.value(r); value != nil {
			list = append(list, Measurement{Key: f.Key, Value: *value, Unit: f.Unit, Level: t[f.Key].Level})
		}
		if f.Parts == nil {
			continue
		}
		for _, part := range f.Parts(r) {
			part.Key, part.Unit, part.Level = f.Key, f.Unit, t[f.Key].Level
			list = append(list, part)
		}
	}
	return list
}
