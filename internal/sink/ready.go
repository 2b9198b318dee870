package sink

import (
	"fmt"
	"strings"
	"time"

	"github.com/lakeweir/lakeweir/internal/source"
)

// quiet is how long a leader may not answer before that counts: leaders move,
// and brokers restart, within seconds.
const quiet = 5 * time.Second

// maxReasons bounds the lines that say why a Sink is not ready.
const maxReasons = 50

// general returns why the Sink as a whole cannot publish. It is called under
// s.mu.
func (s *Sink) general(st source.State, now time.Time) (why []string) {
	since := now.Sub(st.Since).Round(time.Second)
	switch {
	case s.drained:
		return []string{"stopping: what was read is being published"}
	case !st.Begun:
		return []string{"starting: the heads of the tables are read and the brokers are asked"}
	case st.Silent != nil:
		why = append(why, line("no broker answers for %v: %v", since, st.Silent))
	case st.Refused != nil:
		why = append(why, line("the group %q is not joined for %v: %v", s.Settings.Group, since, st.Refused))
	}
	for _, name := range st.Awaited {
		why = append(why, line("waiting for topic %s: it does not exist", name))
	}
	if !st.Assigned && len(why) == 0 {
		why = append(why, line("no partitions are assigned yet: the group %q is being joined or rebalances", s.Settings.Group))
	}
	return why
}

// obstacles returns why a partition cannot publish. It is called under s.mu.
func (s *Sink) obstacles(at place, p Partition, now time.Time) (why []string) {
	if err, ended := s.ended[at]; ended {
		if err != nil {
			why = append(why, line("%s: stopped: %v", at, strings.TrimPrefix(err.Error(), at.String()+": ")))
		}
		return why
	}
	for _, t := range p.Troubles {
		why = append(why, line("%s: %v", at, t))
	}
	if silent := p.Marks.Silent; !silent.IsZero() && now.Sub(silent) > quiet && len(why) == 0 {
		why = append(why, line("%s: its broker does not answer for %v", at, now.Sub(silent).Round(time.Second)))
	}
	if !p.Claimed && len(why) == 0 {
		why = append(why, line("%s: no claim yet", at))
	}
	return why
}

// line formats one line, whatever is in it.
func line(format string, args ...any) string {
	return strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
}

// few cuts a list of reasons that nobody would read to its end.
func few(why []string) []string {
	if n := len(why) - maxReasons; n > 0 {
		return append(why[:maxReasons:maxReasons], fmt.Sprintf("and %d more", n))
	}
	return why
}
