// SPDX-License-Identifier: Apache-2.0

// Package engine asks the engines of containers, Docker and Podman, through their sockets: HTTP over
// a Unix socket, as the Docker Engine API has it (https://docs.docker.com/engine/api), of which
// Podman speaks the same. It only reads.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/internal/sanitize"
)

// Bounds of what one engine may cost.
const (
	answerLimit   = 3 * time.Second  // for one question
	wholeLimit    = 10 * time.Second // for all of one engine
	maxList       = 8 << 20          // bytes; a container takes about 1 KB
	maxDetail     = 1 << 20          // bytes
	maxContainers = 500
	atOnce        = 8 // questions
)

// A Socket is where an engine may listen.
type Socket struct {
	Path string
	// Owner is the user whose engine it must be. Root is not led elsewhere by anybody else: what another
	// owner puts at the path, or above, is no link, and who listens there is the owner.
	Owner int
	// User is the name of that user where the engine is not that of the system.
	User string
}

// Why a socket is not asked.
var (
	errNotTrusted = errors.New("the socket belongs to another user than its engine")
	errLink       = errors.New("a link of the user's leads elsewhere, which is not followed")
)

// Containers asks the engine at a socket. A socket that is not there is no engine, and no error.
func Containers(ctx context.Context, s Socket, gaps *answer.Gaps) ([]containers.Engine, []containers.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	p, err := s.pin()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer p.release()
	c := s.client(p.address)
	defer c.http.CloseIdleConnections()
	name, version, err := c.identity(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := c.list(ctx, name, gaps)
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		list[i].User = s.User
	}
	return []containers.Engine{{Name: name, Version: sanitize.Text(version, 40), User: sanitize.Text(s.User, 40)}}, list, nil
}

// A pinned is a socket that was looked at.
type pinned struct {
	address string // by which that very one is reached, or, where the system cannot do that, its path
	info    os.FileInfo
	release func()
}

// pin finds the socket of the owner.
func (s Socket) pin() (p pinned, err error) {
	if s.Owner == 0 { // nobody else makes links there
		p = pinned{address: s.Path, release: func() {}}
		p.info, err = os.Stat(s.Path)
	} else {
		p, err = pinOwn(s.Path)
	}
	if err != nil {
		return p, err
	}
	owner, ok := p.info.Sys().(*syscall.Stat_t)
	switch {
	case p.info.Mode()&os.ModeSymlink != 0:
		err = errLink
	case p.info.Mode()&os.ModeSocket == 0:
		err = errors.New(s.Path + " is no socket")
	case !ok || int(owner.Uid) != s.Owner:
		err = errNotTrusted
	}
	if err != nil {
		p.release()
	}
	return p, err
}

// seen is what is at a path, which is no link itself.
func seen(path string) (pinned, error) {
	info, err := os.Lstat(path)
	return pinned{path, info, func() {}}, err
}

type client struct {
	http http.Client
	path string
}

