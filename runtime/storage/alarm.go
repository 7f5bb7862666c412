package storage

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// Alarm is the time at which a gadget wants to be woken. A store has one or none, outside its keys; it counts towards
// no quota, and Clear leaves it. The zero value stands for none. Times are milliseconds since 1970.
type Alarm struct {
	Time  int64 // for which it was set
	Due   int64 // when to give it next: Time, or later if it failed before
	Retry int   // how often it was given without success
}

// Alarm returns the alarm as the turns applied so far leave it.
func (s *Store) Alarm() (Alarm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return Alarm{}, s.closedLocked()
	}
	return s.alarm, nil
}

// EarliestAlarm returns the earliest time at which an alarm may be due, whichever of the turns that are not durable
// yet reach the disk; 0 means that none can be.
func (s *Store) EarliestAlarm() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.closedLocked()
	}
	earliest := s.storedAlarm.Due
	for _, list := range [][]*pending{s.writing, s.queue} {
		for _, p := range list {
			if a := p.turn.Alarm; a != nil && a.Due != 0 && (earliest == 0 || a.Due < earliest) {
				earliest = a.Due
			}
		}
	}
	return earliest, nil
}

// lastAlarm returns what the turns leave of an alarm, nil if they do not touch it.
func lastAlarm(turns []*pending) (last *Alarm) {
	for _, p := range turns {
		if p.turn.Alarm != nil {
			last = p.turn.Alarm
		}
	}
	return last
}

var alarmKey = []byte("alarm") // in the meta bucket

// putAlarm stores an alarm; none removes it.
func putAlarm(tx *bbolt.Tx, a *Alarm) error {
	meta := tx.Bucket(metaBucket)
	switch {
	case a == nil:
		return nil
	case *a == Alarm{}:
		return meta.Delete(alarmKey)
	}
	value := make([]byte, 0, 20)
	value = binary.BigEndian.AppendUint64(value, uint64(a.Time))
	value = binary.BigEndian.AppendUint64(value, uint64(a.Due))
	value = binary.BigEndian.AppendUint32(value, uint32(a.Retry))
	return meta.Put(alarmKey, makeRecord(alarmKey, value))
}

// readAlarm returns the stored alarm.
func readAlarm(tx *bbolt.Tx) (Alarm, error) {
	record := tx.Bucket(metaBucket).Get(alarmKey)
	if record == nil {
		return Alarm{}, nil
	}
	if record[0] != formInline {
		return Alarm{}, fmt.Errorf("%w: its alarm has an unknown form", ErrDamaged)
	}
	value, err := readRecord(tx, alarmKey, record)
	if err != nil || len(value) != 20 {
		return Alarm{}, fmt.Errorf("%w: its alarm cannot be read", ErrDamaged)
	}
	return Alarm{Time: int64(binary.BigEndian.Uint64(value)), Due: int64(binary.BigEndian.Uint64(value[8:])),
		Retry: int(binary.BigEndian.Uint32(value[16:]))}, nil
}
