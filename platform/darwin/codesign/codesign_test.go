// SPDX-License-Identifier: Apache-2.0

package codesign

import (
	"context"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
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

// Anybody can make a certificate with the name of another and sign with it; codesign -d prints its name.
func TestASignerIsBelievedWhenItIsVerified(t *testing.T) {
	programs := []string{"/good", "/self", "/changed", "/made", "/made: valid on disk", "/silent", "/none"}
	shown, none := "", "/none: code object is not signed at all\n"
	for _, p := range programs[:6] {
		shown += "Executable=" + p + "\nAuthority=Developer ID Application: A (TEAM)\nAuthority=Apple Root CA\n"
	}
	verified := "/good: valid on disk\n/good: satisfies its Designated Requirement\n/good: explicit requirement satisfied\n" +
		"/self: valid on disk\n/self: satisfies its Designated Requirement\ntest-requirement: code failed to satisfy specified code requirement(s)\n" +
		"/changed: invalid signature (code or signature have been modified)\nIn architecture: arm64\n" +
		"/made: valid on disk: CSSMERR_TP_NOT_TRUSTED\n" + none
	by := "Developer ID Application: A (TEAM)"
	want := map[string]Signature{
		"/good":                {By: by, Verified: true},
		"/self":                {By: by, Fault: "signed with a certificate that Apple does not vouch for"},
		"/changed":             {By: by, Fault: "signed, but not in order (invalid signature (code or signature have been modified))"},
		"/made: valid on disk": {By: by, Fault: "signed, but not in order (CSSMERR_TP_NOT_TRUSTED)"},
		"/made":                {By: by},
		"/silent":              {By: by},
		"/none":                {Fault: "not signed"},
	}
	got, err := Of(t.Context(), replies{"-d": shown + none, "--verify": verified}, programs...)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got, err = Of(t.Context(), replies{"-d": shown}, "/good")
	if diff := cmp.Diff(map[string]Signature{"/good": {By: by}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// replies are what codesign prints on stderr, by its first argument. It fails to run for others.
type replies map[string]string

func (r replies) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	said, ok := r[c.Args[0]]
	if !ok {
		return sysexec.Result{}, fs.ErrNotExist
	}
	return sysexec.Result{Stderr: []byte(said)}, nil
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("/a: valid on disk\n/a: explicit requirement satisfied\ntest-requirement: no\n"))
	f.Add([]byte("/a: CSSMERR_TP_NOT_TRUSTED\n/b: explicit requirement satisfied\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		known := map[string]Signature{"/a": {By: "A"}, "/b": {Fault: "not signed"}}
		verify(known, raw)
		if a, b := known["/a"], known["/b"]; a.Verified && a.Fault != "" || b != (Signature{Fault: "not signed"}) || len(known) != 2 {
			t.Errorf("%q: %+v", raw, known)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("Executable=/a\nAuthority=x\n/a: No such file or directory\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(parse(raw, []string{"/a"})) > 1 {
			t.Errorf("%q: more than was asked about", raw)
		}
	})
}
