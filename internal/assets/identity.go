// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// applicationID separates the IDs of this program from those that other programs
// derive. It is random and must never change, or every asset would get a new ID.
var applicationID = [16]byte{0x5e, 0x9c, 0x1f, 0x0b, 0x7a, 0x34, 0x4d, 0x2e, 0x9b, 0x61, 0xd8, 0x43, 0xc2, 0x70, 0xaf, 0x16}

// assetID derives the ID of this installation. The machine ID is confidential
// (machine-id(5)); this is the derivation of sd_id128_get_machine_app_specific(3):
// HMAC-SHA256 of the application ID, keyed with the machine ID, cut to 128 bits and
// marked as a random UUID.
func assetID(machine [16]byte) string {
	mac := hmac.New(sha256.New, machine[:])
	mac.Write(applicationID[:])
	id := mac.Sum(nil)[:16]
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	s := hex.EncodeToString(id)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