func (s Socket) client(address string) *client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", address)
		if err != nil || s.Owner == 0 {
			return conn, err
		}
		return s.own(conn)
	}
	return &client{path: s.Path, http: http.Client{
		Timeout:       answerLimit,
		Transport:     &http.Transport{DialContext: dial, MaxConnsPerHost: atOnce, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// own returns a connection whose other end is the owner's: the socket may be one that root made and gave
// away, or another one by now.
func (s Socket) own(conn net.Conn) (net.Conn, error) {
	uid, err := peer(conn)
	if err == nil && uid != s.Owner {
		err = errNotTrusted
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// peer returns the user who listens at the other end.
func peer(conn net.Conn) (uid int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { uid, failed = peerOf(int(fd)) })
	return uid, errors.Join(err, failed)
}

// get reads one answer into a value.
func (c *client) get(ctx context.Context, path string, limit int64, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.reason(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers with status %d", c.path, response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return c.reason(err)
	case int64(len(raw)) > limit:
		return fmt.Errorf("%s answers with more than %d bytes", c.path, limit)
	case json.Unmarshal(raw, into) != nil:
		return fmt.Errorf("%s does not speak the API of Docker", c.path)
	}
	return nil
}

// reason has nothing of what was answered: package net/http quotes that.
func (c *client) reason(err error) error {
	var late net.Error
	var call syscall.Errno
	switch {
	case errors.As(err, &late) && late.Timeout():
		return fmt.Errorf("%s: %w", c.path, context.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", c.path, context.Canceled)
	case errors.Is(err, errNotTrusted):
		return errNotTrusted
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing answers at %s", c.path)
	case errors.Is(err, syscall.EACCES):
		return os.ErrPermission
	case errors.As(err, &call):
		return fmt.Errorf("%s: %w", c.path, call)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // as by an engine that is restarted
		return fmt.Errorf("%s was closed before its answer ended", c.path)
	default:
		return fmt.Errorf("%s does not speak the API of Docker", c.path)
	}
}

// identity asks which engine it is.
func (c *client) identity(ctx context.Context) (name, version string, err error) {
	var v struct {
		Version    string
		APIVersion string `json:"ApiVersion"`
		Components first[struct{ Name string }]
	}
	if err := c.get(ctx, "/version", maxDetail, &v); err != nil {
		return "", "", err
	}
	if v.Version == "" || v.APIVersion == "" {
		return "", "", fmt.Errorf("%s does not speak the API of Docker", c.path)
	}
	name = "docker"
	for _, part := range v.Components.kept {
		if part.Name == "Podman Engine" {
			name = "podman"
		}
	}
	return name, v.Version, nil
}

// list lists all containers with their details. Those whose details cannot be read are listed
// with what is known.
func (c *client) list(ctx context.Context, engine string, gaps *answer.Gaps) ([]containers.Facts, error) {
	var all first[row]
	if err := c.get(ctx, "/containers/json?all=1", maxList, &all); err != nil {
		return nil, err
	}
	if all.count > maxContainers {
		gaps.Note("containers", fmt.Sprintf("%s has %d containers, of which %d were looked at", engine, all.count, maxContainers))
	}
	rows := all.kept
	list := make([]containers.Facts, len(rows))
	failed := make([]error, len(rows))
	images := imageTimes{client: c, at: map[string]time.Time{}}
	places := make(chan struct{}, atOnce)
	var asked sync.WaitGroup
	for i, r := range rows {
		places <- struct{}{}
		asked.Go(func() {
			defer func() { <-places }()
			list[i], failed[i] = c.container(ctx, engine, r, &images)
		})
	}
	asked.Wait()
	noteFailed(gaps, list, failed)
	return list, nil
}

// maxNoted is how many containers are named whose details could not be read.
const maxNoted = 5

// noteFailed says of which containers no more is known than the list tells.
func noteFailed(gaps *answer.Gaps, list []containers.Facts, failed []error) {
	noted, more := 0, 0
	for i, err := range failed {
		switch {
		case err == nil:
		case noted == maxNoted:
			more++
		default:
			gaps.Add("containers."+sanitize.Text(list[i].Name, 80), err)
			noted++
		}
	}
	if more > 0 {
		gaps.Note("containers", fmt.Sprintf("the details of %d more could not be read", more))
	}
}

// container asks for the details of one container.
func (c *client) container(ctx context.Context, engine string, r row, images *imageTimes) (containers.Facts, error) {
	facts := r.facts(engine)
	if !validID(r.ID) {
		return facts, errors.New("it has no ID that can be asked about")
	}
	var d detail
	if err := c.get(ctx, "/containers/"+r.ID+"/json", maxDetail, &d); err != nil {
		return facts, err
	}
	d.into(&facts)
	facts.ImageAt = images.of(ctx, d.Image)
	return facts, nil
}

// validID reports whether an ID can stand in a path: it is a digest in hexadecimal digits, with or
// without its kind before it.
func validID(id string) bool {
	digits := strings.TrimPrefix(id, "sha256:")
	return len(digits) >= 12 && len(digits) <= 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// imageTimes remembers when images were made: many containers have the same.
type imageTimes struct {
	client *client
	mu     sync.Mutex
	at     map[string]time.Time
}

func (t *imageTimes) of(ctx context.Context, id string) time.Time {
	if !validID(id) {
		return time.Time{}
	}
	t.mu.Lock()
	at, known := t.at[id]
	t.mu.Unlock()
	if known {
		return at
	}
	var image struct{ Created string }
	if t.client.get(ctx, "/images/"+id+"/json", maxDetail, &image) == nil {
		at = moment(image.Created)
	}
	t.mu.Lock()
	t.at[id] = at
	t.mu.Unlock()
	return at
}
