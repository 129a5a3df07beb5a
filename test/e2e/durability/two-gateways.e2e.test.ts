import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEADLINE } from "../../deadline.ts";
import { blocksIn } from "../../docs/pages.ts";
import { makeAuthority, makeServer } from "../../hosts/client-certificates.ts";
import { startUnbound } from "../clients/resolvers/resolver.ts";
import { acceptedPushes, answered, eventualAnswer, eventually, untilAnswered } from "../harness/answers.ts";
import { writeDatabase } from "../harness/manifests.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { startCoreDns } from "../servers/coredns.ts";
import { queryUdp } from "../servers/dns.ts";
import { freePort } from "../servers/ports.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const PAGE = "docs/how-to/deploy/two-gateways.md";
const ZONE = "clusterset.example.org";
const NAME = `db.shop.svc.${ZONE}`;

/** A resolver that is asked all the time, one query after the other. */
class Asked {
  answers = 0;
  /** What was not an answer with addresses. */
  readonly failures: string[] = [];
  #going = true;
  readonly #done: Promise<void>;

  constructor(port: number) {
    this.#done = this.#ask(port);
  }

  async #ask(port: number): Promise<void> {
    while (this.#going) {
      // Once: a resolver that drops it has failed.
      const outcome = await queryUdp(port, { name: NAME, type: "A", edns: true }, DEADLINE).then(
        ({ rcode, message }) => ((message.answers ?? []).length > 0 ? "" : rcode),
        (error: Error) => error.message,
      );
      if (outcome === "") this.answers++;
      else this.failures.push(outcome);
    }
  }

  async stop(): Promise<void> {
    this.#going = false;
    await this.#done;
  }
}

const folder = temporaryFolder("two-gateways");
const asked = new Map<string, Asked>();
const running: { stop(): Promise<unknown> }[] = [];
const workers: SyncProcess[] = [];
/** Of the workers. */
const clock = new MovedClock({ timers: true });
let first: GatewayProcess;
let second: GatewayProcess;

/** The manifests of a cluster, with these pods of the headless service `db`. */
function write(cluster: string, ...addresses: string[]): string {
  const manifests = join(folder, cluster);
  const endpoints = addresses.map((address) => ({ address }));
  writeDatabase(manifests, { port: 5432, exportedAt: "2026-01-10T08:00:00Z", endpoints });
  return manifests;
}

beforeAll(async () => {
  const authority = await makeAuthority("Test authority");
  const server = await makeServer(authority, ["doh.example.org"], ["127.0.0.1"]);
  const certificate = { ...server, ca: authority.cert };
  const dots = [await freePort(), await freePort()];
  const start = (dot: number, tokensOf?: GatewayProcess) =>
    startGateway({
      clusters: ["east", "west"],
      zones: [ZONE],
      certificate,
      ...(tokensOf && { tokensOf }),
      config: { ttlSeconds: 1, dot: { listen: [`127.0.0.1:${dot}`] } },
    });
  first = await start(dots[0]!);
  second = await start(dots[1]!, first);
  running.push(first, second);
  for (const [cluster, address] of [
    ["east", "10.1.0.1"],
    ["west", "10.2.0.1"],
  ] as const)
    workers.push(
      startSync({
        clusterId: cluster,
        manifests: write(cluster, address),
        gateways: [first, second],
        args: ["--lease", "600"],
        env: clock.env,
      }),
    );
  for (const gateway of [first, second]) await untilAnswered(gateway, "db.shop", ["10.1.0.1", "10.2.0.1"]);

  const placed = (text: string) =>
    text
      .replaceAll("192.0.2.53@853", `127.0.0.1@${dots[0]}`)
      .replaceAll("192.0.2.54@853", `127.0.0.1@${dots[1]}`)
      .replaceAll("https://192.0.2.53", first.url)
      .replaceAll("https://192.0.2.54", second.url)
      .replaceAll(/\/etc\/(?:clusterset-doh\/ca|ssl\/clusterset-doh)\.crt/g, first.caFile);
  const plugins = placed(blocksIn(PAGE, "corefile")[0]!).split("\n").slice(2, -2).join("\n");
  const coredns = await startCoreDns([plugins], { name: "two-gateways" });
  const [lines] = blocksIn("docs/how-to/plain-dns.md", "unbound");
  const both = lines!.replace(/^.* forward-addr: .*\n/m, (line) =>
    ["192.0.2.53", "192.0.2.54"]
      .map((address) => line.replace("192.0.2.53", address).replace("dns.example.org", "doh.example.org"))
      .join(""),
  );
  const unbound = await startUnbound({ port: dots[0]!, caFile: first.caFile }, placed(both));
  running.push(coredns, unbound);
  for (const [name, port] of [
    ["CoreDNS", coredns.port],
    ["unbound", unbound.port],
  ] as const)
    asked.set(name, new Asked(port));
});

afterAll(async () => {
  await Promise.all([...asked.values()].map((one) => one.stop()));
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(running.map((one) => one.stop()));
});

/**
 * Asks each resolver some more; returns how often each has failed since the last call, by the text of the
 * failure.
 */
async function failuresSince(): Promise<Record<string, string[]>> {
  const count = ({ answers, failures }: Asked) => answers + failures.length;
  const before = new Map([...asked].map(([name, one]) => [name, count(one)]));
  await eventually(() =>
    Math.min(...[...asked].map(([name, one]) => count(one) - before.get(name)!)),
  ).toBeGreaterThan(20);
  return Object.fromEntries(
    [...asked].map(([name, { failures }]) => [name, [...new Set(failures.splice(0))]]),
  );
}

const NONE = { CoreDNS: [], unbound: [] };

test("while a gateway is killed, workers push to the other one, and no query fails", async () => {
  expect(await failuresSince()).toEqual(NONE);
  await first.kill();
  write("east", "10.1.0.1", "10.1.0.2");
  await eventualAnswer(second, "db.shop").toHaveLength(3);
  expect(await failuresSince()).toEqual(NONE);
  for (const worker of workers) await eventually(clock.passing(worker.log)).toContain('"UNREACHABLE"');
});

test("started again, it answers from its state and gets what it missed as a delta; no query fails", async () => {
  await first.restart();
  await eventually(clock.passing(() => answered(first, "db.shop"))).toHaveLength(3);
  await eventually(async () => (await acceptedPushes(first)).delta).toBeGreaterThan(0);
  expect((await acceptedPushes(first)).full).toBe(0);
  expect(await failuresSince()).toEqual(NONE);
});

test("started again without its state, it gets all from the workers; no query fails", async () => {
  for (const worker of workers) worker.process.signal("SIGSTOP");
  await second.kill();
  rmSync(second.stateDir, { recursive: true });
  await second.restart();
  expect(await failuresSince()).toEqual(NONE);
  for (const worker of workers) worker.process.signal("SIGCONT");
  await eventually(clock.passing(async () => (await acceptedPushes(second)).full)).toBeGreaterThanOrEqual(2);
  await eventualAnswer(second, "db.shop").toHaveLength(3);
  expect(await failuresSince()).toEqual(NONE);
});
