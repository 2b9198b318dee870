package source

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// secret writes a file with a secret and returns its path.
func secret(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	rewrite(t, path, text)
	return path
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// setPassword gives a user of the brokers another password, by SCRAM.
func (p *pipes) setPassword(t *testing.T, user, was, is string) {
	t.Helper()
	u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	u.Name, u.Mechanism, u.Iterations, u.Salt = user, 1, 4096, []byte("salt")
	var err error
	if u.SaltedPassword, err = pbkdf2.Key(sha256.New, is, u.Salt, int(u.Iterations), sha256.Size); err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = append(req.Upsertions, u)
	auth := kgo.SASL(scram.Auth{User: user, Pass: was}.AsSha256Mechanism())
	res := admin[*kmsg.AlterUserSCRAMCredentialsResponse](t, p, req, auth)
	if len(res.Results) != 1 || res.Results[0].ErrorCode != 0 {
		t.Fatal(res)
	}
}

// write logs in as u and sends a record to the partitions 0 and 1.
func (p *pipes) write(t *testing.T, password string) {
	t.Helper()
	auth := kgo.SASL(scram.Auth{User: "u", Pass: password}.AsSha256Mechanism())
	cl, err := kgo.NewClient(auth, kgo.SeedBrokers(p.ListenAddrs()...), kgo.Dialer(p.network.DialContext), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	produce(t, cl, "t", 0, "x")
	produce(t, cl, "t", 1, "x")
}

// A password that changes at the brokers before it does in our file: logins are
// refused, which is told and tried again but not often, and once the file has
// the new one reading goes on. Nothing is lost or read twice (B58).
func TestPasswordRotates(t *testing.T) {
	t.Parallel()
	f := func(group string) {
		t.Helper()
		inBubble(t, func(t *testing.T, p *pipes) {
			p.create(t, "t", 2)
			file := secret(t, "first\n")
			cfg, log := p.config("t"), &lines{}
			cfg.Group, cfg.Log, cfg.Progress = group, logTo(log), &Progress{}
			cfg.SASL = SASL{Mechanism: "scram-sha-256", User: "u", PasswordFile: file}
			var logins atomic.Int32
			p.ControlKey(36, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				p.KeepControl()
				logins.Add(1)
				return nil, nil, false
			})
			h := newHistory()
			leave := start(t, cfg, h.follow)
			p.write(t, "first")
			time.Sleep(10 * time.Second)
			h.check(t, 2, 1)
			p.setPassword(t, "u", "first", "second")
			p.breaks(nil) // as brokers do when a login is too old
			p.write(t, "second")
			time.Sleep(30 * time.Second)
			logins.Store(0)
			time.Sleep(3 * time.Minute)
			// A login by SCRAM takes two messages, of which the second fails.
			if n := logins.Load(); n == 0 || n > 2*3*60 {
				t.Errorf("%d messages of logins in 3 minutes", n)
			}
			if log.count(`in the login as user \"u\" by scram-sha-256: check user, password (in `) == 0 {
				t.Errorf("log:\n%s", log.text.String())
			}
			if why := fmt.Sprint(cfg.Progress.Now().Silent); !strings.Contains(why, `in the login as user "u"`) || strings.Contains(why, "first") {
				t.Errorf("told from outside: %s", why)
			}
			h.check(t, 2, 1)
			rewrite(t, file, "second")
			time.Sleep(15 * time.Second)
			h.check(t, 2, 2)
			// Once more, the file being first: nobody notices.
			rewrite(t, file, "third")
			p.setPassword(t, "u", "second", "third")
			p.breaks(nil)
			p.write(t, "third")
			time.Sleep(10 * time.Second)
			h.check(t, 2, 3)
			leave()
			for _, s := range []string{"first", "second", "third"} {
				if log.count(s) != 0 {
					t.Errorf("the log tells the password %s", s)
				}
			}
		}, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "u", "first"))
	}
	f("")
	f("g")
}

// Brokers that answer with an error of the login in the middle of everything
// get a new connection with a new login; nothing is lost or read twice (B58).
func TestLoginExpires(t *testing.T) {
	f := func(key int16, code int16) {
		t.Helper()
		inBubble(t, func(t *testing.T, p *pipes) {
			p.create(t, "t", 2)
			h := newHistory()
			cfg := p.config("t")
			cfg.Group = "g"
			leave := start(t, cfg, h.follow)
			cl, err := kgo.NewClient(kgo.SeedBrokers(p.ListenAddrs()...), kgo.Dialer(p.network.DialContext), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			p.mu.Lock()
			before := p.dials
			p.mu.Unlock()
			var n, expired atomic.Int32
			p.ControlKey(key, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				p.KeepControl()
				if n.Add(1)%3 != 0 {
					return nil, nil, false
				}
				expired.Add(1)
				return refusal(kreq, code), nil, true
			})
			for i := range 50 {
				produce(t, cl, "t", int32(i%2), "x")
				time.Sleep(time.Second)
			}
			time.Sleep(10 * time.Second)
			cl.Close()
			leave()
			h.check(t, 2, 25)
			p.mu.Lock()
			defer p.mu.Unlock()
			if fresh := p.dials - before; expired.Load() == 0 || fresh == 0 {
				t.Errorf("key %d, code %d: %d logins expired, %d connections since", key, code, expired.Load(), fresh)
			}
		})
	}
	f(keyFetch, codeIllegalSASL)
	f(keyFetch, codeLoginFailed)
	f(keyMetadata, codeIllegalSASL)
	f(keyHeartbeat, codeIllegalSASL)
}

