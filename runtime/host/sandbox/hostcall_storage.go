package sandbox

import (
	"errors"

	"github.com/tetratelabs/wazero/api"

	"toolshed/runtime/host/sandbox/overlay"
	"toolshed/runtime/host/wire"
)

// hostAlarm gives the time of the alarm, or nothing.
func hostAlarm(v *vm, _ args) (uint32, error) {
	at, err := v.host.alarm()
	if err != nil || at == 0 {
		return 0, err
	}
	return v.number(float64(at))
}

// hostSetAlarm takes the time of the alarm; 0 removes it.
func hostSetAlarm(v *vm, a args) (uint32, error) {
	at, err := a.number(0)
	if err != nil {
		return 0, err
	}
	if !(at >= 0 && at <= wire.MaxTime) {
		return 0, errors.New("an alarm must have a valid time")
	}
	return 0, v.host.setAlarm(int64(at))
}

// hostBegin begins a transaction, a synchronous one if its argument is 1, and gives its number.
func hostBegin(v *vm, a args) (uint32, error) {
	sync, err := a.number(0)
	if err != nil {
		return 0, err
	}
	layer, err := v.host.begin(sync == 1)
	if err != nil {
		return 0, err
	}
	return v.number(float64(layer))
}

// number makes a number of the guest.
func (v *vm) number(n float64) (uint32, error) { return v.call32(fnNewNumber, api.EncodeF64(n)) }

// hostEnd ends the transaction with that number, and those that were begun in it.
func hostEnd(a args, end func(layer int) error) (uint32, error) {
	layer, err := a.number(0)
	if err != nil {
		return 0, err
	}
	return 0, end(int(max(0, min(layer, overlay.MaxLayers))))
}
