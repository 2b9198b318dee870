package manifest

import "fmt"

const (
	// fanOut is how many ranges a head holds, and how many references of one
	// level, before they are sealed away. So a commit costs one write, and
	// 1/64 + 1/64² + ... = 1/63 more for sealing.
	fanOut = 64

	// sealBytes seals ranges earlier when they carry many statistics, so that
	// a head stays under 64 KB.
	sealBytes = 32 << 10

	// headBytes seals them earlier yet when a head refers to many lists. It
	// leaves room under 64 KB for the rest, which is a plan above all.
	headBytes = 56 << 10

	// maxLevel bounds the levels of lists. Five hold a billion ranges.
	maxLevel = 10
)

// sealedList is a list to be written before the head that refers to it.
type sealedList struct {
	key  string
	body []byte
}

// seal moves the ranges of h into a list when there are many, and then
// references into lists of the next level. It returns the head that refers to
// the lists, and the lists. Their names are random: a list is referred to by
// the head change that it was made for, or by none.
func seal(h Head, random func() string) (Head, []sealedList, error) {
	full, err := rangesFull(h)
	if err != nil || !full {
		return h, nil, err
	}
	return sealRanges(h, random)
}

func rangesFull(h Head) (bool, error) {
	if len(h.Ranges) >= fanOut {
		return true, nil
	}
	ranges, err := sizeOf(h.Ranges, toPlainRange)
	if err != nil || ranges > sealBytes {
		return true, err
	}
	sealed, err := sizeOf(h.Sealed, toPlainRef)
	return ranges+sealed > headBytes, err
}

// sealGeneration seals all that h holds of its newest generation into one tree,
// so that a head with many generations has one reference for each old one.
func sealGeneration(h Head, random func() string) (Head, []sealedList, error) {
	h, lists, err := sealRanges(h, random)
	for err == nil && len(h.Sealed) > 1 {
		last := h.Sealed[len(h.Sealed)-1]
		if h.Sealed[len(h.Sealed)-2].Generation != last.Generation {
			break
		}
		var up sealedList
		h, up, err = sealRefs(h, lastRun(h.Sealed, last.Level), random)
		lists = append(lists, up)
	}
	return h, lists, err
}

// sealRanges seals all ranges of h, which are of one generation.
func sealRanges(h Head, random func() string) (Head, []sealedList, error) {
	if len(h.Ranges) == 0 {
		return h, nil, nil
	}
	l := list{listFields: listFields{Format: Format, Table: h.Table, Partition: h.ID}, Ranges: h.Ranges}
	firstRange, last := h.Ranges[0], h.Ranges[len(h.Ranges)-1]
	ref := ListRef{Generation: firstRange.Generation, Range: Range{Start: firstRange.Start, Next: last.Next}, Random: random()}
	for _, r := range h.Ranges {
		ref.Totals = ref.Totals.Add(r.Totals())
	}
	h.Ranges = nil
	h.Sealed = append(h.Sealed[:len(h.Sealed):len(h.Sealed)], ref)
	first, err := newSealedList(h.ID, ref, l)
	if err != nil {
		return h, nil, err
	}
	lists := []sealedList{first}
	for level := 0; ; level++ {
		run := lastRun(h.Sealed, level)
		if len(run) < fanOut {
			return h, lists, nil
		}
		next, up, err := sealRefs(h, run, random)
		if err != nil {
			return h, nil, err
		}
		h, lists = next, append(lists, up)
	}
}

// lastRun returns the references at the end of sealed that are of the level
// and of the newest generation. Older generations are never merged with it.
func lastRun(sealed []ListRef, level int) []ListRef {
	i := len(sealed)
	for i > 0 && sealed[i-1].Level == level && sealed[i-1].Generation == sealed[len(sealed)-1].Generation {
		i--
	}
	return sealed[i:]
}

// sealRefs replaces run, the last references of h, by a list of the next level.
func sealRefs(h Head, run []ListRef, random func() string) (Head, sealedList, error) {
	level := run[0].Level + 1
	l := list{listFields: listFields{Format: Format, Table: h.Table, Partition: h.ID, Level: level}, Lists: run}
	ref := ListRef{
		Level: level, Generation: run[0].Generation,
		Range: Range{Start: run[0].Start, Next: run[len(run)-1].Next}, Random: random(),
	}
	for _, r := range run {
		ref.Totals = ref.Totals.Add(r.Totals)
	}
	keep := len(h.Sealed) - len(run)
	h.Sealed = append(h.Sealed[:keep:keep], ref)
	up, err := newSealedList(h.ID, ref, l)
	return h, up, err
}

func newSealedList(partition int32, ref ListRef, l list) (sealedList, error) {
	body, err := encodeList(l)
	if err != nil {
		return sealedList{}, fmt.Errorf("encode list: %w", err)
	}
	return sealedList{key: ref.Key(partition), body: body}, nil
}
