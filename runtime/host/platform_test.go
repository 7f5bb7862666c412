package host

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// platformDifferences are where a gadget answers otherwise than node 20 on purpose, by file.
var platformDifferences = map[string][]*known{
	"text": {
		{why: "node 20 decodes windows-1252 as Latin-1, as the standard has it only when streaming or fatal", program: "decode", line: regexp.MustCompile(`windows-1252`)},
		{why: "after an error in fatal UTF-16 the standard keeps all that was not read yet; node 20 keeps a unit that it read ahead, a gadget nothing", program: "decode", line: regexp.MustCompile(`"utf-16[lb]e","1":true`)},
		{why: "node 20 does not check the rules for right-to-left labels", program: "names", gadget: regexp.MustCompile(`^(threw TypeError|"x")$`), node: regexp.MustCompile(`xn--`), line: regexp.MustCompile(`[\x{590}-\x{6ff}]`)},
	},
	"values": {
		{why: "node 20 has another error for what is no typed array", program: "random", gadget: regexp.MustCompile(`^threw TypeError$`), node: regexp.MustCompile(`^threw TypeMismatchError$`)},
	},
	"streams": {
		{why: "node 20 throws where the promise of a write should fail", gadget: regexp.MustCompile("^write failed TypeError$"), node: regexp.MustCompile("^write threw Error$")},
		{why: "the engine does not wait for the end of an iterator when a loop is left by an error", program: "iterate", gadget: regexp.MustCompile(`^(pull|loop failed TypeError)`), node: regexp.MustCompile(`^(pull|loop failed TypeError)`), line: regexp.MustCompile(`loop failed TypeError`)},
		{why: "open: which of two is told first when a pipe fails, the source or who waits for the pipe", program: "pipe", gadget: regexp.MustCompile(`pipeTo failed \w+$|cancel "early"$`), node: regexp.MustCompile(`pipeTo failed \w+$|cancel "early"$`)},
	},
	"events": {
		{why: "node 20 has another error for a timeout that is out of range", program: "signals", gadget: regexp.MustCompile(`^threw TypeError$`), node: regexp.MustCompile(`^threw RangeError$`)},
		{why: "node 20 forgets the phase and the target before the last listener", program: "listeners", gadget: regexp.MustCompile(`^\d:\w:\w+:2:true$`), node: regexp.MustCompile(`^\d:\w:\w+:0:false$`)},
		{why: "node 20 lets a passive listener prevent", program: "listeners", gadget: regexp.MustCompile(`^true$`), node: regexp.MustCompile(`^false$`), line: regexp.MustCompile("prevents")},
	},
	"clone": {
		{why: "node 20 takes a buffer that was transferred before for an empty one", program: "transfer", gadget: regexp.MustCompile(`^threw DataCloneError$`), node: regexp.MustCompile(`^ArrayBuffer\(\)$`)},
		{why: "node 20 takes a transfer that is no list for none", program: "transfer", gadget: regexp.MustCompile(`^\d+ threw TypeError$`), node: regexp.MustCompile(`^\d+ [^t]`)},
		{why: "node 20 has another error for what cannot be transferred", program: "transfer", gadget: regexp.MustCompile(`threw DataCloneError$`), node: regexp.MustCompile(`threw TypeError$`)},
		{why: "the engine does not tell a proxy from its target, so it is copied as it shows itself; the standard refuses it", program: "proxies", gadget: regexp.MustCompile(`[]}]$|threw TypeError`), node: regexp.MustCompile("threw DataCloneError")},
		{why: "node 20 clones objects of the platform as if they were plain, the standard refuses them", program: "platform", gadget: regexp.MustCompile("threw DataCloneError"), node: regexp.MustCompile(`\{|threw TypeError`)},
	},
}

// TestPlatformAsInNode runs TOOLSHED_PLATFORM random programs (300) of each kind in a gadget and in node: what the web
// platform's parts answer is the same, but for the differences that are listed, each of which must be met.
func TestPlatformAsInNode(t *testing.T) {
	needNode(t)
	count := 300
	if n, err := strconv.Atoi(os.Getenv("TOOLSHED_PLATFORM")); err == nil && n > 0 {
		count = n
	}
	child := startChild(t, realConfig())
	for _, file := range []struct {
		name     string
		programs []string
	}{
		{"text", []string{"encode", "decode", "wrong", "base64", "encoderStream", "decoderStream", "names", "params", "streamShapes"}},
		{"clone", []string{"copies", "refuses", "platform", "proxies", "throwing", "transfer", "transferFails"}},
		{"events", []string{"listeners", "event", "signals", "timeout", "timers", "intervals", "wrongTimers"}},
		{"values", []string{"headers", "blob", "file", "response", "request", "statics", "random"}},
		{"streams", []string{"readable", "writable", "transform", "pipe", "iterate"}},
	} {
		t.Run(file.name, func(t *testing.T) {
			path := filepath.Join("..", "guest", "testdata", "both", file.name+".mjs")
			i := startBoth(t, child, path)
			for _, program := range file.programs {
				const first = 1
				t.Logf("%s: %d programs, seeds from %d", program, count, first)
				both(t, i, path, program, first, count, platformDifferences[file.name])
			}
			allMet(t, platformDifferences[file.name])
		})
	}
}
