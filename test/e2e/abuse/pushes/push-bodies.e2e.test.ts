import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { headerLine, LINES_TYPE, sealed, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../../snapshot/worlds.ts";
import type { HttpAnswer } from "../../harness/gateway-client.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { Bystander } from "../harness/bystander.ts";
import { MemoryWatch } from "../harness/memory.ts";
import { filesOf } from "../paths/files.ts";

const MIB = 1024 * 1024;
/** A bomb unpacks to 256 MiB, of which a gateway reads 48 at most, and few if the ratio shows it. */
const MOST_GROWTH_MEBIBYTES = 200;
const LEVELS = 100_000;
const WEB = { name: "web.shop.svc.clusterset.local", addresses: ["10.0.0.0", "10.0.0.1"] };
const PATH = "/api/v1/clusters/east/snapshot";

interface Status {
  readonly generation: number;
}

describe("malicious pushes change nothing, and other clients are answered meanwhile", () => {
  let gateway: GatewayProcess;
  let bystander: Bystander;
  let memory: MemoryWatch;
  let before: { generation: number; files: string[] };
  const generation = async () => (await gateway.clusterStatus<Status>("east")).generation;

  beforeAll(async () => {
    gateway = await startGateway({
      clusters: ["east", "west"],
      leaseSeconds: 600,
      config: { limits: { requestSeconds: 2, idleSeconds: 2 } },
    });
    expect((await put(Buffer.from(snapshotBody(shopSnapshot("east", 2))))).status).toBe(200);
  });
  afterAll(() => gateway?.stop());
  beforeEach(async () => {
    before = { generation: await generation(), files: filesOf(gateway.stateDir) };
    bystander = await Bystander.start(gateway, WEB);
    memory = new MemoryWatch(gateway.process.pid);
  });
  afterEach(async () => {
    await bystander.stop();
    expect({ generation: await generation(), files: filesOf(gateway.stateDir) }).toEqual(before);
    expect(memory.stop()).toBeLessThan(MOST_GROWTH_MEBIBYTES);
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
  });

  const put = (body: string | Buffer, fields: Record<string, string> = {}): Promise<HttpAnswer> =>
    gateway.http(PATH, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${gateway.tokenFor("east")}`,
        "content-type": LINES_TYPE,
        ...fields,
      },
      body,
    });
  const zipped = { "content-encoding": "gzip" };
  const HEADER = headerLine("east");
  /** A whole state with these changes. */
  const having = (...changes: readonly (string | readonly string[])[]) => sealed(HEADER, ...changes);
  /** About 1 KiB. */
  const VALID_LINE = `["findings","${"0".repeat(960)}",{"reason":"a","kind":"a","name":"a","message":"a"}]\n`;

  test.each([
    ["zeros, 1,000 to one", () => gzipSync(Buffer.alloc(256 * MIB)), 413],
    ["a line with spaces", () => gzipSync(having(`["pods","a/b",{"x":"${" ".repeat(128 * MIB)}"}]`)), 413],
    ["the same line again and again", () => gzipSync(`${HEADER}\n${VALID_LINE.repeat(128 * 1024)}`), 413],
    ["in itself", () => gzipSync(gzipSync(Buffer.alloc(64 * MIB))), 400],
    ["that is cut off", () => gzipSync(having()).subarray(0, -9), 400],
    ["with something behind it", () => Buffer.concat([gzipSync("{}"), Buffer.alloc(MIB)]), 400],
    ["that is none", () => Buffer.alloc(MIB, 0x1f), 400],
  ])("gzip: %s", async (_, body, status) => {
    const bytes = body();
    // Three at a time: a cluster may have two in progress.
    const answers = await Promise.all([1, 2, 3].map(() => put(bytes, zipped)));
    for (const answer of answers) expect([status, 429]).toContain(answer.status);
    expect(answers.map((answer) => answer.status)).toContain(status);
  });

  test.each(["br", "deflate", "zstd", "gzip, gzip", "compress", "exi"])(
    "the encoding %s is none of ours",
    async (encoding) => {
      expect((await put(gzipSync("{}"), { "content-encoding": encoding })).status).toBe(415);
    },
  );

  const nested: [string, string][] = [
    ["arrays", "[".repeat(LEVELS) + "]".repeat(LEVELS)],
    ["arrays that never end", "[".repeat(LEVELS)],
    ["objects", `${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`],
    ["both, with strings full of brackets between", `${'[{"]}\\"":'.repeat(LEVELS)}1`],
  ];
  test.each(nested)("JSON of 100,000 levels: %s", async (_, text) => {
    const body = `${HEADER}\n["pods","a/b",${text}]\n`;
    for (const answer of [await put(body), await put(gzipSync(body), zipped)]) {
      expect(answer.status).toBe(400);
      expect(answer.text).toContain("JSON_TOO_DEEP");
    }
  });

  test.each<[string, () => string, number[]]>([
    ["200,000 namespaces", () => having(lines(200_000, (n) => `["namespaces","n${n}",{}]`)), [413, 422]],
    ["8,000 unknown fields", () => having(`["pods","a/b",{${entries(8000, (n) => `"x${n}":1`)}}]`), [422]],
    [
      "200,000 unknown fields",
      () => having(`["pods","a/b",{${entries(200_000, (n) => `"x${n}":{}`)}}]`),
      [413],
    ],
    [
      "200,000 exports, each with something wrong",
      () => having(lines(200_000, (n) => `["exports","a/b${n}",{"x":1}]`)),
      [413, 422],
    ],
    [
      "one array of a million elements",
      () => having(`["topology",{"zones":[${entries(1_000_000, String)}]}]`),
      [413],
    ],
    [
      "a cluster id that comes twice, the second of which is another cluster's",
      () => sealed('{"formatVersion":2,"clusterId":"east","clusterId":"west"}'),
      [400],
    ],
    ["numbers above all bounds", () => sealed('{"formatVersion":1e99999,"clusterId":"east"}'), [422]],
    ["what is no number", () => having('["pods","a/b",{"x":NaN}]'), [400]],
    ["bytes that are not UTF-8", () => "", [400]],
    ["half a character", () => having('["exports","shop/\\ud800",{}]'), [422]],
    ["a name with a NUL", () => having('["namespaces","a\\u0000b",{}]'), [422]],
    ["one character", () => "{\n", [400]],
    ["nothing", () => "", [400]],
    ["null", () => "null\n", [400]],
  ])("JSON: %s", async (title, text, statuses) => {
    const body = title.includes("UTF-8") ? Buffer.from([0x22, 0xc0, 0xae, 0xff, 0x22, 0x0a]) : text();
    const { status } = await put(body);
    expect(statuses).toContain(status);
  });
});

function lines(count: number, line: (n: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => line(index));
}

function entries(count: number, entry: (n: number) => string): string {
  return Array.from({ length: count }, (_, index) => entry(index)).join(",");
}
