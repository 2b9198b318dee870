package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Mechanisms of SASL, as they are configured. Brokers know them in capitals.
const (
	saslPlain  = "plain"
	saslSHA256 = "scram-sha-256"
	saslSHA512 = "scram-sha-512"
	saslBearer = "oauthbearer"
)

// SASL is a login by user and password, or by a token. Files are read anew for
// each connection, so what others write there is used from the next one on.
type SASL struct {
	Mechanism    string // "plain", "scram-sha-256", "scram-sha-512" or "oauthbearer"; "" is no login
	User         string
	Password     string
	PasswordFile string // in place of Password; line ends at its end are left out
	TokenFile    string // of oauthbearer: one token
}

// String hides the password.
func (s SASL) String() string {
	if s.Mechanism == saslBearer {
		return s.Mechanism + " by the token in " + s.TokenFile
	}
	return s.Mechanism + " as " + s.User
}

// GoString hides the password.
func (s SASL) GoString() string { return "source.SASL{" + s.String() + "}" }

// LogValue hides the password.
func (s SASL) LogValue() slog.Value { return slog.StringValue(s.String()) }

// who names the login in errors.
func (s SASL) who() string {
	if s.Mechanism == saslBearer {
		return s.String()
	}
	return fmt.Sprintf("user %q by %s", s.User, s.Mechanism)
}

// check names what is to be looked at when the login is refused.
func (s SASL) check() string {
	switch {
	case s.Mechanism == saslBearer:
		return "check that the token is not expired, and what the brokers expect of one"
	case s.PasswordFile != "":
		return "check user, password (in " + s.PasswordFile + ") and mechanism"
	}
	return "check user, password and mechanism"
}

// mechanism returns the login of kafka-go, nil for none. What is wrong with it
// now is an error, a file that cannot be read included.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	if s.Mechanism == "" {
		return nil, nil
	}
	if _, err := s.fresh(); err != nil {
		return nil, err
	}
	return &login{SASL: s}, nil
}

// fresh returns the login with the secret that holds now.
func (s SASL) fresh() (sasl.Mechanism, error) {
	password, err := s.Secret()
	var m sasl.Mechanism
	switch {
	case err != nil:
	case s.Mechanism == saslPlain:
		m = plain.Mechanism{Username: s.User, Password: password}
	case s.Mechanism == saslSHA256:
		m, err = scram.Mechanism(scram.SHA256, s.User, password)
	case s.Mechanism == saslSHA512:
		m, err = scram.Mechanism(scram.SHA512, s.User, password)
	case s.Mechanism == saslBearer:
		m, err = readToken(s.TokenFile)
	default:
		return nil, fmt.Errorf("sasl mechanism %q: use plain, scram-sha-256, scram-sha-512 or oauthbearer", s.Mechanism)
	}
	if err != nil {
		return nil, fmt.Errorf("log in as %s: %w", s.who(), err)
	}
	return m, nil
}

// Secret returns the password that holds now.
func (s SASL) Secret() (string, error) {
	if s.PasswordFile == "" {
		return s.Password, nil
	}
	return readSecret("password", s.PasswordFile)
}

// readSecret reads a file that holds one secret.
func readSecret(what, path string) (string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	text := strings.TrimRight(string(body), "\r\n")
	if text == "" {
		return "", fmt.Errorf("the file %s of the %s is empty", path, what)
	}
	return text, nil
}

// login is a login that reads its secret for each connection and slows down
// while none succeeds.
type login struct {
	SASL
	pace pace
}

// Name implements sasl.Mechanism.
func (l *login) Name() string { return strings.ToUpper(l.Mechanism) }

// Start implements sasl.Mechanism.
func (l *login) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	if !sleep(ctx, l.pace.begin()) {
		return nil, nil, ctx.Err()
	}
	m, err := l.fresh()
	if err != nil {
		return nil, nil, err
	}
	state, first, err := m.Start(ctx)
	return &attempt{StateMachine: state, pace: &l.pace}, first, err
}

// attempt is one login under way.
type attempt struct {
	sasl.StateMachine
	pace *pace
}

// Next implements sasl.StateMachine.
func (a *attempt) Next(ctx context.Context, challenge []byte) (bool, []byte, error) {
	done, answer, err := a.StateMachine.Next(ctx, challenge)
	if done && err == nil {
		a.pace.succeed()
	}
	return done, answer, err
}

// pace slows logins down while none succeeds: brokers lock users out that fail
// too often. How a login ends is not told unless it succeeds, so a few are free.
type pace struct {
	mu    sync.Mutex
	tries int // since the last success
}

const (
	// freeLogins may be under way at once without a pause: those of the
	// questions, of kafka-go and of the group, and of some fetches.
	freeLogins = 10
	// loginStep is what each further one waits longer, up to maxLogin, which is
	// well below connectTimeout.
	loginStep = 100 * time.Millisecond
	maxLogin  = 3 * time.Second
)

// begin counts a login and returns the pause before it.
func (p *pace) begin() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	n := min(p.tries-freeLogins, int(maxLogin/loginStep))
	if n <= 0 {
		return 0
	}
	return jitter(time.Duration(n) * loginStep)
}

func (p *pace) succeed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries = 0
}

// bearer is the login by a token: SASL OAUTHBEARER (RFC 7628), without
// extensions.
type bearer struct{ token string }

func readToken(path string) (bearer, error) {
	token, err := readSecret("token", path)
	if err != nil {
		return bearer{}, err
	}
	if token = strings.TrimSpace(token); strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bearer{}, fmt.Errorf("the file %s holds more than one token", path)
	}
	return bearer{token}, nil
}

// Name implements sasl.Mechanism.
func (bearer) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism: the token goes with the first message.
func (b bearer) Start(context.Context) (sasl.StateMachine, []byte, error) {
	return &bearerState{}, []byte("n,,\x01auth=Bearer " + b.token + "\x01\x01"), nil
}

// bearerState is a login by token under way.
type bearerState struct{ refused bool }

// Next implements sasl.StateMachine. A broker that takes the token says
// nothing; one that refuses says why, and refuses for good when that is
// answered.
func (s *bearerState) Next(_ context.Context, challenge []byte) (bool, []byte, error) {
	if s.refused {
		return false, nil, errors.New("the broker refused the token")
	}
	s.refused = len(challenge) > 0
	return !s.refused, []byte{1}, nil
}
