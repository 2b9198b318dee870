package columnar

// SmallPages makes the pages and dictionaries of files small, so that few rows
// meet their ends.
func SmallPages(e *Encoder) {
	for _, f := range e.data.forms {
		f.pageBytes, f.dictionaryBytes = 4<<10, 16<<10
	}
}
