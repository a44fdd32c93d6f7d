// SPDX-License-Identifier: Apache-2.0

package codesign

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSignaturesAreThoseOfTheProgramsAskedAbout(t *testing.T) {
	programs := []string{"/a b", "/adhoc", "/gone", "/none", "/silent", "/locked"}
	said := "Executable=/a b\nIdentifier=x\nSignature=adhoc of nobody\nAuthority=Developer ID Application: A (TEAM)\nAuthority=Apple Root CA\n" +
		"Executable=/adhoc\nSignature=adhoc\nAuthority=Apple Root CA\n/gone: No such file or directory\n/none: code object is not signed at all\n" +
		"Executable=/other\nAuthority=Somebody\nAuthority=Apple Root CA\nExecutable=/locked\nAuthority=(unavailable)\n/silent: internal error in Code Signing subsystem\n"
	want := map[string]Signature{
		"/a b": {By: "Developer ID Application: A (TEAM)"}, "/adhoc": {Fault: "signed ad hoc"}, "/gone": {Missing: true}, "/none": {Fault: "not signed"},
	}
	if diff := cmp.Diff(want, parse([]byte(said), programs)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("Executable=/a\nAuthority=x\n/a: No such file or directory\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(parse(raw, []string{"/a"})) > 1 {
			t.Errorf("%q: more than was asked about", raw)
		}
	})
}
