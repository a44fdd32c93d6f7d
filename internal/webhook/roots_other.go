// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package webhook

import "crypto/x509"

// systemRoots leaves it to crypto/x509, which asks the system itself on macOS.
func systemRoots() *x509.CertPool { return nil }
