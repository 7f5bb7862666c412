package wire

// MaxTime is the latest time of an alarm, in milliseconds since 1970: the last that a Date can be.
const MaxTime = 864e13

// PackAlarm adds what a turn does to the alarm: nil leaves it, 0 removes it, anything else is its time.
func PackAlarm(p *Packer, at *int64) {
	if at == nil {
		p.Uint(0)
		return
	}
	p.Uint(uint64(*at) + 1)
}

// UnpackAlarm reads what PackAlarm added.
func UnpackAlarm(u *Unpacker) *int64 {
	code := u.Uint()
	if code == 0 {
		return nil
	}
	if code > MaxTime+1 {
		u.Err, u.B = ErrFrame, nil
		return nil
	}
	at := int64(code - 1)
	return &at
}
