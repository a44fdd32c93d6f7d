// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"sentinel/internal/otlp"
	"sentinel/internal/sanitize"
)

// attempt sends a document once.
func (c *Client) attempt(ctx context.Context, d Document) Result {
	limited, cancel := context.WithTimeout(ctx, c.endpoint.timeout)
	defer cancel()
	request, err := c.request(limited, d)
	if err != nil {
		return Result{Verdict: Unreached, Reason: "cannot be asked: " + innermost(err).Error()}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.failed(ctx, innermost(err))
	}
	defer response.Body.Close() //nolint:errcheck // only read from
	var body bytes.Buffer
	if response.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection, which ctx does not end
		enough := time.AfterFunc(bodyLimit, cancel)
		defer enough.Stop()
		io.Copy(&body, io.LimitReader(response.Body, maxAnswer)) //nolint:errcheck // the status is the answer; a body that was read lets the connection be used again
	}
	result := c.result(response)
	if c.endpoint.collector && result.Verdict == Delivered {
		result.Partial = otlp.Partial(body.Bytes())
	}
	return result
}

func (c *Client) request(ctx context.Context, d Document) (*http.Request, error) {
	body := d.Body
	if c.endpoint.collector {
		body = compressed(d.Body)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = c.endpoint.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", c.agent)
	if c.endpoint.collector {
		r.Header.Set("Content-Encoding", "gzip")
	} else {
		c.addWebhook(r.Header, d)
	}
	return r, nil
}

// compressed shrinks the body for a Collector to a tenth.
func compressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(body) //nolint:errcheck // memory takes all
	w.Close()     //nolint:errcheck // memory takes all
	return b.Bytes()
}

// addWebhook adds what Standard Webhooks wants to a header.
func (c *Client) addWebhook(h http.Header, d Document) {
	at := c.now()
	h.Set("Sentinel-Schema-Version", strconv.Itoa(SchemaVersion))
	h.Set("Webhook-Id", d.ID)
	h.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	if c.endpoint.Signed() {
		h.Set("Webhook-Signature", signature(c.endpoint.keys, d, at))
	}
}

// result judges the status. For what is not worth another attempt somebody has to change something
// first.
func (c *Client) result(r *http.Response) Result {
	result := Result{Verdict: Unreached, Status: r.StatusCode, Reason: statusText(r.StatusCode)}
	switch status := r.StatusCode; {
	case status >= 200 && status < 300:
		return Result{Verdict: Delivered, Status: status}
	case status >= 300 && status < 400:
		result.Reason += ", a redirect that is not followed"
		result.Fix = "Use the URL that the receiver answers at itself; only 307 and 308 to the same host are followed."
	case c.endpoint.passes(status):
		result.RetryAfter, result.retryable = retryAfter(r.Header.Get("Retry-After"), c.now()), true
	case c.endpoint.collector && status >= http.StatusBadRequest:
		result.Verdict, result.Fix = Refused, collectorFix(status)
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		result.Verdict, result.Fix = Refused, "Look into the logs of the receiver for what is wrong with the document."
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		result.Fix = "Check the secret_file, authorization_file and headers_file of the endpoint in webhook.endpoints, and the clock of this machine."
	default:
		result.Fix = "Check the path of the URL and what the receiver accepts."
	}
	return result
}

// passes reports whether another attempt may succeed without anybody's doing. A Collector says with 500
// that it never takes the document: OTLP/HTTP allows to send it again after 429, 502, 503 and 504.
func (e Endpoint) passes(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return status >= 500 && !e.collector
	}
}

// collectorFix says what to do about an answer after which OTLP forbids to send a document again.
func collectorFix(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "Check the authorization_file and headers_file of otlp."
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "Check otlp.endpoint: it is the base URL of the OTLP receiver over HTTP, to which /v1/metrics and /v1/logs are added."
	default:
		return "Look into the logs of the Collector for what is wrong with the document."
	}
}

// maxRetryAfter bounds what a receiver can ask for.
const maxRetryAfter = time.Hour

// retryAfter parses the Retry-After header: seconds, or a date (RFC 9110,
// section 10.2.3).
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

// failed explains why there is no answer. ctx is the caller's.
func (c *Client) failed(ctx context.Context, err error) Result {
	r := Result{Verdict: Unreached}
	var (
		forbidden   forbiddenError
		certificate *tls.CertificateVerificationError
		name        *net.DNSError
		record      tls.RecordHeaderError
		proxy       proxyError
	)
	switch {
	case ctx.Err() != nil:
		r.Reason = "had not answered when the call ended"
	case errors.As(err, &forbidden):
		r.Reason = "leads to an address that nothing is sent to: " + forbidden.Error()
		r.Fix = "Send it to a receiver of your own; if the name is yours, look at what it resolves to."
		if r.OwnMachine = forbidden.own; r.OwnMachine {
			r.Fix = OwnMachineFix
		}
	case errors.As(err, &certificate):
		r.Reason = "has a certificate that does not hold: " + certificateProblem(certificate.Err)
		r.Fix = "Fix the certificate of the receiver, or name the authority that signed it in ca_file of its endpoint."
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		r.Reason = "does not speak TLS"
		r.Fix = "Check the port of the URL."
	case errors.As(err, &proxy):
		r.Reason, r.retryable = fmt.Sprintf("was not reached: webhook.proxy %s", statusText(int(proxy))), proxy >= 500
	case errors.As(err, &name) && name.IsNotFound:
		r.Reason = "has a name without any address"
		r.Fix = "Check how the name is written."
	case errors.As(err, &name):
		r.Reason, r.retryable = "has a name that the name servers do not answer for", true
	default:
		r.Reason, r.retryable = c.network(err), true
		r.NoRoute = errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	}
	r.Reason = sanitize.Text(r.Reason, 200)
	return r
}

// certificateProblem says what is wrong with a certificate without quoting it: its
// author must not address those who read the reason.
func certificateProblem(err error) string {
	var (
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &name):
		return "it is that of another host"
	case errors.As(err, &unknown):
		return "it is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil && invalid.Cert.NotBefore.After(time.Now()):
		return "it is not yet valid, by the clock of this machine"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, by the clock of this machine"
	default:
		return "it breaks the rules for certificates"
	}
}

// network describes an error of the connection in its own words: the errors of
// net/http quote the receiver.
func (c *Client) network(err error) string {
	var (
		slow   net.Error
		number syscall.Errno
		remote *net.OpError
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "is not there (connection refused)"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "broke the connection off"
	case errors.As(err, &slow) && slow.Timeout():
		return fmt.Sprintf("did not answer within %v", c.endpoint.timeout)
	case errors.As(err, &number):
		return "could not be talked to: " + number.Error()
	case errors.As(err, &remote) && remote.Op == "remote error": // a TLS alert
		return "could not be talked to: it says " + remote.Err.Error()
	default:
		return "could not be talked to: it does not speak HTTP or TLS as this program does"
	}
}
