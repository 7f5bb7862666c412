package serve

// check names one thing that stands between the browser mode and whoever attacks it. Each stops attacks that nothing else
// stops: attacks_test.go and frontend/e2e/foreign.test.mjs hold the list, and a build with the tag attack shows for each
// check that its attacks work without it. on says whether a check is made. What keeps a gadget's frame in is shown by the
// attacks on the window.
type check string

const (
	checkTarget   check = "target"   // a request names a path, not another server and not no resource at all
	checkHost     check = "host"     // Host is the address that was bound
	checkMethod   check = "method"   // only GET and HEAD; of a frame document only GET
	checkPath     check = "path"     // a path is written in the one way that it has
	checkKind     check = "kind"     // what a file is follows from its name, never from its bytes
	checkFrame    check = "frame"    // a frame document was minted, and is fetched once
	checkEmbed    check = "embed"    // other pages cannot take in what is served
	checkFraming  check = "framing"  // other pages cannot show the page in a frame
	checkOpener   check = "opener"   // a page that opened this one loses sight of it
	checkExchange check = "exchange" // the link is exchanged by the page's own script
	checkLink     check = "link"     // a link works once
	checkPipe     check = "pipe"     // the pipe is opened by the page's own script
	checkToken    check = "token"    // the first message of a pipe is the token
	checkSize     check = "size"     // headers, bodies and first messages are short
	checkSlow     check = "slow"     // who does not speak or listen is not waited for
	checkCrowd    check = "crowd"    // connections that have shown no token are few
)
