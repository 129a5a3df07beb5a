import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { partPath } from "../../../src/transfer/part-forms.ts";
import { sha256 } from "../../access/authorities.ts";
import { headerLine, LINES_TYPE, patchBody, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const TOKENS = ["west-secret", "east-secret", "transfer-secret", "stranger-secret"];
const [west, east, secondary, stranger] = TOKENS.map((token) => ({ authorization: `Bearer ${token}` }));
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
};

/** The audit lines in a text of JSON lines. */
const linesIn = (text: string): Record<string, unknown>[] =>
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
  ): Promise<Record<string, unknown>[]> => {
    const before = linesIn(text()).length;
    await gateway.http(path, {
      method,
      headers: { ...LINES, ...headers },
      ...(body !== undefined && { body }),
    });
    return linesIn(text()).slice(before);
  };
  const push = (cluster: string) => `/api/v1/clusters/${cluster}/snapshot`;
  const snapshot = Buffer.from(snapshotBody(shopSnapshot("west")));
  const client = expect.stringMatching(/^(?:::ffff:)?127\.0\.0\.1$/);
  const accepted = { audit: true, outcome: "accepted", client };
  const refused = { audit: true, outcome: "refused", client };

  test("has a line for each push, with the counts of what changed, and for each transfer of a world", async () => {
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
    const state = await gateway.http("/api/v1/transfer/state", { headers: secondary! });
    const { epoch, world } = state.json<{ epoch: string; world: string }>();
    const part = `/api/v1/transfer/${partPath({ kind: "world", of: {} }, world, epoch, "")}`;
    expect(await audited("GET", part, secondary)).toMatchObject([
      { ...accepted, action: "transfer", status: 200, credential: "edge" },
    ]);
    expect(await audited("GET", "/api/v1/transfer/state", secondary)).toEqual([]);
  });

  test("has a line for each rejected push and transfer, with the reason", async () => {
    expect(await audited("PUT", push("west"), stranger, snapshot)).toMatchObject([
      { ...refused, action: "push", status: 401, code: "UNKNOWN_TOKEN", cluster: "west" },
    ]);
    expect(await audited("PUT", push("west"), east, snapshot)).toMatchObject([
      { ...refused, status: 403, code: "OTHER_CLUSTER", cluster: "west", credential: "push.credentials[1]" },
    ]);
    const wrong = sealed(headerLine("west"), '["pods","x",{}]');
    expect(await audited("PUT", push("west"), west, wrong)).toMatchObject([
      {
        ...refused,
        status: 422,
        code: "INVALID_SNAPSHOT",
        credential: "west in production",
        reason: expect.stringMatching(/./),
      },
    ]);
    expect(await audited("GET", "/api/v1/transfer/state", stranger)).toMatchObject([
      { ...refused, action: "read", status: 401, code: "UNKNOWN_TOKEN" },
    ]);
  });

  test("is bounded for each source, and never has a secret", async () => {
    const before = linesIn(text()).length;
    for (let attempt = 0; attempt < 40; attempt++)
      await gateway.http("/api/v1/clusters/west", { method: "DELETE", headers: stranger! });
    expect(linesIn(text()).slice(before).length).toBeLessThan(40);
    expect(await audited("PUT", push("west"), west, snapshot)).toMatchObject([accepted]);
    for (const token of TOKENS)
      for (const secret of [token, sha256(token)]) expect(text()).not.toContain(secret);
  });
});
