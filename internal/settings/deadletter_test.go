package settings

import (
	"strings"
	"testing"
)

// Dead letters must not be read as records again: their topic is not among
// topics. A pattern that matches it leaves it out.
func TestDeadLetterTopicIsNotRead(t *testing.T) {
	f := func(topic, names, want string) {
		t.Helper()
		s := New()
		s.Brokers, s.Store, s.DeadLetter.Topic = []string{"127.0.0.1:1"}, "dir:lake", topic
		if err := s.topicNames().set(names); err != nil {
			t.Fatal(err)
		}
		err := s.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s with topics %s: got %v, want %q", topic, names, err, want)
		}
	}
	f("", "quakes", "")
	f("quakes.dead", "quakes,orders", "")
	f("quakes", "orders,quakes", `dead_letter.topic "quakes" is among topics`)
	f("quakes.dead", "/quakes.*/", "")
	f("quakes.dead", "/quakes.*/,quakes.dead", "is among topics")
}
