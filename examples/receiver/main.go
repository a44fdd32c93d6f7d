// SPDX-License-Identifier: Apache-2.0

// Command receiver receives over TLS what sentinel --report sends, and keeps each
// document once, in its own file DIR/ID.json. It is a small but complete example to start from, and
// needs only the standard library. docs/fleet.md shows how to run it.
//
// It checks the signature of Standard Webhooks (https://www.standardwebhooks.com), the age of
// the request, and whether it has the document already.
package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	maxBody = 1 << 20
	// tolerance is how far the clocks of a host and of the receiver may differ. After
	// that, a recorded request cannot be replayed.
	tolerance = 5 * time.Minute
	timeout   = 10 * time.Second // of a request
)

func main() {
	listen := flag.String("listen", ":443", "`address` to listen on")
	certificate := flag.String("cert", "receiver.pem", "`file` with the certificate of this server and those that signed it")
	key := flag.String("key", "receiver.key", "`file` with its key")
	secret := flag.String("secret", "fleet.key", "`file` with the keys of the signature, one per line")
	dir := flag.String("dir", ".", "`folder` for the documents")
	flag.Parse()

	keys, err := readKeys(*secret)
	if err != nil {
		log.Fatal(err)
	}
	s := &http.Server{
		Addr: *listen, Handler: &receiver{keys: keys, dir: *dir, now: time.Now},
		ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	log.Fatal(s.ListenAndServeTLS(*certificate, *key))
}

// readKeys reads a file in the form of secret_file: whsec_ and base64, one key per
// line.
func readKeys(path string) ([][]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		text, found := strings.CutPrefix(strings.TrimSpace(lines.Text()), "whsec_")
		key, err := base64.StdEncoding.DecodeString(text)
		if !found || err != nil {
			return nil, fmt.Errorf("%s: a line is not whsec_ and base64", path)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no key", path)
	}
	return keys, nil
}

type receiver struct {
	keys [][]byte
	dir  string
	now  func() time.Time
}

// ServeHTTP answers with 204 only when the document is on the disk: sentinel then
// deletes its copy.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		http.Error(w, "unreadable, or too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err := r.check(q.Header, body); err != nil {
		log.Printf("%s: %v", q.RemoteAddr, err) //nolint:gosec // an address, and a reason without the words of the caller
		http.Error(w, "not authentic", http.StatusUnauthorized)
		return
	}
	if err := r.keep(q.Header.Get("Webhook-Id"), body); err != nil {
		log.Print(err)
		http.Error(w, "not kept", http.StatusInternalServerError) // sentinel sends it again
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// check returns an error unless one of the keys has signed the request within the last minutes.
func (r *receiver) check(header http.Header, body []byte) error {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	if !isName(id) {
		return errors.New("no id that can name a file")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return errors.New("no timestamp")
	}
	if age := r.now().Sub(time.Unix(seconds, 0)).Abs(); age > tolerance {
		return fmt.Errorf("the timestamp is %v off", age.Round(time.Second))
	}
	for _, key := range r.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for given := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
			version, text, _ := strings.Cut(given, ",")
			got, err := base64.StdEncoding.DecodeString(text)
			if version == "v1" && err == nil && hmac.Equal(got, want) { // in constant time
				return nil
			}
		}
	}
	return errors.New("no signature of a key that is known")
}

// isName reports whether an ID, which the caller chooses, is safe as a file name.
func isName(id string) bool {
	return id != "" && len(id) <= 100 && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// keep writes a document to disk, completely or not at all. If it exists, it was sent twice because
// an answer was lost, which is a success. The hard link makes it unique, even with concurrent
// requests and after a restart.
func (r *receiver) keep(id string, body []byte) error {
	file, err := os.CreateTemp(r.dir, ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // leftover files begin with a dot
	_, err = file.Write(body)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	err = os.Link(file.Name(), filepath.Join(r.dir, id+".json"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.Open(r.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
