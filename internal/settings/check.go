package settings

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Limits of settings.
const (
	minMemory   = 64 << 20 // below it, one fetch and one batch do not fit
	maxMaxBytes = 1 << 30  // a batch is one PUT
	maxLevel    = 22       // of zstd
)

// oauthBearer is the login by a token of RFC 7628.
const oauthBearer = "oauthbearer"

// Check returns an error unless the settings are enough to run the sink, and
// hold together.
func (s *Settings) Check() error {
	if err := s.CheckBrokers(); err != nil {
		return err
	}
	if _, err := ParseLocation(s.Store); err != nil {
		return err
	}
	if len(s.Topics) == 0 {
		return errors.New("no topics: list at least one under topics, or with --topic")
	}
	for _, check := range []func() error{s.checkPartitions, s.checkGroup, s.checkBatch, s.checkDeadLetter} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, t := range s.Topics {
		if _, err := s.Schema(t); err != nil {
			return err
		}
	}
	return nil
}

// CheckBrokers returns an error unless the settings are enough to ask brokers.
func (s *Settings) CheckBrokers() error {
	switch {
	case len(s.Brokers) == 0:
		return errors.New("no brokers: give at least one address as host:port under brokers, or with --brokers")
	case (s.TLS.Cert == "") != (s.TLS.Key == ""):
		return errors.New("tls.cert and tls.key belong together: one is set, the other is not")
	}
	return s.SASL.check()
}

func (l SASL) check() error {
	password := l.Password != "" || l.PasswordFile != ""
	switch {
	case l.Mechanism == "" && l != SASL{}:
		return errors.New("a setting of sasl is there but not sasl.mechanism: choose plain, scram-sha-256, scram-sha-512 or oauthbearer")
	case l.Mechanism == "":
	case l.Password != "" && l.PasswordFile != "":
		return errors.New("sasl.password and sasl.password_file are both set: remove one")
	case l.Mechanism == oauthBearer && (l.TokenFile == "" || password || l.User != ""):
		return errors.New("sasl.mechanism is oauthbearer: it takes sasl.token_file, and neither user nor password")
	case l.Mechanism != oauthBearer && l.TokenFile != "":
		return fmt.Errorf("sasl.token_file is for oauthbearer, but sasl.mechanism is %s", l.Mechanism)
	case l.Mechanism != oauthBearer && (l.User == "" || !password):
		return errors.New("sasl.mechanism is set: sasl.user and sasl.password or sasl.password_file are needed too")
	}
	return nil
}

func (s *Settings) checkPartitions() error {
	if s.Partitions == nil {
		return nil
	}
	for topic := range s.Partitions {
		if !slices.ContainsFunc(s.Topics, func(t Topic) bool { return t.Name == topic }) {
			return fmt.Errorf("partitions name topic %q, which is not among topics", topic)
		}
	}
	for _, t := range s.Topics {
		if t.IsPattern() {
			return fmt.Errorf("partitions are listed, but topics has the pattern %s: list its topics by name, or use a group", t.Name)
		}
		if len(s.Partitions[t.Name]) == 0 {
			return fmt.Errorf("partitions name none of topic %q: list some, or remove the topic", t.Name)
		}
	}
	return nil
}

func (s *Settings) checkGroup() error {
	if s.HeartbeatInterval*3 > s.SessionTimeout {
		return fmt.Errorf("heartbeat_interval %v is more than a third of session_timeout %v: a lost heartbeat would cost the partitions", s.HeartbeatInterval, s.SessionTimeout)
	}
	if s.Group != "" && s.Partitions == nil && s.ShutdownTimeout >= s.RebalanceTimeout {
		return fmt.Errorf("shutdown_timeout %v is not below rebalance_timeout %v: the group would not wait for the shutdown", s.ShutdownTimeout, s.RebalanceTimeout)
	}
	return nil
}

func (s *Settings) checkBatch() error {
	switch {
	case s.Memory < minMemory:
		return fmt.Errorf("memory %s is less than %s", FormatSize(s.Memory), FormatSize(minMemory))
	case s.Batch.MaxRows < 1 || s.Batch.MaxBytes < 1 || s.Batch.MaxAge < time.Millisecond:
		return errors.New("batch.max_rows, batch.max_bytes and batch.max_age must be positive")
	case s.Batch.MaxBytes > maxMaxBytes:
		return fmt.Errorf("batch.max_bytes %s is more than %s: a batch is one object, written at once", FormatSize(s.Batch.MaxBytes), FormatSize(maxMaxBytes))
	case s.Files.Level > maxLevel:
		return fmt.Errorf("files.level %d is more than %d", s.Files.Level, maxLevel)
	}
	return nil
}

// checkDeadLetter keeps dead letters from being read as records again. A
// pattern does not take their topic.
func (s *Settings) checkDeadLetter() error {
	topic := s.DeadLetter.Topic
	if topic != "" && slices.ContainsFunc(s.Topics, func(t Topic) bool { return t.Name == topic }) {
		return fmt.Errorf("dead_letter.topic %q is among topics: its dead letters would be read as records; give another topic, or remove it from topics", topic)
	}
	return nil
}
