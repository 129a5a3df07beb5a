import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { partPath } from "../../../src/transfer/part-forms.ts";
import { sha256 } from "../../access/authorities.ts";
import { headerLine, LINES_TYPE, patchBody, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

interface Line {
  readonly audit: true;
  readonly action: string;
  readonly outcome: string;
  readonly [name: string]: unknown;
}

const TOKENS = ["west-secret", "east-secret", "transfer-secret", "stranger-secret"];
const [west, east, secondary, stranger] = TOKENS.map((token) => ({ authorization: `Bearer ${token}` }));
const JSON_TYPE = { "content-type": "application/json" };
const LINES = { "content-type": LINES_TYPE };
const file = join(temporaryFolder("audit"), "audit.log");
const config = {
  push: {
    credentials: [
      { name: "west in production", clusterId: "west", tokenSha256: sha256("west-secret") },
      { clusterId: "east", tokenSha256: sha256("east-secret") },
    ],
  },
  transfer: { credentials: [{ name: "edge", tokenSha256: sha256("transfer-secret") }] },
  limits: { clusters: 1, pushSentBytes: 100_000 },
};

/** The audit lines in a text of JSON lines. */
const linesIn = (text: string): Line[] =>
  text
    .split("\n")
    .filter((line) => line.includes('"audit":true'))
    .map((line) => JSON.parse(line));

describe.each([
  ["in the ordinary log, whatever its level", "error", undefined],
  ["in a file", "info", file],
])("the audit log %s", (_, logLevel, logFile) => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    const audit = { linesPerSecond: 1, lineBurst: 12, ...(logFile !== undefined && { logFile }) };
    gateway = await startGateway({ config: { ...config, logLevel, audit } });
  });
  afterAll(() => gateway?.stop());

  const text = () => (logFile === undefined ? gateway.process.log() : readFileSync(logFile, "utf8"));
  /** The lines that a request causes. */
  const audited = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Buffer,
  ): Promise<Line[]> => {
    const before = linesIn(text()).length;
    await gateway.http(path, {
      method,
      headers: { ...(path.endsWith("/snapshot") || path.includes("?base") ? LINES : JSON_TYPE), ...headers },
      ...(body !== undefined && { body }),
    });
    return linesIn(text()).slice(before);
  };
  const push = (cluster: string) => `/api/v1/clusters/${cluster}/snapshot`;
  const snapshot = Buffer.from(snapshotBody(shopSnapshot("west")));
  const client = expect.stringMatching(/^(?:::ffff:)?127\.0\.0\.1$/);
  const accepted = { audit: true, outcome: "accepted", client };
  const refused = { audit: true, outcome: "refused", client };

  test("has a line for each push that is accepted, with the counts of what changed", async () => {
    const credential = "west in production";
    const [first, ...more] = await audited("PUT", push("west"), west, snapshot);
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      ...accepted,
      action: "push",
      status: 200,
      cluster: "west",
      credential,
      changes: { namespaces: { added: 1, changed: 0, removed: 0 }, exports: { added: 1 } },
    });
    const patch = Buffer.from(patchBody("west", { exports: { "shop/web": null } }));
    const path = `${push("west")}?baseGeneration=${first?.generation}`;
    expect(await audited("PATCH", path, west, patch)).toMatchObject([
      {
        ...accepted,
        action: "patch",
        credential,
        changes: { exports: { added: 0, changed: 0, removed: 1 } },
      },
    ]);
    expect(await audited("PUT", push("west"), west, snapshot)).toMatchObject([
      { action: "push", changes: { exports: { added: 1 } } },
    ]);
  });

  test("has a line for each rejected push, with the reason", async () => {
    expect(await audited("PUT", push("west"), stranger, snapshot)).toMatchObject([
      { ...refused, action: "push", status: 401, code: "UNKNOWN_TOKEN", cluster: "west" },
    ]);
    expect(await audited("PUT", push("west"), east, snapshot)).toMatchObject([
      { ...refused, status: 403, code: "OTHER_CLUSTER", cluster: "west", credential: "push.credentials[1]" },
    ]);
    const old = Buffer.from(patchBody("west", {}));
    const wrong = sealed(headerLine("west"), '["pods","x",{}]');
    for (const [method, query, body, status, code] of [
      ["PATCH", "?baseGeneration=1", old, 409, "GENERATION_MISMATCH"],
      ["PUT", "", `"${"x".repeat(200_000)}"`, 413, "BODY_TOO_LARGE"],
      ["PUT", "", wrong, 422, "INVALID_SNAPSHOT"],
    ] as const)
      expect(await audited(method, push("west") + query, west, body)).toMatchObject([
        { ...refused, status, code, credential: "west in production", reason: expect.stringMatching(/./) },
      ]);
    expect(
      await audited("PUT", push("east"), east, Buffer.from(snapshotBody(shopSnapshot("east")))),
    ).toMatchObject([{ ...refused, status: 503, code: "TOO_MANY_CLUSTERS", cluster: "east" }]);
  });

  test("has a line for each registration, and for each transfer of a world", async () => {
    expect(await audited("POST", "/federations/fed", {}, "{}")).toMatchObject([
      { ...refused, action: "register", status: 403, code: "CERTIFICATE_REQUIRED", federation: "fed" },
    ]);
    expect(await audited("GET", "/api/v1/transfer/state", stranger)).toMatchObject([
      { ...refused, action: "read", status: 401, code: "UNKNOWN_TOKEN" },
    ]);
    const state = await gateway.http("/api/v1/transfer/state", { headers: secondary! });
    const { epoch, world } = state.json<{ epoch: string; world: string }>();
    const path = partPath({ kind: "world", of: {} }, world, epoch, "");
    expect(await audited("GET", `/api/v1/transfer/${path}`, secondary)).toMatchObject([
      { ...accepted, action: "transfer", status: 200, credential: "edge" },
    ]);
    expect(await audited("GET", "/api/v1/transfer/state", secondary)).toEqual([]);
  });

  test("is bounded for each source, counts what was left out, and never has a secret", async () => {
    const before = linesIn(text()).length;
    for (let attempt = 0; attempt < 40; attempt++)
      await gateway.http("/api/v1/clusters/west", { method: "DELETE", headers: stranger! });
    const flood = linesIn(text()).slice(before);
    expect(flood.length).toBeLessThan(40);
    const { text: metrics } = await gateway.http("/metrics");
    const leftOut = Number(/limit="audit\.linesPerSecond"\} (\d+)/.exec(metrics)?.[1]);
    expect(leftOut).toBe(40 - flood.length);
    // Other sources still have lines, and the next line has the number of omitted ones.
    const reported = await audited("PUT", push("west"), west, snapshot);
    expect(reported).toMatchObject([{ ...accepted, credential: "west in production" }]);
    const noted = linesIn(text()).slice(before);
    expect(noted.reduce((sum, line) => sum + Number(line.leftOut ?? 0), 0)).toBe(leftOut);
    for (const token of TOKENS)
      for (const secret of [token, sha256(token)]) expect(text()).not.toContain(secret);
  });
});
