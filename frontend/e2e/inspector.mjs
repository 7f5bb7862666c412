// WebKit's remote inspector, which only the build with the tag attack leaves open: evaluates in the real window's page.
import { WebSocket } from "ws";
import { until } from "./desktop.mjs";

export class Inspector {
  static async connect(address) {
    const socket = await until("the inspector", () => new Promise((found) => {
      const socket = new WebSocket(`ws://${address}/socket/1/1/WebPage`, { maxPayload: 64 << 20 });
      socket.once("open", () => found(socket));
      socket.once("error", () => found(undefined));
    }));
    const inspector = new Inspector(socket);
    await until("the page's target", () => inspector.target);
    return inspector;
  }

  constructor(socket) {
    this.socket = socket;
    this.last = 0;
    this.waiting = new Map();
    socket.on("message", (text) => this.#receive(JSON.parse(text)));
  }

  #receive(message) {
    if (message.method === "Target.targetCreated") this.target = message.params.targetInfo.targetId;
    if (message.method === "Target.didCommitProvisionalTarget") this.target = message.params.newTargetId;
    if (message.method !== "Target.dispatchMessageFromTarget") return;
    const answer = JSON.parse(message.params.message);
    this.waiting.get(answer.id)?.(answer);
    this.waiting.delete(answer.id);
  }

  /** Evaluates an expression in the top page and returns its value. */
  async evaluate(expression) {
    const id = (this.last += 1);
    const message = JSON.stringify({ id, method: "Runtime.evaluate", params: { expression, returnByValue: true } });
    const answer = new Promise((done, failed) => {
      this.waiting.set(id, done);
      setTimeout(() => failed(new Error(`the inspector did not answer: ${expression}`)), 10_000).unref();
    });
    this.socket.send(JSON.stringify({ id: 1_000_000 + id, method: "Target.sendMessageToTarget", params: { targetId: this.target, message } }));
    const { result, error } = await answer;
    if (error || result.wasThrown) throw new Error(`in the page: ${JSON.stringify(error ?? result)}`);
    return result.result.value;
  }

  close() {
    this.socket.close();
  }
}
