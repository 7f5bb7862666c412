// The module "cloudflare:workers".
const workers = globalThis[Symbol.for("toolshed.workers")];
export const DurableObject = workers.DurableObject;
export const WorkerEntrypoint = workers.WorkerEntrypoint;
export const RpcTarget = workers.RpcTarget;
export const RpcStub = workers.RpcStub;
export const RpcPromise = workers.RpcPromise;
export const restore = workers.restore;
export const env = workers.env;
