// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"bytes"
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
		if roots := rootsIn(path); roots != nil {
			return roots
		}
	}
	return nil
}

// rootsIn reads a bundle one certificate at a time: read at once, its text would stay until the collector runs.
func rootsIn(path string) *x509.CertPool {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read from
	roots, found := x509.NewCertPool(), false
	var block []byte
	in := bufio.NewScanner(file)
	for in.Scan() {
		block = append(append(block, in.Bytes()...), '\n')
		if bytes.HasPrefix(in.Bytes(), []byte("-----END ")) {
			found = roots.AppendCertsFromPEM(block) || found
			block = block[:0]
		}
	}
	if !found || in.Err() != nil {
		return nil
	}
	return roots
}
