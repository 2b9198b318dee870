package logs

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// stream feeds a sink a few records at a time.
type stream struct {
	t    testing.TB
	b    *realkafka.Broker
	sink *lakeweirtest.Sink
	n    int
}

// step sends ten records.
func (f *stream) step() {
	f.t.Helper()
	send(f.t, f.b, f.sink.Topic, 0, "v", f.n, 10)
	f.n += 10
}

// flows sends ten records and waits until all are published.
func (f *stream) flows() {
	f.t.Helper()
	f.step()
	lakeweirtest.Await(f.t, limit, fmt.Sprintf("%d rows are published", f.n), func() bool { return f.sink.Next(f.t, 0) == int64(f.n) })
}

// ends stops the process, which must have come through, with every row once.
func (f *stream) ends(p *lakeweirtest.Process) {
	f.t.Helper()
	if r := p.Stop(); r.Code != 0 {
		f.t.Errorf("exit %d\n%s", r.Code, r.Log)
	}
	same(f.t, "rows", f.sink.Rows(f.t), rows(0, 0, "v", 0, f.n))
	if h := f.sink.Head(f.t, 0); h.Epoch != 1 {
		f.t.Errorf("claimed %d times, want once", h.Epoch)
	}
}

// replace changes a file at once, as a mounted secret changes.
func replace(t testing.TB, path, text string) {
	t.Helper()
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A password changes at the broker first and in its file later. Between the two
// the sink is refused and goes on trying; then it goes on without a restart (B58).
func TestPasswordIsRotated(t *testing.T) {
	t.Parallel()
	b := secured(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	secret := filepath.Join(t.TempDir(), "secret")
	replace(t, secret, passwords["bob"]+"\n")
	s := lakeweirtest.New(t, b.SASLAddr(), lakeweirtest.Dir(t), topic, "batch: {max_age: 300ms}",
		fmt.Sprintf("sasl: {mechanism: scram-sha-512, user: bob, password_file: %q}", secret))
	p := s.Start(t)
	f := &stream{t: t, b: b, sink: s}
	f.flows()
	change := kadm.UpsertSCRAM{User: "bob", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "bobs-new-secret"}
	changed, err := kadm.NewClient(b.Client(t)).AlterUserSCRAMs(within(t), nil, []kadm.UpsertSCRAM{change})
	if err == nil {
		err = changed.Error()
	}
	if err != nil {
		t.Fatalf("change the password of bob: %v", err)
	}
	// The broker cuts the connections when their logins are too old.
	lakeweirtest.Await(t, limit, "the old password is refused", func() bool {
		f.step()
		return strings.Contains(p.Log(), "check user, password (in "+secret+")")
	})
	if p.Ended() {
		t.Error("the refusal has ended the sink")
	}
	replace(t, secret, "bobs-new-secret\n")
	begin := time.Now()
	f.flows()
	t.Logf("all is published %v after the file has the new password", time.Since(begin))
	if log := p.Log(); strings.Contains(log, "bobs-") {
		t.Errorf("the log has a password:\n%s", log)
	}
	f.ends(p)
}

// token returns one that the broker's unsecured validator takes until it expires.
func token(user string, expires time.Time) string {
	part := func(format string, args ...any) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, format, args...))
	}
	return part(`{"alg":"none"}`) + "." + part(`{"sub":%q,"iat":%d,"exp":%d}`, user, time.Now().Unix()-1, expires.Unix()) + "."
}

// Tokens that live for seconds, renewed in their file by something else: the
// sink lives through several of them, and through a time with an expired one (B58).
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	b := secured(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	file := filepath.Join(t.TempDir(), "token")
	replace(t, file, token("carol", time.Now().Add(4*time.Second)))
	s := lakeweirtest.New(t, b.SASLAddr(), lakeweirtest.Dir(t), topic, "batch: {max_age: 300ms}",
		fmt.Sprintf("sasl: {mechanism: oauthbearer, token_file: %q}", file))
	p := s.Start(t)
	f := &stream{t: t, b: b, sink: s}
	for begin := time.Now(); time.Since(begin) < 3*reauth; {
		f.flows()
		replace(t, file, token("carol", time.Now().Add(4*time.Second)))
	}
	lakeweirtest.Await(t, limit, "the expired token is refused", func() bool {
		f.step()
		return strings.Contains(p.Log(), "check that the token is not expired")
	})
	replace(t, file, token("carol", time.Now().Add(time.Hour)))
	f.flows()
	if log := p.Log(); strings.Contains(log, base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))) {
		t.Errorf("the log has a token:\n%s", log)
	}
	f.ends(p)
}
