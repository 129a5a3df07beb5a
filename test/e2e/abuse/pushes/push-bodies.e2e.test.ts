import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { emptySnapshot, shopSnapshot } from "../../../snapshot/worlds.ts";
import type { HttpAnswer } from "../../gateway-client.ts";
import { type GatewayProcess, startGateway } from "../../processes.ts";
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
    expect((await put(JSON.stringify(shopSnapshot("east", 2)))).status).toBe(200);
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
        "content-type": "application/json",
        ...fields,
      },
      body,
    });
  const zipped = { "content-encoding": "gzip" };
  /** A snapshot with a further member, which counts where there is one of its name already. */
  const having = (member: string) => JSON.stringify(emptySnapshot("east")).replace(/\}$/, `,${member}}`);

  test.each([
    ["zeros, 1,000 to one", () => gzipSync(Buffer.alloc(256 * MIB)), 413],
    ["a snapshot with spaces", () => gzipSync(having(`"x":"${" ".repeat(128 * MIB)}"`)), 413],
    ["in itself", () => gzipSync(gzipSync(Buffer.alloc(64 * MIB))), 400],
    ["that is cut off", () => gzipSync(JSON.stringify(emptySnapshot("east"))).subarray(0, -9), 400],
    ["with something behind it", () => Buffer.concat([gzipSync("{}"), Buffer.alloc(MIB)]), 400],
    ["that is none", () => Buffer.alloc(MIB, 0x1f), 400],
  ])("gzip: %s", async (_, body, status) => {
    const octets = body();
    // Three at a time: a cluster may have two in progress.
    const answers = await Promise.all([1, 2, 3].map(() => put(octets, zipped)));
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
    ["within a snapshot", having(`"exports":${'{"a/b":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`)],
  ];
  test.each(nested)("JSON of 100,000 levels: %s", async (_, text) => {
    for (const answer of [await put(text), await put(gzipSync(text), zipped)]) {
      expect(answer.status).toBe(400);
      expect(answer.text).toContain("JSON_TOO_DEEP");
    }
  });

  test.each<[string, () => string, number[]]>([
    [
      "200,000 namespaces",
      () => having(`"namespaces":{${entries(200_000, (n) => `"n${n}":{}`)}}`),
      [413, 422],
    ],
    ["200,000 unknown fields", () => having(entries(200_000, (n) => `"x${n}":{}`)), [413, 422]],
    [
      "200,000 exports, each with something wrong",
      () => having(`"exports":{${entries(200_000, (n) => `"a/b${n}":1`)}}`),
      [413, 422],
    ],
    ["one array of a million elements", () => having(`"pods":[${entries(1_000_000, String)}]`), [413, 422]],
    [
      "a cluster id that comes twice, the second of which is another cluster's",
      () => having(`"clusterId":"west"`),
      [422],
    ],
    ["numbers above all bounds", () => having(`"formatVersion":1e99999`), [422]],
    ["what is no number", () => having(`"x":NaN`), [400]],
    ["bytes that are not UTF-8", () => "", [400]],
    ["half a character", () => having(`"exports":{"shop/\\ud800":1}`), [422]],
    ["a name with a NUL", () => having(`"namespaces":{"a\\u0000b":{}}`), [422]],
    ["one character", () => "{", [400]],
    ["nothing", () => "", [400]],
    ["null", () => "null", [422]],
  ])("JSON: %s", async (title, text, statuses) => {
    const body = title.includes("UTF-8") ? Buffer.from([0x22, 0xc0, 0xae, 0xff, 0x22]) : text();
    const { status } = await put(body);
    expect(statuses).toContain(status);
  });
});

function entries(count: number, entry: (n: number) => string): string {
  return Array.from({ length: count }, (_, index) => entry(index)).join(",");
}
