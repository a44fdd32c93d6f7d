// SPDX-License-Identifier: Apache-2.0

package cpuinfo

// An armPart names a core by the numbers in its main ID register (MIDR_EL1), which the core's
// reference manual documents.
type armPart struct {
	implementer, part int
	name              string
}

const (
	arm       = 0x41
	cavium    = 0x43
	fujitsu   = 0x46
	hiSilicon = 0x48
	nvidia    = 0x4e
	qualcomm  = 0x51
	apple     = 0x61
	microsoft = 0x6d
	ampere    = 0xc0
)

var armParts = [...]armPart{
	{arm, 0xb76, "ARM1176"},
	{arm, 0xc07, "Cortex-A7"},
	{arm, 0xc08, "Cortex-A8"},
	{arm, 0xc09, "Cortex-A9"},
	{arm, 0xc0f, "Cortex-A15"},
	{arm, 0xd03, "Cortex-A53"},
	{arm, 0xd04, "Cortex-A35"},
	{arm, 0xd05, "Cortex-A55"},
	{arm, 0xd07, "Cortex-A57"},
	{arm, 0xd08, "Cortex-A72"},
	{arm, 0xd09, "Cortex-A73"},
	{arm, 0xd0a, "Cortex-A75"},
	{arm, 0xd0b, "Cortex-A76"},
	{arm, 0xd0c, "Neoverse-N1"},
	{arm, 0xd0d, "Cortex-A77"},
	{arm, 0xd40, "Neoverse-V1"},
	{arm, 0xd41, "Cortex-A78"},
	{arm, 0xd42, "Cortex-A78AE"},
	{arm, 0xd44, "Cortex-X1"},
	{arm, 0xd46, "Cortex-A510"},
	{arm, 0xd47, "Cortex-A710"},
	{arm, 0xd48, "Cortex-X2"},
	{arm, 0xd49, "Neoverse-N2"},
	{arm, 0xd4a, "Neoverse-E1"},
	{arm, 0xd4b, "Cortex-A78C"},
	{arm, 0xd4d, "Cortex-A715"},
	{arm, 0xd4e, "Cortex-X3"},
	{arm, 0xd4f, "Neoverse-V2"},
	{arm, 0xd80, "Cortex-A520"},
	{arm, 0xd81, "Cortex-A720"},
	{arm, 0xd82, "Cortex-X4"},
	{arm, 0xd84, "Neoverse-V3"},
	{arm, 0xd85, "Cortex-X925"},
	{arm, 0xd87, "Cortex-A725"},
	{arm, 0xd8e, "Neoverse-N3"},
	{cavium, 0x0a1, "ThunderX"},
	{cavium, 0x0af, "ThunderX2"},
	{fujitsu, 0x001, "A64FX"},
	{hiSilicon, 0xd01, "TaiShan-v110"},
	{nvidia, 0x004, "Carmel"},
	{qualcomm, 0x001, "Oryon"},
	{qualcomm, 0xc00, "Falkor"},
	{apple, 0x022, "Icestorm-M1"},
	{apple, 0x023, "Firestorm-M1"},
	{apple, 0x032, "Blizzard-M2"},
	{apple, 0x033, "Avalanche-M2"},
	{microsoft, 0xd49, "Azure-Cobalt-100"},
	{ampere, 0xac3, "Ampere-1"},
	{ampere, 0xac4, "Ampere-1a"},
}

// armCore returns the name of a core, or "" if it is not in the table.
func armCore(implementer, part int) string {
	for _, p := range armParts {
		if p.implementer == implementer && p.part == part {
			return p.name
		}
	}
	return ""
}
