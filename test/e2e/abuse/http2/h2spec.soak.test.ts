import { afterAll, beforeAll, expect, test } from "vitest";
import { type ListeningGateway, startListeningGateway } from "../../clients/listening-gateway.ts";
import { run } from "../../servers/run.ts";
import { ensureTool } from "../../servers/tools/tools.ts";

let listening: ListeningGateway;
beforeAll(async () => {
  listening = await startListeningGateway();
});
afterAll(() => listening?.gateway.stop());

test("h2spec finds no violation of RFC 9113 and RFC 7541 in strict mode", async () => {
  const h2spec = await ensureTool("h2spec");
  const { port } = new URL(listening.gateway.url);
  const output = await run(h2spec, ["--strict", "-t", "-k", "-h", "localhost", "-p", port, "-o", "10"]);
  expect(output).toContain("146 tests, 146 passed, 0 skipped, 0 failed");
  expect(listening.gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
});
