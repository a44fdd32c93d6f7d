// SPDX-License-Identifier: Apache-2.0

// Package docs holds the pages of this repository to what is there: links lead
// somewhere, flags and targets exist, and the commands of the README run.
package docs
