package host

import (
	"os"
	"path/filepath"
	"testing"
)

// urlSuite runs the cases of the web-platform-tests' folder url/resources. Each method gives how many cases there were and
// a line for each that went wrong. A case that the suite marks as JavaScript only, or as a comment (a plain text), is none.
const urlSuite = `import { DurableObject } from "cloudflare:workers";
import urls from "./urltestdata.json";
import setters from "./setters_tests.json";
import hosts from "./toascii.json";
import names from "./IdnaTestV2.json";
const cases = (list) => list.filter((c) => typeof c !== "string");
const piece = 200;
const parts = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
const parse = (input, base) => { try { return base === null || base === undefined ? new URL(input) : new URL(input, base) } catch { return null } };
const run = (list, check) => {
	const wrong = [];
	for (const c of list) {
		const why = check(c);
		if (why !== "") wrong.push(JSON.stringify(c.input ?? c.href) + " " + JSON.stringify(c.comment ?? "") + ": " + why);
	}
	return [list.length, wrong];
};
const host = (input, output) => {
	const url = parse("https://" + input + "/x", null), set = parse("https://x/x", null);
	set.host = input;
	if (output === null || output === "") return url === null && set.host === "x" ? "" : "is " + (url === null ? "refused, and set to " + set.host : url.host);
	if (url === null) return "is refused, not " + output;
	return url.host === output && url.hostname === output && url.href === "https://" + output + "/x" && set.host === output ? "" : "is " + url.host + ", set to " + set.host + ", not " + output;
};
export class Gadget extends DurableObject {
	urltestdata(from) {
		return run(cases(urls).slice(from, from + piece), (c) => {
			const url = parse(c.input, c.base), can = URL.canParse(c.input, c.base ?? undefined);
			if (c.failure) return url === null && !can ? "" : "is " + url?.href + ", can be parsed: " + can;
			if (url === null || !can) return "is refused, not " + c.href;
			for (const part of parts) if (c[part] !== undefined && url[part] !== c[part]) return part + " is " + url[part] + ", not " + c[part];
			if (c.searchParams !== undefined && url.searchParams.toString() !== c.searchParams) return "searchParams is " + url.searchParams;
			return new URL(url.href).href === url.href ? "" : "is not parsed to itself";
		});
	}
	setters_tests(from) {
		const list = [];
		for (const [name, all] of Object.entries(setters)) if (Array.isArray(all)) for (const c of cases(all)) if (name !== "comment") list.push({ ...c, name });
		return run(list.slice(from, from + piece), (c) => {
			const url = new URL(c.href);
			url[c.name] = c.new_value;
			for (const part of Object.keys(c.expected)) if (url[part] !== c.expected[part]) return c.name + " set to " + JSON.stringify(c.new_value) + ": " + part + " is " + url[part] + ", not " + c.expected[part];
			return "";
		});
	}
	toascii(from) { return run(cases(hosts).slice(from, from + piece), (c) => host(c.input, c.output)) }
	IdnaTestV2(from) { return run(cases(names).slice(from, from + piece), (c) => (c.input === "" ? "" : host(encodeURIComponent(c.input.toWellFormed()), c.output))) }
}`

// urlCounts are how many cases there are and how many go wrong, of the suite as it was in July 2026. Those that do hold
// characters of Unicode 17, which Go's tables do not have yet.
var urlCounts = map[string][2]int{"urltestdata": {891, 0}, "setters_tests": {278, 0}, "toascii": {87, 0}, "IdnaTestV2": {2671, 3}}

// TestURLSuite runs where TOOLSHED_WPT_URL names a folder with the suite's files: they are no part of this repository.
func TestURLSuite(t *testing.T) {
	folder := os.Getenv("TOOLSHED_WPT_URL")
	if folder == "" {
		t.Skip("TOOLSHED_WPT_URL does not name a copy of the web-platform-tests' folder url/resources")
	}
	s := spec(urlSuite)
	for name := range urlCounts {
		data, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		s.Files[name+".json"] = data
	}
	i := startReal(t, startChild(t, realConfig()), s)
	for name, want := range urlCounts {
		total, wrong := 0, 0
		for more := true; more; {
			v, err := await(t, i.Main().Call(t.Context(), name, float64(total)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			answer := v.([]any)
			n, lines := answer[0].(float64), answer[1].([]any)
			for _, line := range lines {
				t.Logf("%s: %.300s", name, line)
			}
			total, wrong, more = total+int(n), wrong+len(lines), n > 0
		}
		if total != want[0] || wrong != want[1] {
			t.Errorf("%s: %d of %d cases go wrong, not %d of %d", name, wrong, total, want[1], want[0])
		}
	}
}
