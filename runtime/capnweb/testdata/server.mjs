// The official server of the tests: the service, served by the official library over WebSocket and as HTTP batch. As a
// program it prints its address and stays until its input ends.
import { createRequire } from "node:module";
import http from "node:http";
import { pathToFileURL } from "node:url";
import { service } from "./service.mjs";

const require = createRequire(process.env.TOOLSHED_NODE_MODULES + "/resolve.js");
export const capnweb = require("capnweb");
export const ws = require("ws");
const { RpcSession, RpcTarget, WebSocketTransport, nodeHttpBatchRpcResponse } = capnweb;
globalThis.WebSocket ??= ws.WebSocket;

export const later = (ms = 3) => new Promise((done) => setTimeout(done, ms));
export const Main = service(RpcTarget, RpcTarget, later);

export async function serve() {
  const sessions = new Map();
  const server = http.createServer((request, response) => nodeHttpBatchRpcResponse(request, response, new Main()));
  new ws.WebSocketServer({ server }).on("connection", (socket, request) => {
    sessions.set(request.url, new RpcSession(new WebSocketTransport(socket), new Main()));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: "ws://127.0.0.1:" + server.address().port, sessions, close: () => server.close() };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { address } = await serve();
  console.log(address);
  process.stdin.resume().on("end", () => process.exit(0));
}
