package host

import (
	"testing"
)

// TestPerformance: performance.now counts from timeOrigin, never goes back, and both together are the time.
func TestPerformance(t *testing.T) {
	i := startReal(t, startChild(t, realConfig()), spec(`import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
	async times() {
		const before = performance.now(), origin = performance.timeOrigin;
		await new Promise((r) => setTimeout(r, 20));
		let last = performance.now(), back = 0;
		for (let n = 0; n < 1000; n++) { const next = performance.now(); if (next < last) back++; last = next; }
		return [before, last - before, back, Math.round(origin + performance.now() - Date.now())];
	}
}`))
	v, err := await(t, i.Main().Call(t.Context(), "times"))
	list, ok := v.([]any)
	if err != nil || !ok || len(list) != 4 {
		t.Fatal(v, err)
	}
	before, waited, back, apart := list[0].(float64), list[1].(float64), list[2].(float64), list[3].(float64)
	const minute = 60_000
	if before < 0 || before > minute || waited < 19 || back != 0 || apart < -minute || apart > minute {
		t.Errorf("%v ms since the start, %v ms after a wait of 20, went back %v times, %v ms from the time of day", before, waited, back, apart)
	}
}
