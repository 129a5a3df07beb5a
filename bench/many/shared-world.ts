import { createHash, randomBytes } from "node:crypto";
import type { GatewayProcess } from "../../test/e2e/harness/processes.ts";
import { type Redis, startRedis } from "../../test/e2e/servers/redis.ts";
import { Poller } from "../change/poll.ts";
import type { Stop } from "../processes/stops.ts";
import type { Progress } from "../report/report.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { pushWideWorld, startWideGateway } from "../size/held-world.ts";
import { PushingCluster } from "../worlds/pushing-cluster.ts";
import {
  addressOf,
  emptyCluster,
  headlessExport,
  memberPatch,
  type WideWorld,
} from "../worlds/wide-world.ts";

/** A cluster whose one service has one endpoint, which changes; it pushes to one of the gateways. */
export class Changing {
  readonly gateway: GatewayProcess;
  readonly query: Uint8Array;
  readonly #cluster: PushingCluster;
  /** Of its service. */
  readonly key: string;
  readonly #net: number;
  #address = "";
  #changes = 0;

  constructor(gateway: GatewayProcess, number: number) {
    this.gateway = gateway;
    this.#net = 12_000_000 + number * 65_536;
    this.key = `changing/service-${number}`;
    this.query = encodeQuery(`service-${number}.changing.svc.clusterset.local`, "A");
    this.#cluster = new PushingCluster(gateway, Changing.idOf(number));
  }

  static idOf(number: number): string {
    return `changing-${number}`;
  }

  /** Pushes it in full. */
  async begin(): Promise<void> {
    this.#address = addressOf(this.#net);
    const members = { [this.#address]: { address: this.#address } };
    const exports = { [this.key]: headlessExport(members) };
    await this.#cluster.replace({ ...emptyCluster(this.#cluster.clusterId, ["changing"]), exports });
  }

  /** Gives its endpoint another address. @returns the address, and what resolves once that is acknowledged */
  change(): { readonly address: string; readonly acknowledged: Promise<void> } {
    const before = this.#address;
    const address = addressOf(this.#net + (++this.#changes % 65_535) + 1);
    this.#address = address;
    const patch = memberPatch({ [before]: null, [address]: { address } });
    return { address, acknowledged: this.#cluster.patch({ exports: { [this.key]: patch } }) };
  }

  close(): Promise<void> {
    return this.#cluster.close();
  }
}

/**
 * Two gateways that share an engine and hold a world, and clusters that change, half of which push to each.
 */
export interface SharedWorld {
  readonly engine: Redis;
  readonly gateways: readonly [GatewayProcess, GatewayProcess];
  readonly pollers: readonly [Poller, Poller];
  readonly changing: readonly Changing[];
  /** Of a secondary. */
  readonly transferToken: string;
}

/** Milliseconds between an answer and the next query. */
const PAUSE = 1;
const CHANGING = 8;

/** Starts the engine and both gateways, and pushes the world to one of them. */
export async function startSharedWorld(
  world: WideWorld,
  progress: Progress,
  stops: Stop[],
): Promise<SharedWorld> {
  const engine = await startRedis();
  stops.push(() => engine.process.kill());
  const transferToken = randomBytes(32).toString("base64url");
  const tokenSha256 = createHash("sha256").update(transferToken).digest("hex");
  const clusters = Array.from({ length: CHANGING }, (_, number) => Changing.idOf(number));
  const config = {
    store: { url: engine.url, prefix: "shared" },
    access: { public: true },
    transfer: { credentials: [{ tokenSha256 }] },
    // Each cluster pushes its next change when the one before is acknowledged.
    limits: { pushesPerSecond: 100_000, pushBurst: 1_000_000 },
  };
  const start = async (tokensOf?: GatewayProcess) => {
    const gateway = await startWideGateway(world, {
      clusters,
      config,
      tls: false,
      ...(tokensOf !== undefined && { tokensOf }),
    });
    stops.push(() => gateway.kill());
    return gateway;
  };
  const one = await start();
  const gateways = [one, await start(one)] as const;
  await pushWideWorld(one, world, progress);
  const changing = clusters.map((_, number) => new Changing(gateways[number % 2]!, number));
  for (const cluster of changing) await cluster.begin();
  stops.push(...changing.map((cluster) => () => cluster.close()));
  const pollers = gateways.map(({ url, ca }) => new Poller(`${url}/dns-query`, ca, PAUSE)) as [
    Poller,
    Poller,
  ];
  stops.push(...pollers.map((poller) => () => poller.close()));
  for (const poller of pollers)
    for (const { query } of changing) await poller.waitForCount(query, 1, 120_000);
  return { engine, gateways, pollers, changing, transferToken };
}
