import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { LINES_TYPE, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { emptySnapshot, shopSnapshot } from "../../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { dripUntilClosed, openTls } from "../harness/slow-client.ts";
import { filesOf } from "../paths/files.ts";

const PATH = "/api/v1/clusters/east/snapshot";
const LIMITS = { requestSeconds: 2, idleSeconds: 2 };

describe("pushes with a wrong length change nothing", () => {
  let gateway: GatewayProcess;
  let before: string[];
  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["east"], leaseSeconds: 600, config: { limits: LIMITS } });
    const { status } = await gateway.http(PATH, {
      method: "PUT",
      headers: { authorization: `Bearer ${gateway.tokenFor("east")}`, "content-type": LINES_TYPE },
      body: Buffer.from(snapshotBody(shopSnapshot("east", 2))),
    });
    expect(status).toBe(200);
    before = filesOf(gateway.stateDir);
  });
  afterAll(() => gateway?.stop());
  afterEach(() => {
    expect(filesOf(gateway.stateDir)).toEqual(before);
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
  });

  const head = (fields: string, authorized = true) =>
    `PUT ${PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${LINES_TYPE}\r\n${authorized ? `authorization: Bearer ${gateway.tokenFor("east")}\r\n` : ""}${fields}\r\n\r\n`;
  const body = Buffer.from(snapshotBody(emptySnapshot("east"))).toString();
  const length = body.length;
  const chunk = `${length.toString(16)}\r\n${body}\r\n`;
  const GET = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

  test.each<[string, () => string, RegExp]>([
    ["shorter than the body", () => `${head(`content-length: ${length - 9}`)}${body}`, /^HTTP\/1.1 400/],
    ["longer than the body", () => `${head(`content-length: ${length + 9}`)}${body}`, /^HTTP\/1.1 4/],
    [
      "two of them",
      () => `${head(`content-length: 1\r\ncontent-length: ${length}`)}${body}`,
      /^HTTP\/1.1 400/,
    ],
    ["negative", () => `${head("content-length: -1")}${body}`, /^HTTP\/1.1 400/],
    ["in words", () => `${head("content-length: 0x10")}${body}`, /^HTTP\/1.1 400/],
    [
      "beside chunks",
      () => `${head(`content-length: ${length}\r\ntransfer-encoding: chunked`)}${chunk}0\r\n\r\n`,
      /^HTTP\/1.1 400/,
    ],
  ])("a Content-Length that is wrong: %s", async (_, request, expected) => {
    const received = await dripUntilClosed(
      await openTls(portOf(gateway), gateway.ca, "http/1.1"),
      request(),
      "",
    );
    expect(received).toMatch(expected);
    expect(received).not.toMatch(/HTTP\/1.1 200/);
  });

  test.each<[string, () => string]>([
    ["cut off", () => `${head("transfer-encoding: chunked")}${chunk.slice(0, -9)}`],
    ["of a length that is none", () => `${head("transfer-encoding: chunked")}zz\r\n${body}\r\n0\r\n\r\n`],
    [
      "with a length that overflows",
      () => `${head("transfer-encoding: chunked")}${"f".repeat(17)}\r\n${body}`,
    ],
    ["encoded in another way", () => `${head("transfer-encoding: xchunked")}${chunk}0\r\n\r\n`],
    [
      "without a token, which a trailer brings",
      () =>
        `${head("transfer-encoding: chunked\r\ntrailer: authorization", false)}${chunk}0\r\nauthorization: Bearer ${gateway.tokenFor("east")}\r\n\r\n`,
    ],
    [
      "with a request of somebody else behind it",
      () =>
        `${head("transfer-encoding: chunked", false)}${chunk}0\r\n\r\n${GET.replace("GET /healthz", `PUT ${PATH}`)}`,
    ],
  ])("chunks: %s", async (_, request) => {
    const received = await dripUntilClosed(
      await openTls(portOf(gateway), gateway.ca, "http/1.1"),
      request(),
      "",
    );
    expect(received).toMatch(/^HTTP\/1.1 4/);
    expect(received).not.toMatch(/HTTP\/1.1 200/);
  });
});

function portOf({ url }: { url: string }): number {
  return Number(new URL(url).port);
}
