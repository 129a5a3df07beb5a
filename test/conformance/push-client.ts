import { expect } from "vitest";
import type { Acknowledgement } from "../../src/gateway/gateway-types.ts";
import { AcknowledgementResponse, ErrorResponse } from "../../src/http/openapi/schemas.ts";
import { LINES_TYPE, patchBody, patchPath, snapshotBody } from "../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { type CaseBody, type Fetch, makeRequest } from "./http-case.ts";

/** The clusters that may push in the tables of the push API, and their tokens. */
export const PUSH_TOKENS = [
  { clusterId: "west", token: "west-token" },
  { clusterId: "west", token: "west-next-token" },
  { clusterId: "east.eu", token: "east-token" },
];

/** A request's token, body and further header fields. */
export interface Sent {
  /** Default: the token of the cluster "west"; null for none. */
  readonly token?: string | null;
  readonly body?: CaseBody;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The push API of a gateway. */
export interface PushApi {
  /** `path` is below `/api/v1/clusters/`. */
  send(method: string, path: string, sent?: Sent): Promise<Response>;
  /** A full snapshot of the cluster "west", a small one by default. */
  put(snapshot?: unknown, sent?: Sent): Promise<Response>;
  /** A merge patch on a snapshot of the cluster "west". */
  patch(baseGeneration: number, patch: object, sent?: Sent): Promise<Response>;
}

/** Speaks to the push API. */
export function pushApi(fetch: Fetch): PushApi {
  const send: PushApi["send"] = async (method, path, sent) =>
    fetch(makeRequest(pushRequest(method, path, sent)));
  return {
    send,
    put: (snapshot = shopSnapshot("west"), sent) =>
      send("PUT", "west/snapshot", { body: snapshotBody(snapshot), ...sent }),
    patch: (baseGeneration, patch, sent) =>
      send("PATCH", patchPath("west", baseGeneration), { body: patchBody("west", patch), ...sent }),
  };
}

const CHANGES = new Set(["PUT", "PATCH"]);

/** A request to the push API. */
export function pushRequest(method: string, path: string, sent: Sent = {}) {
  const { token = "west-token", body, headers } = sent;
  return {
    method,
    path: `/api/v1/clusters/${path}`,
    headers: {
      ...(body !== undefined && { "content-type": CHANGES.has(method) ? LINES_TYPE : "application/json" }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  };
}

/** Reads a response that must be an error in the documented form. */
export async function refusal(response: Response | Promise<Response>) {
  const { status, headers } = await response;
  const body = ErrorResponse.parse(await (await response).json());
  expect(headers.get("cache-control")).toBe("no-store");
  return { status, headers, currentGeneration: body.details?.currentGeneration, ...body };
}

/** Reads a response that must be an acknowledgement. */
export async function acknowledged(response: Response | Promise<Response>): Promise<Acknowledgement> {
  expect((await response).status).toBe(200);
  return AcknowledgementResponse.parse(await (await response).json());
}
