package host

import (
	"fmt"
	"strings"
)

// attacks are gadget methods that would hold up a process without fuel. Some of them never ask the interrupt handler.
// Measure and the tests run them.
var attacks = []struct{ name, code string }{
	{"loop", `while (true) {}`},
	{"garbage", `for (;;) { let a = []; for (let i = 0; i < 1000; i++) a.push({ i }) }`},
	{"indexOf", `Array.prototype.indexOf.call({ length: 4294967295 }, 99)`},
	{"array text", `new Array(1e9) + ''`},
	{"regex", `/(a+)+$/.test("a".repeat(40) + "b")`},
	{"sort", `for (;;) { const a = []; for (let i = 0; i < 1e5; i++) a.push(i * 7919 % 100003); a.sort() }`},
	{"join", `const a = new Array(1e5).fill("xyz"); for (;;) a.join("abc")`},
	{"repeat", `for (;;) "abc".repeat(1e6).indexOf("d")`},
	{"json", `let s = "[".repeat(5000) + "]".repeat(5000); for (;;) { try { JSON.parse(s) } catch {} }`},
	{"microtasks", `const f = () => Promise.resolve().then(f); f(); return new Promise(() => {})`},
	{"bigint", `let x = 3n; for (;;) x = x ** 7n % (10n ** 4000n)`},
	{"bigint power", `return String(3n ** 3000000n).length`},
	{"catch", `for (;;) { try { for (;;) {} } catch {} finally { continue } }`},
	{"copyWithin", `const a = new Uint8Array(2e7); for (;;) a.copyWithin(1, 0)`},
	{"proxy", `const p = new Proxy({}, { get: () => { for (;;) {} } }); return p.x`},
}

// attackCode is a gadget with a method for each attack: a0, a1 and so on.
func attackCode() string {
	var b strings.Builder
	b.WriteString("export class Gadget { ping() { return 1 }\n")
	for k, a := range attacks {
		fmt.Fprintf(&b, "a%d() { %s }\n", k, a.code)
	}
	b.WriteString("}")
	return b.String()
}
