import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "dns-packet";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { ServerProcess } from "../../test/e2e/servers/process.ts";
import { run } from "../../test/e2e/servers/run.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { ensureTool } from "../../test/e2e/servers/tools/tools.ts";
import { askOnce } from "../processes/ask.ts";
import { ASKED, queryOf } from "../worlds/asked.ts";
import { type LoadedGateway, pidOf } from "./contenders.ts";
import type { DohServer } from "./doh-server.ts";

/**
 * dnsdist with the gateway's certificate, whose rule gives every name the address and the TTL of the first
 * one that is asked: no other server is asked.
 * @throws {Error} where dnsdist cannot be had, or answers something else than the gateway
 */
export async function startDnsdist({ url, ca, certificate }: LoadedGateway): Promise<DohServer> {
  const program = await ensureTool("dnsdist");
  const [, version = "of an unknown version"] =
    /^dnsdist (\S+)/.exec(await run(program, ["--version"])) ?? [];
  const [port, dnsPort] = [await freePort(), await freePort()];
  const expected = await answerOf({ url, ca });
  const folder = temporaryFolder("dnsdist");
  const configuration = join(folder, "dnsdist.conf");
  writeFileSync(
    configuration,
    [
      `setLocal("127.0.0.1:${dnsPort}")`,
      'setSecurityPollSuffix("")',
      `addDOHLocal("127.0.0.1:${port}", "${certificate.certFile}", "${certificate.keyFile}", "/dns-query")`,
      `addAction(AllRule(), SpoofAction("${expected.address}", {ttl=${expected.ttl}}))`,
    ].join("\n"),
  );
  const server = { url: `https://127.0.0.1:${port}/dns-query`, ca };
  const started = await ServerProcess.start({
    name: "dnsdist",
    command: program,
    args: ["--supervised", "--disable-syslog", "-C", configuration],
    folder,
    ready: async () => (await askOnce(server, queryOf(ASKED[0]!))).body.length > 0,
  });
  const answer = await answerOf(server);
  if (JSON.stringify(answer) !== JSON.stringify(expected)) {
    await started.stop();
    throw new Error(`dnsdist answers ${JSON.stringify(answer)}, the gateway ${JSON.stringify(expected)}`);
  }
  return { name: `dnsdist ${version}`, ...server, pid: pidOf(started), stop: () => started.stop() };
}

/** The only record of the answer for the first name that is asked. */
async function answerOf(server: { readonly url: string; readonly ca: string }) {
  const { answers = [] } = decode((await askOnce(server, queryOf(ASKED[0]!))).body);
  const [record] = answers;
  if (answers.length !== 1 || record?.type !== "A")
    throw new Error(`${server.url}: not one address, but ${JSON.stringify(answers)}`);
  return { name: record.name, address: record.data, ttl: record.ttl };
}
