package decode

import "github.com/lakeweir/lakeweir/manifest"

// toMicros is the power of ten from a unit to microseconds.
func toMicros(u manifest.Unit) (power int, ok bool) {
	switch u {
	case manifest.Seconds:
		return 6, true
	case manifest.Milliseconds:
		return 3, true
	case manifest.Microseconds:
		return 0, true
	case manifest.Nanoseconds:
		return -3, true
	}
	return 0, false
}

// Timestamp returns the microseconds since 1970 of a number in the unit or of
// a string as in RFC 3339. Points in time between two microseconds do not fit,
// nor do numbers when there is no unit.
func (t Token) Timestamp(a *Arena, unit manifest.Unit) (int64, Reason) {
	switch t.Kind {
	case Integer, Number:
		power, ok := toMicros(unit)
		if !ok {
			return 0, NoFit
		}
		return scaled(t.Text, power)
	case String:
		text, r := t.Chars(a)
		if r != "" {
			return 0, r
		}
		us, ok := rfc3339(text)
		if !ok {
			return 0, NoFit
		}
		return us, ""
	}
	return 0, NoFit
}

// Date returns the days since 1970 of "YYYY-MM-DD" or of a number of them.
func (t Token) Date(a *Arena) (int32, Reason) {
	if t.Kind != String {
		return t.Int32()
	}
	text, r := t.Chars(a)
	if r != "" {
		return 0, r
	}
	days, ok := date(text)
	if !ok || len(text) != 10 {
		return 0, NoFit
	}
	return int32(days), ""
}

// two reads two digits; ok is false for anything else.
func two(b []byte) (v int64, ok bool) {
	x, y := b[0]-'0', b[1]-'0'
	return int64(x)*10 + int64(y), x <= 9 && y <= 9
}

// yearDays are the days before a month that is counted from March, so that the
// leap day is the last of the year.
var yearDays = [12]int64{0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337}

var monthDays = [12]int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// epochDays are the days from 0000-03-01 to 1970-01-01.
const epochDays = 719468

// date reads the ten characters "YYYY-MM-DD" of the proleptic Gregorian calendar.
func date(b []byte) (days int64, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	century, ok1 := two(b)
	year, ok2 := two(b[2:])
	month, ok3 := two(b[5:])
	day, ok4 := two(b[8:])
	if !ok1 || !ok2 || !ok3 || !ok4 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	year += century * 100
	last := monthDays[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		last++
	}
	if month -= 3; month < 0 {
		month, year = month+12, year-1
	}
	if year < 0 { // January and February of the year 0
		return yearDays[month] + day - 1 - 366 - epochDays, day <= last
	}
	leaps := year/4 - year/100 + year/400
	return year*365 + leaps + yearDays[month] + day - 1 - epochDays, day <= last
}

// rfc3339 reads date, "T" (or "t" or a space), time with any fraction of the
// second that is whole in microseconds, and "Z" or the offset from it.
func rfc3339(b []byte) (us int64, ok bool) {
	days, ok := date(b)
	if !ok || len(b) < 20 || b[10]|0x20 != 't' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	hour, ok1 := two(b[11:])
	minute, ok2 := two(b[14:])
	second, ok3 := two(b[17:])
	// A leap second has no microseconds of its own.
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	micros, b, ok := fraction(b[19:])
	if !ok {
		return 0, false
	}
	offset, ok := zone(b)
	return ((days*24+hour)*60+minute-offset)*60e6 + second*1e6 + micros, ok
}

// fraction cuts ".123456" off b, if it is there.
func fraction(b []byte) (micros int64, rest []byte, ok bool) {
	if b[0] != '.' {
		return 0, b, true
	}
	unit := int64(100_000)
	i := 1
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		digit := int64(b[i] - '0')
		if unit == 0 && digit != 0 {
			return 0, nil, false
		}
		micros += digit * unit
		unit /= 10
	}
	return micros, b[i:], i > 1
}

// zone reads "Z", "+01:00" or "-01:00" as minutes.
func zone(b []byte) (minutes int64, ok bool) {
	if len(b) == 1 {
		return 0, b[0]|0x20 == 'z'
	}
	if len(b) != 6 || b[3] != ':' || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	h, ok1 := two(b[1:])
	m, ok2 := two(b[4:])
	if minutes = h*60 + m; b[0] == '-' {
		minutes = -minutes
	}
	return minutes, ok1 && ok2 && h <= 23 && m <= 59
}
