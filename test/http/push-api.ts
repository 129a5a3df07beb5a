import { createHash } from "node:crypto";
import { Hono } from "hono";
import { expect } from "vitest";
import { systemClock } from "../../src/gateway/clock.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { Acknowledgement } from "../../src/gateway/gateway-types.ts";
import { type ClusterCredential, createCredentials } from "../../src/http/credentials.ts";
import { createPushRoutes, type PushGateway } from "../../src/http/push.ts";
import type { PushLimits } from "../../src/http/push-limits.ts";
import { AcknowledgementResponse, ErrorResponse } from "../../src/http/push-messages.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { realStages } from "../gateway/real-stages.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";

/** The digest that a credential holds of a token. */
export const sha256 = (token: string) => createHash("sha256").update(token).digest("hex");
const CREDENTIALS: ClusterCredential[] = [
  { clusterId: "west", tokenSha256: sha256("west-token") },
  { clusterId: "west", tokenSha256: sha256("west-next-token").toUpperCase() },
  { clusterId: "east.eu", tokenSha256: sha256("east-token") },
];

/** What requests are sent with. */
export type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** A request's token, body and further header fields. */
export interface Sent {
  readonly token?: string | null;
  readonly body?: Body;
  readonly headers?: Record<string, string>;
}

/** The push API on a real gateway with real stages; `send` has the token of the cluster "west". */
export async function openPushApi(
  given: { limits?: Partial<PushLimits>; gateway?: Partial<PushGateway> } = {},
) {
  const real = await Gateway.open({
    store: createMemoryStore(),
    stages: realStages(),
    clock: systemClock,
    onEvent: () => {},
  });
  const gateway: PushGateway = {
    replace: (...push) => real.replace(...push),
    patch: (...push) => real.patch(...push),
    renew: (...push) => real.renew(...push),
    leave: (clusterId) => real.leave(clusterId),
    status: () => real.status(),
    ...given.gateway,
  };
  const errors: unknown[] = [];
  const routes = createPushRoutes({
    gateway,
    credentials: createCredentials(CREDENTIALS),
    limits: given.limits ?? {},
    onError: (error) => errors.push(error),
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  const send = (method: string, path: string, { token = "west-token", body, headers }: Sent = {}) =>
    app.request(`/api/v1/clusters/${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body, duplex: "half" }),
    } as RequestInit);
  const put = (snapshot: unknown = shopSnapshot("west"), sent: Sent = {}) =>
    send("PUT", "west/snapshot", { body: JSON.stringify(snapshot), ...sent });
  return { send, put, errors, gateway: real };
}

/** Reads a response that must be an error in the documented form. */
export async function refusal(response: Response | Promise<Response>) {
  const { status, headers } = await response;
  const body = ErrorResponse.parse(await (await response).json());
  expect(headers.get("cache-control")).toBe("no-store");
  return { status, headers, currentGeneration: body.currentGeneration, ...body.error };
}

/** Reads a response that must be an acknowledgement. */
export async function acknowledged(response: Response | Promise<Response>): Promise<Acknowledgement> {
  expect((await response).status).toBe(200);
  return AcknowledgementResponse.parse(await (await response).json());
}
