package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mark stands before and after the expression of a pattern. No name of a topic
// has one.
const mark = "/"

// IsPattern reports whether t stands for every topic whose whole name its
// expression matches. Its Name is the expression between slashes.
func (t Topic) IsPattern() bool { return t.expr != nil }

// ParseTopic reads the name of a topic, or a pattern: a regular expression
// (RE2) between slashes, which must match the whole name.
func ParseTopic(text string) (Topic, error) {
	inner, ok := strings.CutPrefix(text, mark)
	if !ok {
		return Topic{Name: text}, CheckTopic(text)
	}
	inner, ok = strings.CutSuffix(inner, mark)
	switch {
	case !ok:
		return Topic{}, fmt.Errorf("pattern %q: a slash is missing at its end", text)
	case inner == "":
		return Topic{}, errors.New("pattern //: it is empty: write /.*/ for all topics")
	case strings.Contains(inner, mark):
		return Topic{}, fmt.Errorf("pattern %q: names of topics have no slash", text)
	}
	if _, err := regexp.Compile(inner); err != nil { // the words of its author
		return Topic{}, fmt.Errorf("pattern %s: %w", text, err)
	}
	expr, err := regexp.Compile(`\A(?:` + inner + `)\z`)
	if err != nil {
		return Topic{}, fmt.Errorf("pattern %s: %w", text, err)
	}
	return Topic{Name: text, expr: expr}, nil
}

// Takes reports whether pattern t stands for a topic. Those that brokers keep
// for themselves, whose names begin with two underscores, have to be listed by
// name; what holds dead letters, and what no table can be called, no pattern
// takes.
func (s *Settings) Takes(t Topic, name string) bool {
	return t.expr != nil && !strings.HasPrefix(name, "__") && name != s.DeadLetter.Topic &&
		CheckTopic(name) == nil && t.expr.MatchString(name)
}

// Topic returns how a topic is read: as it is listed by name, or else by the
// first pattern that takes it, in the order of the list. It is false for a
// topic that is not read.
func (s *Settings) Topic(name string) (Topic, bool) {
	if i := slices.IndexFunc(s.Topics, func(t Topic) bool { return t.Name == name && !t.IsPattern() }); i >= 0 {
		return s.Topics[i], true
	}
	for _, t := range s.Topics {
		if s.Takes(t, name) {
			return Topic{Name: name, Declared: t.Declared}, true
		}
	}
	return Topic{}, false
}

// splitTopics splits a list of names and patterns at its commas. Those within
// a pattern are its own.
func splitTopics(text string) ([]string, error) {
	var items []string
	for rest := strings.TrimSpace(text); rest != ""; {
		from := 0
		if strings.HasPrefix(rest, mark) {
			if at := strings.Index(rest[1:], mark); at >= 0 {
				from = at + 1
			}
		}
		end := strings.Index(rest[from:], ",")
		item, more := rest, ""
		if end >= 0 {
			item, more = rest[:from+end], strings.TrimSpace(rest[from+end+1:])
		}
		if item = strings.TrimSpace(item); item == "" || end >= 0 && more == "" {
			return nil, fmt.Errorf("%q has an empty item", text)
		}
		items, rest = append(items, item), more
	}
	return items, nil
}
