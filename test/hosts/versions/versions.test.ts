import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningGateway } from "../../../src/hosts/node/gateway-host.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { Gateways, push } from "../gateways.ts";
import { versionedRows } from "./request-table.ts";
import { sendHttp1, sendHttp2, type VersionedResponse } from "./version-clients.ts";

const CREDENTIALS = { push: "push-secret", transfer: "transfer-secret" };
const tokenSha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const gateways = new Gateways();
let gateway: RunningGateway;
let ca: string;
beforeAll(async () => {
  gateway = await gateways.start(gateways.folder(), {
    push: { credentials: [{ clusterId: "west", tokenSha256: tokenSha256(CREDENTIALS.push) }] },
    limits: { queryBytes: 4096, headerBytes: 8192 },
    transfer: { credentials: [{ name: "edge", tokenSha256: tokenSha256(CREDENTIALS.transfer) }] },
  });
  ca = readFileSync(gateway.certificateFile!, "utf8");
  await push(gateway, shopSnapshot("west", 1), CREDENTIALS.push);
});
afterAll(() => gateways.close());

/** A response without the numbers in it, and without metrics of the process. */
function uncounted({ fields, body, ...rest }: VersionedResponse) {
  const { "content-length": _, etag: __, ...others } = fields;
  const lines = body.split("\n").filter((line) => !/^(?:process|nodejs)_/.test(line));
  return { ...rest, fields: others, body: lines.join("\n").replace(/[\da-f]{16,}|\d[\d.]*/g, "0") };
}

describe("HTTP/1.1 and HTTP/2 have the same response to", () => {
  const rows = versionedRows(CREDENTIALS).map((row) => [row[0], row] as const);
  test.each(rows)("%s", async (_, [, status, request, isCounted]) => {
    const http1 = await sendHttp1(gateway.url, ca, request);
    const http2 = await sendHttp2(gateway.url, ca, request);
    if (isCounted === undefined) expect(http2).toEqual(http1);
    else expect(uncounted(http2)).toEqual(uncounted(http1));
    expect(http1.status).toBe(status);
  });
});
