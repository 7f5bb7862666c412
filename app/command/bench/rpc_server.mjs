// The official server: a capability that only computes, over WebSockets on loopback. Arguments: node_modules, port.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, port] = process.argv.slice(2);
const require = createRequire(modules + "/x.js");
const { WebSocket, WebSocketServer } = require("ws");
globalThis.WebSocket = WebSocket; // the library asks its constants
const { newWebSocketRpcSession, RpcTarget } = await import(pathToFileURL(modules + "/capnweb/dist/index.js"));

class Main extends RpcTarget {
  square(x) { return x * x; }
}

new WebSocketServer({ port: Number(port), host: "127.0.0.1" }).on("connection", (socket) => newWebSocketRpcSession(socket, new Main()));
