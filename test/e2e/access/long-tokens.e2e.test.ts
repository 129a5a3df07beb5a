import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { longTokens } from "../../conformance/cases/long-tokens.ts";
import { connectTo, type SocketClient } from "../../conformance/hosts/socket-fetch.ts";
import { checkCase } from "../../conformance/http-case.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

const { credential, cases } = await longTokens();

describe.each([
  ["HTTP/2", true],
  ["HTTP/1.1", false],
])("over %s", (_, tls) => {
  let gateway: GatewayProcess;
  let client: SocketClient;
  beforeAll(async () => {
    gateway = await startGateway({ tls, config: { push: { credentials: [credential] } } });
    client = connectTo(gateway.url, tls ? gateway.ca : undefined);
  });
  afterAll(async () => {
    await client?.close();
    await gateway?.stop();
  });

  test.each(cases.map((one) => [one.title, one] as const))("%s", (_, entry) =>
    checkCase(client.fetch, entry),
  );

  test("a header section above the limit is not read", async () => {
    const url = "http://gateway/api/v1/clusters/groups";
    const headers = { authorization: `Bearer ${"a".repeat(30_000)}` };
    expect((await client.fetch(new Request(url, { headers }))).status).toBe(431);
  });
});
