// Times the official client against the server whose address is the argument; prints {sequential: µs a call, parallel: calls a second}.
import { capnweb } from "./server.mjs";

const main = capnweb.newWebSocketRpcSession(process.argv[2] + "/bench");
for (let i = 0; i < 500; i++) await main.square(i);
let start = performance.now();
for (let i = 0; i < 2000; i++) await main.square(i);
const sequential = (performance.now() - start) / 2;
start = performance.now();
await Promise.all([...Array(20000)].map((_, i) => main.square(i)));
const parallel = 20000 / ((performance.now() - start) / 1000);
console.log(JSON.stringify({ sequential, parallel }));
process.exit(0);
