package manifest

import (
	"errors"
	"math"
	"testing"
)

// Every kind of contradiction in a head is found.
// Long: a case a line.
func TestHeadDamage(t *testing.T) {
	if err := full().Validate(); err != nil {
		t.Fatal(err)
	}
	f := func(what string, break_ func(h *Head)) {
		t.Helper()
		h := full()
		break_(&h)
		if err := h.Validate(); !errors.Is(err, ErrDamage) {
			t.Errorf("%s: got %v, want ErrDamage", what, err)
		}
	}
	// Who and where.
	f("negative partition", func(h *Head) { h.ID = -1 })
	f("six digits", func(h *Head) { h.ID = 100000 })
	f("negative generation", func(h *Head) { h.Generation = -1 })
	f("no table", func(h *Head) { h.Table = "" })
	f("no version", func(h *Head) { h.Version = 0 })
	f("no epoch", func(h *Head) { h.Epoch = 0 })
	f("no owner", func(h *Head) { h.Owner.ID = "" })
	f("negative first offset", func(h *Head) { h.First = -1 })
	f("next before first", func(h *Head) { h.Next = h.First - 1 })
	// Ranges from First to Next.
	f("next beyond the ranges", func(h *Head) { h.Next++; h.Pending = nil })
	f("next inside the ranges", func(h *Head) { h.Next--; h.Pending = nil })
	f("first after the ranges begin", func(h *Head) { h.First++ })
	f("gap", func(h *Head) { h.Ranges = h.Ranges[1:]; h.Totals.Ranges-- })
	f("overlap", func(h *Head) { h.Ranges[1].Start-- })
	f("out of order", func(h *Head) { h.Ranges[0], h.Ranges[1] = h.Ranges[1], h.Ranges[0] })
	f("list missing", func(h *Head) { h.Sealed = nil })
	f("list twice", func(h *Head) { h.Sealed = append(h.Sealed, h.Sealed[0]) })
	f("empty list", func(h *Head) { h.Sealed[0].Next = h.Sealed[0].Start })
	f("list with a path for a random part", func(h *Head) { h.Sealed[0].Random = "../../../etc/pwd" })
	f("list of a level below all", func(h *Head) { h.Sealed[0].Level = -1 })
	f("list of a level above all", func(h *Head) { h.Sealed[0].Level = maxLevel + 1 })
	f("ranges of a later generation", func(h *Head) { h.Sealed[0].Generation = 1 })
	f("ranges, but none of this generation", func(h *Head) { h.Generation = 1; h.Pending = nil })
	f("generations out of order", func(h *Head) { h.Generation = 1; h.Ranges[0].Generation = 1; h.Pending = nil })
	// Totals.
	f("rows", func(h *Head) { h.Totals.Rows++ })
	f("files", func(h *Head) { h.Totals.Files-- })
	f("ranges", func(h *Head) { h.Totals.Ranges++ })
	f("bytes", func(h *Head) { h.Totals.Bytes-- })
	f("lost", func(h *Head) { h.Totals.Lost = 0 })
	f("totals of a list", func(h *Head) { h.Sealed[0].Totals.Rows++ })
	// The plan.
	f("plan elsewhere", func(h *Head) { h.Pending.Start++ })
	f("empty plan", func(h *Head) { h.Pending.Next = h.Pending.Start })
	f("first plan without keys", func(h *Head) { *h.Pending = Plan{Range: h.Pending.Range} })
	f("negative attempt", func(h *Head) { h.Pending.Attempt = -1 })
	f("key of another attempt", func(h *Head) { h.Pending.Attempt = 2 })
	f("key twice", func(h *Head) { h.Pending.Keys = append(h.Pending.Keys, h.Pending.Keys[0]) })
	f("key of this attempt superseded", func(h *Head) { h.Pending.Superseded = h.Pending.Keys })
	f("key that is no name", func(h *Head) { h.Pending.Keys[0] = "data/x" })
	f("key of another range", func(h *Head) { h.Pending.Keys[0] = h.Ranges[0].Data[0].Key })
	f("key of another generation", func(h *Head) {
		h.Pending.Keys[0] = Name{Partition: Partition{ID: part, Generation: 1}, Range: h.Pending.Range, Attempt: 1}.Data()
	})
	f("key of another partition", func(h *Head) {
		h.Pending.Keys[0] = Name{Partition: Partition{ID: 9}, Range: h.Pending.Range, Attempt: 1}.Data()
	})
	// A range record, of which the table below has more.
	f("counts", func(h *Head) { h.Ranges[1].Counts.Lost++ })
}

