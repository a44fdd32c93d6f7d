// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package webhook

import "crypto/x509"

// systemRoots is nil, for the default of crypto/x509, which asks macOS itself.
func systemRoots() *x509.CertPool { return nil }
