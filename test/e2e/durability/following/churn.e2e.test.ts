import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../../abuse/harness/random.ts";
import type { DevProcess } from "../../edge/harness/dev-process.ts";
import { startPlace } from "../../edge/place.ts";
import { startWorker, type WorkerProcess } from "../../edge/wrangler.ts";
import { answered, eventualAnswer, eventually, metric, untilAnswered } from "../../harness/answers.ts";
import { type GatewayProcess, type SyncProcess, startSync } from "../../harness/processes.ts";
import type { ServerProcess } from "../../servers/process.ts";
import { ChangingManifests, SERVICES } from "./changing-manifests.ts";
import { type Host, startDenoSecondary, startPrimary } from "./followers.ts";

/** Longer, and with another seed: CHURN_MINUTES=30 CHURN_SEED=$RANDOM. */
const MINUTES = Number(process.env.CHURN_MINUTES ?? 0.3);
const SEED = Number(process.env.CHURN_SEED ?? 20_261_122);
/** Between two changes of a cluster, and between two queries of a host. */
const PAUSE_MS = 40;
/** How long the gateway is down. */
const DOWN_MS = 2_000;
const CLUSTERS = ["east", "west"];

describe(`${MINUTES} minutes of churn in two clusters that push to a Node gateway and a Worker, seed ${SEED}`, () => {
  let worker: WorkerProcess;
  let place: DevProcess;
  let gateway: GatewayProcess;
  let deno: ServerProcess;
  let hosts: Host[];
  let syncs: SyncProcess[] = [];
  const random = new Random(SEED);
  const worlds = CLUSTERS.map((_, index) => new ChangingManifests(index + 1, random));
  /** The addresses of a service in the manifests of all clusters. */
  const expected = (service: number) => {
    const addresses = worlds.flatMap((world) => world.addressesOf(service)).sort();
    return addresses.length === 0 ? "NXDOMAIN" : addresses;
  };

  beforeAll(async () => {
    worker = await startWorker({ clusters: CLUSTERS });
    place = await startPlace(worker);
    const primary = await startPrimary(CLUSTERS, worker);
    gateway = primary.gateway;
    const secondary = await startDenoSecondary(gateway, primary.token);
    deno = secondary.server;
    hosts = [
      { name: "Node gateway", client: gateway },
      { name: "Deno secondary", client: secondary.client },
      { name: "isolate beside the object", client: worker },
      { name: "isolate elsewhere", client: place },
    ];
    syncs = CLUSTERS.map((clusterId, index) => {
      const manifests = worlds[index]!.folder;
      return startSync({ clusterId, manifests, gateways: [gateway, { ...worker, ca: "" }] });
    });
    for (const { client } of hosts) await untilAnswered(client, "web-0.shop", expected(0));
  });

  afterAll(async () => {
    await Promise.all(syncs.map((sync) => sync.stop()));
    await Promise.all([place?.stop(), deno?.stop()]);
    await Promise.all([worker?.stop(), gateway?.stop()]);
  });

  test("a gateway that is killed meanwhile, its secondary and two isolates answer alike in the end, from equal rows", {
    timeout: (MINUTES + 4) * 60_000,
  }, async () => {
    const until = Date.now() + MINUTES * 60_000;
    const goesOn = () => Date.now() < until;
    const churn = async (world: ChangingManifests) => {
      for (; goesOn(); await sleep(PAUSE_MS)) world.change();
    };
    const failures: string[] = [];
    const follow = async ({ name, client }: Host) => {
      for (let asked = 0; goesOn(); asked++, await sleep(PAUSE_MS)) {
        const answer = await answered(client, `web-${asked % SERVICES}.shop`).catch(String);
        // The gateway itself is down for a while, and those who follow it go on.
        if (client !== gateway && typeof answer === "string" && !["NXDOMAIN", "NODATA"].includes(answer))
          failures.push(`${name}: ${answer}`);
      }
    };
    const crash = async () => {
      await sleep((MINUTES * 60_000) / 2);
      await gateway.kill();
      await sleep(DOWN_MS);
      await gateway.restart();
    };
    await Promise.all([...worlds.map(churn), ...hosts.map(follow), crash()]);
    console.log(`seed ${SEED}: ${worlds.map(({ changes }) => changes).join(" and ")} changes`);
    expect(failures).toEqual([]);
    for (const { changes } of worlds) expect(changes).toBeGreaterThan(SERVICES);

    for (const { client } of hosts)
      for (let service = 0; service < SERVICES; service++)
        await eventualAnswer(client, `web-${service}.shop`).toEqual(expected(service));
    const roots = async () => {
      // An isolate looks for newer rows with its queries only.
      await Promise.all(hosts.map(({ client }) => answered(client, "web-0.shop")));
      return new Set(
        await Promise.all(hosts.map(({ client }) => metric(client, "clusterset_doh_state_hash"))),
      );
    };
    await eventually(async () => (await roots()).size).toBe(1);
    expect(await roots()).not.toContain(0);

    const everything = async ({ client }: Host) => {
      const all: Record<string, unknown> = {};
      for (let service = 0; service < SERVICES; service++) {
        const name = `web-${service}.shop`;
        all[name] = [await answered(client, name), await answered(client, `_http._tcp.${name}`, "SRV")];
        for (const address of worlds.flatMap((world) => world.addressesOf(service))) {
          const reversed = address.split(".").reverse().join(".");
          all[address] = (await client.lookup(`${reversed}.in-addr.arpa`, "PTR")).values;
        }
      }
      return all;
    };
    const [first, ...others] = await Promise.all(hosts.map(everything));
    for (const [index, other] of others.entries()) expect(other, hosts[index + 1]!.name).toEqual(first);
  });
});