// refusal is an answer with a code wherever one is.
func refusal(kreq kmsg.Request, code int16) kmsg.Response {
	resp := kreq.ResponseKind()
	switch r := resp.(type) {
	case *kmsg.FetchResponse:
		req := kreq.(*kmsg.FetchRequest)
		for _, t := range req.Topics { // in partitions, as old versions have no other place
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.MetadataResponse:
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic, rt.ErrorCode = kmsg.StringPtr("t"), code
		r.Topics = append(r.Topics, rt)
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = code
	}
	return resp
}

// A token goes to the broker as RFC 7628 has it, read anew for each
// connection; one that is refused ends the start with what to look at (B58).
func TestBearer(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	valid := atomic.Value{}
	valid.Store("one")
	c.ControlKey(17, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.SupportedMechanisms = []string{"OAUTHBEARER"}
		if kreq.(*kmsg.SASLHandshakeRequest).Mechanism != "OAUTHBEARER" {
			resp.ErrorCode = 33
		}
		return resp, nil, true
	})
	var refusals atomic.Int32
	c.ControlKey(36, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		switch body := string(kreq.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes); body {
		case "n,,\x01auth=Bearer " + valid.Load().(string) + "\x01\x01":
		case "\x01": // the answer to why it was refused
			refusals.Add(1)
			resp.ErrorCode = codeLoginFailed
		default:
			resp.SASLAuthBytes = []byte(`{"status":"invalid_token"}`)
		}
		return resp, nil, true
	})
	cfg := config(c, "t")
	file := secret(t, "one\n")
	cfg.SASL = SASL{Mechanism: "oauthbearer", TokenFile: file}
	err := run(t, cfg, func(ctx context.Context, p *Partition) error {
		valid.Store("two")
		rewrite(t, file, "two")
		p.router.client.transport.CloseIdleConnections() // new ones log in anew
		_, _, err := p.Bounds(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	valid.Store("three")
	err = run(t, cfg, idle)
	if err == nil || !strings.Contains(err.Error(), "as oauthbearer by the token in "+file+": refused: check that the token is not expired") || strings.Contains(err.Error(), "two") {
		t.Errorf("got %v", err)
	}
	if refusals.Load() == 0 {
		t.Error("the broker was not heard out")
	}
}

// What is wrong with the file of a secret is told at the start.
func TestSecretFiles(t *testing.T) {
	f := func(s SASL, want string) {
		t.Helper()
		err := Run(t.Context(), Config{Brokers: []string{"127.0.0.1:1"}, Topics: []string{"t"}, SASL: s}, idle)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	f(SASL{Mechanism: "plain", User: "u", PasswordFile: none}, `log in as user "u" by plain: read the password: open `+none)
	f(SASL{Mechanism: "scram-sha-512", User: "u", PasswordFile: secret(t, "\r\n")}, "of the password is empty")
	f(SASL{Mechanism: "oauthbearer", TokenFile: none}, "read the token: open "+none)
	f(SASL{Mechanism: "oauthbearer", TokenFile: secret(t, "\n")}, "of the token is empty")
	f(SASL{Mechanism: "oauthbearer", TokenFile: secret(t, "hunter2 hunter2")}, "holds more than one token")
	if _, err := readSecret("password", none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	// Spaces may belong to a password, the end of its line does not.
	if text, err := readSecret("password", secret(t, " a b \r\n")); text != " a b " || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// Logins that never succeed are slowed down, up to a bound; one that does ends
// that.
func TestPace(t *testing.T) {
	var p pace
	for i := range freeLogins {
		if d := p.begin(); d != 0 {
			t.Errorf("login %d waits %v", i, d)
		}
	}
	var last time.Duration
	for range 100 {
		if last = p.begin(); last > 3*maxLogin/2 || last == 0 {
			t.Errorf("pause %v", last)
		}
	}
	if last < maxLogin/2 {
		t.Errorf("last pause %v", last)
	}
	p.succeed()
	if d := p.begin(); d != 0 {
		t.Errorf("pause %v after a success", d)
	}
}
