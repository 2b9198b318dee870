package writer_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/lakeweir/lakeweir/internal/overlay"
)

var failedSeed = regexp.MustCompile(`seed (\d+), step \d+: (.*)`)

// keptUnasked does not ask which log it is before a pending plan that fits is
// filled. The crash tests have no log that changes; a test of its own sees it.
var keptUnasked = mutant{"KeptUnasked", []overlay.Edit{{
	File: "recover.go",
	Old:  "} else if err := s.sameLog(ctx); err != nil {",
	New:  "} else if err := error(nil); err != nil {",
}}}

// The simulation finds each mutant too, within a thousand seeds.
func TestSimulationCatchesMutants(t *testing.T) {
	for _, m := range append(mutants[:len(mutants):len(mutants)], keptUnasked) {
		t.Run(m.name, func(t *testing.T) {
			out, err := exec.Command("go", "test", "-count=1", "-overlay", overlay.File(t, ".", m.edits),
				"-run", "^TestSeeds$", "./simulation", "-seeds", "1000").CombinedOutput()
			seed := failedSeed.FindStringSubmatch(string(out))
			if err == nil || seed == nil {
				t.Fatalf("the mutant is not caught:\n%s", out)
			}
			t.Logf("seed %s: %s", seed[1], seed[2])
		})
	}
}
