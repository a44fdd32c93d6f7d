// SPDX-License-Identifier: Apache-2.0

package peerclose

import (
	"bytes"
	"os"
	"testing"
)

func TestClosedReaderIsNoticedWithoutAWrite(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	gone := make(chan struct{})
	stop := Watch(w, func() { close(gone) })
	defer stop()
	select {
	case <-gone:
		t.Fatal("gone although the reader is there")
	default:
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	<-gone
}

func TestWatchEndsWithoutACall(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stop := Watch(w, func() { t.Error("gone although only the watch was ended") })
	stop()
	// Closing a file waits for those who use its descriptor: the watch has let go.
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoPipeIsNotWatched(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	never := func() { t.Error("a file hung up") }
	Watch(file, never)()
	Watch(new(bytes.Buffer), never)()
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
