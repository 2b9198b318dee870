package writer_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/lakeweir/lakeweir/internal/overlay"
)

var failedSeed = regexp.MustCompile(`seed (\d+), step \d+: (.*)`)

// simulated are breaks that take a history to be seen: other logs, other
// owners, memory, old tables. The first ones are bugs that the simulation found.
var simulated = []mutant{
	// Which log it is was not asked before a pending plan that fits was filled.
	{"KeptUnasked", []overlay.Edit{{
		File: "recover.go",
		Old:  "} else if err := s.sameLog(ctx); err != nil {",
		New:  "} else if err := error(nil); err != nil {",
	}}},
	// Nor whether the log was truncated since the claim.
	{"RefilledUnasked", []overlay.Edit{{
		File: "recover.go",
		Old:  "if err := s.sameEpoch(ctx, b); err != nil {",
		New:  "if err := error(nil); err != nil && b != nil {",
	}}},
	{"EpochUnasked", []overlay.Edit{{
		File: "claim.go",
		Old:  "if b.LeaderEpoch <= s.epoch {",
		New:  "if b != nil {",
	}}},
	{"PlannedUnasked", []overlay.Edit{{
		File: "commit.go",
		Old:  "if err := s.sameLog(ctx); err != nil {\n\t\treturn err\n\t}\n\tu.planned = true",
		New:  "u.planned = true",
	}}},
	{"RiderUnasked", []overlay.Edit{{
		File: "commit.go",
		Old:  " && s.sameLog(ctx) == nil {",
		New:  " {",
	}}},
	{"ToldFirst", []overlay.Edit{{
		File: "commit.go",
		Old:  "err := s.commit(ctx, u, func(",
		New:  "told.tell(u.job.Range.Next)\n\t\terr := s.commit(ctx, u, func(",
	}}},
	{"BlindHead", []overlay.Edit{{
		File: "../manifest/log.go",
		Old:  "return l.put(ctx, h, store.IfMatch(l.etag))",
		New:  "return l.put(ctx, h, store.Blind())",
	}}},
	{"ResumedUnseen", []overlay.Edit{{
		File: "../manifest/log.go",
		Old:  "return l.change(ctx, func(h Head) (Head, error) { return h, nil })",
		New:  "return nil",
	}}},
	{"ListsForgotten", []overlay.Edit{{
		File: "../manifest/log.go",
		Old:  "if err := l.putLists(ctx, lists); err != nil {",
		New:  "if err := error(nil); err != nil && lists != nil {",
	}}},
	{"LostWithoutLeave", []overlay.Edit{{
		File: "claim.go",
		Old:  "if s.OnDataLoss == FailOnLoss {",
		New:  "if false {",
	}, {
		File: "claim.go",
		Old:  "h.Pending == nil && policy == FailOnLoss:",
		New:  "h.Pending == nil && policy == FailOnLoss && false:",
	}}},
	{"MemoryKept", []overlay.Edit{{
		File: "session.go",
		Old:  "s.budget.Release(b.Size())\n\t}\n\ts.open",
		New:  "_ = b\n\t}\n\ts.open",
	}}},
	{"FenceIgnored", []overlay.Edit{{
		File: "../manifest/log.go",
		Old:  "h.Epoch != l.head.Epoch || h.Owner.ID != l.head.Owner.ID):",
		New:  "h.Epoch != l.head.Epoch && h.Owner.ID == l.head.Owner.ID):",
	}}},
	{"SupersededUnwritten", []overlay.Edit{{
		File: "commit.go",
		Old:  "if err := s.vacate(ctx, u, key); err != nil {",
		New:  "if err := error(nil); err != nil && key != \"\" {",
	}}},
}

// The simulation finds each mutant too, within four thousand seeds.
func TestSimulationCatchesMutants(t *testing.T) {
	for _, m := range append(mutants[:len(mutants):len(mutants)], simulated...) {
		t.Run(m.name, func(t *testing.T) {
			out, err := exec.Command("go", "test", "-count=1", "-overlay", overlay.File(t, ".", m.edits),
				"-run", "^TestSeeds$", "./simulation", "-seeds", "4000").CombinedOutput()
			seed := failedSeed.FindStringSubmatch(string(out))
			if err == nil || seed == nil {
				t.Fatalf("the mutant is not caught:\n%s", out)
			}
			t.Logf("seed %s: %s", seed[1], seed[2])
		})
	}
}
