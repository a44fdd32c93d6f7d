// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"reflect"

	"sentinel/internal/guard/record"
)

// Documents are the types of what the commands print with --json, by the words of the command. The
// schemas in docs/schemas are made of them. With --follow, each line is a [record.Event].
func Documents() map[string]reflect.Type {
	return map[string]reflect.Type{
		"wrap":                 reflect.TypeFor[wrappedClients](), // and unwrap
		"calls":                reflect.TypeFor[callList](),
		"events":               reflect.TypeFor[eventList](),
		"report":               reflect.TypeFor[record.Summary](),
		"verify":               reflect.TypeFor[record.Report](),
		"verify_proof":         reflect.TypeFor[record.Proof](),
		"verify_check":         reflect.TypeFor[checkedProof](),
		"doctor":               reflect.TypeFor[diagnosis](),
		"status":               reflect.TypeFor[guardStatus](),
		"policy_init":          reflect.TypeFor[writtenPreset](),
		"policy_check":         reflect.TypeFor[checkedFiles](),
		"policy_explain":       reflect.TypeFor[explanation](),
		"policy_show":          reflect.TypeFor[shownPolicies](),
		"policy_test":          reflect.TypeFor[testedCalls](),
		"policy_test_recorded": reflect.TypeFor[judgedRecord](),
	}
}
