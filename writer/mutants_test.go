package writer_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/internal/overlay"
)

// mutant is a break of the code, by name.
type mutant struct {
	name  string
	edits []overlay.Edit
}

// Each mutant breaks a rule of the protocol. The first seven are the bugs of
// the model that the protocol was proved with.
var mutants = []mutant{
	{"BlindPut", []overlay.Edit{{
		File: "commit.go",
		Old:  "s.Store.Put(ctx, key, body, store.IfAbsent())",
		New:  "s.Store.Put(ctx, key, body, store.Blind())",
	}}},
	{"NoPlan", []overlay.Edit{{
		File: "commit.go",
		Old:  "return s.log.Plan(ctx, *u.plan())",
		New:  "return nil",
	}, {
		File: "commit.go",
		Old:  "rider = next.plan()",
		New:  "rider = nil",
	}, {
		File: "../manifest/log.go",
		Old:  "if len(keys) > 0 || r.Start != h.Next {",
		New:  "if r.Start != h.Next {",
	}}},
	{"Overwrite", []overlay.Edit{{
		File: "commit.go",
		Old:  `return fmt.Errorf("%s: %w", key, errOther)`,
		New:  "_, err = s.Store.Put(ctx, key, body, store.Blind())\n\t\t\t\treturn err",
	}}},
	{"AdoptOther", []overlay.Edit{{
		File: "commit.go",
		Old:  "return sha256.Sum256(o.Body) == want, nil",
		New:  "return sha256.Sum256(o.Body) == want || true, nil",
	}, {
		File: "commit.go",
		Old:  "return *info.SHA256 == want, nil",
		New:  "return *info.SHA256 == want || true, nil",
	}}},
	{"VoidAfter", []overlay.Edit{{
		File: "commit.go",
		Old:  "return nil\n}\n\n// vacate puts",
		New: `for _, key := range u.superseded {
			if err := s.vacate(ctx, u, key); err != nil {
				return err
			}
		}
		return nil
	}

	// vacate puts`,
	}, {
		File: "commit.go",
		Old:  "for _, key := range u.superseded {\n\t\tif err := s.vacate(ctx, u, key); err != nil {",
		New:  "for range 0 {\n\t\tif err := error(nil); err != nil {",
	}}},
	{"DeleteSuperseded", []overlay.Edit{{
		File: "commit.go",
		Old:  "_, err := s.Store.Put(ctx, key, body, store.Blind())",
		New:  "_, err := body, s.Store.Delete(ctx, key)",
	}}},
	{"AdoptETag", []overlay.Edit{{
		File: "../manifest/log.go",
		Old:  "case err == nil && (h.Epoch != l.head.Epoch || h.Owner.ID != l.head.Owner.ID):",
		New:  "case false:",
	}, {
		File: "../manifest/log.go",
		Old:  "l.head, l.etag = h, etag",
		New:  "l.head.Version, l.etag = h.Version, etag",
	}}},
	{"DeleteInRecover", []overlay.Edit{{
		File: "recover.go",
		Old:  "if err := s.layOutAgain(ctx, u, p.Keys); err != nil {",
		New:  "for _, key := range p.Keys {\n\t\t\t_ = s.Store.Delete(ctx, key)\n\t\t}\n\t\tp.Keys = nil\n\t\tif err := s.layOutAgain(ctx, u, p.Keys); err != nil {",
	}}},
	{"PublishFirst", []overlay.Edit{{
		File: "commit.go",
		Old:  "err := s.write(ctx, u)\n\t\tif err == nil {",
		New:  "err := error(nil)\n\t\tif err == nil {",
	}, {
		File: "commit.go",
		Old:  "s.published(u, time.Since(begin))\n\treturn nil",
		New:  "s.published(u, time.Since(begin))\n\treturn s.write(ctx, u)",
	}}},
	{"RejectedLast", []overlay.Edit{{
		File: "commit.go",
		Old:  "if err := s.reject(ctx, u.encoded.Record.Dead, u.encoded.Bodies); err != nil {\n\t\treturn err\n\t}\n\tnext, err",
		New:  "next, err",
	}, {
		File: "commit.go",
		Old:  "s.published(u, time.Since(begin))\n\treturn nil",
		New:  "s.published(u, time.Since(begin))\n\treturn s.reject(ctx, u.encoded.Record.Dead, u.encoded.Bodies)",
	}}},
	{"AdoptedUnsent", []overlay.Edit{{
		File: "recover.go",
		Old:  "if err := s.reject(ctx, rec.Dead, bodies); err != nil {",
		New:  "if err := error(nil); err != nil {",
	}}},
}

// Every mutant of the writer is caught by one of the crash tests.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			out, err := exec.Command("go", "test", "-count=1", "-failfast", "-overlay", overlay.File(t, ".", m.edits),
				"-run", "^(TestCrash|TestLostAnswer|TestPause|TestThreeWriters|TestDeadLetters.*)$", ".").CombinedOutput()
			if err == nil {
				t.Fatal("no crash test fails")
			}
			if !strings.Contains(string(out), "--- FAIL: Test") {
				t.Fatalf("the mutant does not build or run:\n%s", out)
			}
		})
	}
}
