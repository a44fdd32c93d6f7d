// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/x509"
	"os"
	"sync"
)

// systemRoots reads the certificate authorities of this system from its bundle.
// By default crypto/x509 also reads a directory with the same certificates, which takes three
// times the memory, and follows environment variables. It is nil, for that default, if there is
// no bundle. All clients share the pool: it takes half a megabyte, and several while it is read.
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