func TestRangeRecordDamage(t *testing.T) {
	f := func(what string, break_ func(r *RangeRecord)) {
		t.Helper()
		r := full().Ranges[0]
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		break_(&r)
		if r.Validate() == nil {
			t.Errorf("%s: not found", what)
		}
	}
	f("empty", func(r *RangeRecord) { *r = RangeRecord{Range: Range{Start: 5, Next: 5}} })
	f("negative offset", func(r *RangeRecord) {
		*r = RangeRecord{Range: Range{Start: -5, Next: 5}, Counts: Counts{Absent: 10}}
	})
	// Positions that are not accounted for, or twice.
	f("too few", func(r *RangeRecord) { r.Counts.Absent-- })
	f("too many", func(r *RangeRecord) { r.Counts.Duplicates++ })
	f("negative count", func(r *RangeRecord) { r.Counts.Absent, r.Counts.Lost = -1, 2 })
	f("counts that overflow", func(r *RangeRecord) {
		r.Counts.Absent, r.Counts.Lost, r.Counts.Filtered = math.MaxInt64, math.MaxInt64, 4
	})
	// Files against counts.
	f("row without a file", func(r *RangeRecord) { r.Data = nil })
	f("dead letter without a file", func(r *RangeRecord) { r.Dead = nil })
	f("other number of rows", func(r *RangeRecord) { r.Data[0].Rows++ })
	f("other number of dead letters", func(r *RangeRecord) { r.Dead[0].Rows = 0 })
	f("negative rows", func(r *RangeRecord) { r.Data[0].Rows = -1 })
	f("more rows than positions", func(r *RangeRecord) { r.Data[0].Rows = 7 })
	f("negative bytes", func(r *RangeRecord) { r.Data[0].Bytes = -1 })
	// Names.
	f("no name", func(r *RangeRecord) { r.Data[0].Key = "data/rows.parquet" })
	f("data file among dead letters", func(r *RangeRecord) { r.Data, r.Dead = r.Dead, r.Data })
	f("file that begins before", func(r *RangeRecord) { r.Start++; r.Counts.Absent-- })
	f("file that ends behind", func(r *RangeRecord) { r.Next--; r.Counts.Absent-- })
	f("file of another generation", func(r *RangeRecord) { r.Generation = 1 })
}

// A writer may change a head in some ways only.
func TestCheckChange(t *testing.T) {
	f := func(what string, ok bool, change func(h *Head)) {
		t.Helper()
		h := full()
		h.Version++
		change(&h)
		err := checkChange(full(), h)
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrChange) {
			t.Errorf("%s: got %v, want allowed: %v", what, err, ok)
		}
	}
	f("version", true, func(*Head) {})
	f("offsets go on", true, func(h *Head) { h.Next += 10; h.LeaderEpoch++; h.Pending = nil })
	f("same version", false, func(h *Head) { h.Version-- })
	f("version skips one", false, func(h *Head) { h.Version++ })
	f("epoch", false, func(h *Head) { h.Epoch++ })
	f("owner", false, func(h *Head) { h.Owner.ID = "other" })
	f("partition", false, func(h *Head) { h.ID++ })
	f("generation", false, func(h *Head) { h.Generation++ })
	f("table", false, func(h *Head) { h.Table = "other" })
	f("identity", false, func(h *Head) { h.Identity.Topic[0]++ })
	f("first offset", false, func(h *Head) { h.First-- })
	f("next offset goes back", false, func(h *Head) { h.Next-- })
	f("rows vanish", false, func(h *Head) { h.Totals.Rows-- })
	f("files vanish", false, func(h *Head) { h.Totals.Files-- })
}
