// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/x509"
	"os"
	"sync"
)

// systemRoots reads the authorities that this system trusts from its one file of
// them. What crypto/x509 would do by itself reads a directory with each of them once more, at
// three times the memory, and goes where the environment says. nil leaves it to that, where
// there is no such file. All clients share one pool: it takes half a megabyte, several while it
// is read.
var systemRoots = sync.OnceValue(readRoots)

func readRoots() *x509.CertPool {
	for _, path := range []string{
		"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch, Alpine
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora and its relatives
		"/etc/pki/tls/certs/ca-bundle.crt",                  // their older releases
		"/etc/ssl/ca-bundle.pem",                            // SUSE
		"/etc/ssl/cert.pem",
	} {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		roots := x509.NewCertPool()
		if roots.AppendCertsFromPEM(raw) {
			return roots
		}
	}
	return nil
}
