// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A bundle that is read in pieces yields the authorities that crypto/x509 finds in the whole.
func TestTheAuthoritiesOfABundle(t *testing.T) {
	one, two := certificate(t, "one"), certificate(t, "two")
	odd := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	key := "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
	for name, text := range map[string]string{
		"two":                  one + two,
		"with names":           "# one\n" + one + "\n# two\n" + two + "\n",
		"with others between":  odd + one + key + two + odd,
		"of Windows":           strings.ReplaceAll(one+two, "\n", "\r\n"),
		"without a last break": one + strings.TrimSuffix(two, "\n"),
		"cut off":              one + two[:len(two)/2],
	} {
		whole := x509.NewCertPool()
		whole.AppendCertsFromPEM([]byte(text))
		if got := rootsIn(bundle(t, text)); got == nil || !got.Equal(whole) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, text := range map[string]string{"nothing": "", "no certificate": odd + key, "a line without end": one + strings.Repeat("x", 1<<20)} {
		if got := rootsIn(bundle(t, text)); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := rootsIn(filepath.Join(t.TempDir(), "none")); got != nil {
		t.Error(got)
	}
}

func bundle(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func certificate(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
