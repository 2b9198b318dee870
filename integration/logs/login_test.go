package logs

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/lakeweir/lakeweir/integration/lakeweirtest"
	"github.com/lakeweir/lakeweir/integration/realkafka"
)

// passwords are those of the secured broker's users.
var passwords = map[string]string{"alice": "alices-secret", "bob": "bobs-secret"}

// reauth is how old a login may get at the secured broker before it cuts the
// connection.
const reauth = 3 * time.Second

// closed is the one secured broker of the tests.
var closed struct {
	sync.Mutex
	broker *realkafka.Broker
}

// secured returns a broker with SASL and TLS listeners whose logins expire, and
// with access rules.
func secured(t testing.TB) *realkafka.Broker {
	t.Helper()
	closed.Lock()
	defer closed.Unlock()
	if closed.broker == nil {
		closed.broker = realkafka.StartShared(t, realkafka.Options{
			Users: passwords, TLS: true, Properties: map[string]string{
				"listener.name.sasl.sasl.enabled.mechanisms":      "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
				"listener.name.sasl.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
				"connections.max.reauth.ms":                       fmt.Sprint(reauth.Milliseconds()),
				"authorizer.class.name":                           "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
				"super.users":                                     "User:ANONYMOUS", // the plain listener, which the tests use
				"allow.everyone.if.no.acl.found":                  "true",
			},
		})
	}
	return closed.broker
}

// login returns the lines of a configuration for SCRAM.
func login(user, password string) []string {
	return []string{fmt.Sprintf("sasl: {mechanism: scram-sha-512, user: %s, password: %s}", user, password)}
}

// Logins expire every 3 seconds, with TLS and without: the sink logs in again
// and publishes all, once, without ending or being fenced (B58).
func TestLoginsExpire(t *testing.T) {
	t.Parallel()
	f := func(name string, addr func(*realkafka.Broker) string, lines func(*realkafka.Broker) []string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := secured(t)
			topic := topicOf(t)
			b.CreateTopic(t, topic, 1, nil)
			s := lakeweirtest.New(t, addr(b), lakeweirtest.Dir(t), topic, append(lines(b), "group: "+topic, "batch: {max_age: 300ms}")...)
			p := s.Start(t)
			begin, n := time.Now(), 0
			for ; time.Since(begin) < 3*reauth; n += 10 { // three logins of age
				send(t, b, topic, 0, "v", n, 10)
				lakeweirtest.Await(t, limit, fmt.Sprintf("%d rows are published", n+10), func() bool { return s.Next(t, 0) == int64(n+10) })
			}
			if p.Ended() {
				t.Error("the sink has ended")
			}
			if r := p.Stop(); r.Code != 0 || strings.Contains(r.Log, "ERROR") {
				t.Errorf("exit %d\n%s", r.Code, r.Log)
			}
			same(t, "rows", s.Rows(t), rows(0, 0, "v", 0, n))
			if h := s.Head(t, 0); h.Epoch != 1 {
				t.Errorf("claimed %d times, want once", h.Epoch)
			}
			if shown := told(t, kadm.NewClient(b.Client(t)), topic, topic); shown != int64(n) {
				t.Errorf("the group shows %d, want %d", shown, n)
			}
		})
	}
	f("plain", (*realkafka.Broker).SASLAddr, func(*realkafka.Broker) []string { return login("alice", passwords["alice"]) })
	f("tls", (*realkafka.Broker).SASLTLSAddr, func(b *realkafka.Broker) []string {
		return append(login("alice", passwords["alice"]), fmt.Sprintf("tls: {ca: %q}", b.CAFile()))
	})
}

// A wrong password ends the start with one line that names what to check, and
// not the password (B58).
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	b := secured(t)
	topic := topicOf(t)
	b.CreateTopic(t, topic, 1, nil)
	s := lakeweirtest.New(t, b.SASLAddr(), lakeweirtest.Dir(t), topic, login("alice", "guess-7913")...)
	begin := time.Now()
	r := s.Run(t)
	stops(t, r, 1, "check user, password")
	if strings.Contains(r.Log, "guess-7913") || strings.Count(r.Log, "\n") != 1 {
		t.Errorf("want one line without the password:\n%s", r.Log)
	}
	if took := time.Since(begin); took > limit {
		t.Errorf("it took %v", took)
	}
}
