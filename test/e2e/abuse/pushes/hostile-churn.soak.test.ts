import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "../../../../src/snapshot/schema.ts";
import { endpoints, exported, imported, port, snapshot } from "../../../merge/fixtures.ts";
import { headerLine, LINES_TYPE, pushed, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { emptySnapshot, headlessExport } from "../../../snapshot/worlds.ts";
import { answered, eventually } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { generationOf, patch, put, renew, type Services } from "../../replica/many/harness/push-requests.ts";
import { watchGateway } from "../harness/gateway-watch.ts";
import { heldMebibytes, MEASURED } from "../harness/held.ts";
import { Random } from "../harness/random.ts";
import { RawClient } from "../harness/raw-client.ts";

/** Longer, and with another seed: CHURN_MINUTES=120 ABUSE_SEED=$RANDOM. */
const MINUTES = Number(process.env.CHURN_MINUTES ?? 0.5);
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
/** Hostile requests at the same time, and the pause before the next one. */
const HANDS = 3;
const PAUSE_MS = 100;
/** Node's heap and malloc settle within the first part of the time. */
const SETTLED = 0.2;
const MOST_GROWTH_MEBIBYTES = 150;
const MIB = 1024 * 1024;
/** All clusters export it. On a gateway's first day reported times count: the healthy are first. */
const SHARED = "web";
const EXPORTED_AT = "2021-01-01T00:00:00Z";
/** Possible; before ServiceExports existed; in the future. */
const CLAIMED_TIMES = ["2023-01-01T00:00:00Z", "2019-01-01T00:00:00Z", "2099-01-01T00:00:00Z"];

let gateway: GatewayProcess;

/** A cluster that changes all the time, and checks that the gateway answers what it acknowledged. */
class HealthyCluster {
  readonly #id: string;
  readonly #net: number;
  #generation = 0;
  /** Changes that were acknowledged and then answered. */
  changes = 0;

  /** @param net the second part of its pods' addresses */
  constructor(id: string, net: number) {
    this.#id = id;
    this.#net = net;
  }

  async begin(): Promise<void> {
    this.#generation = generationOf(await put(gateway, this.#id, this.#services()));
  }

  async change(): Promise<void> {
    const before = this.#services();
    this.changes++;
    const delta = await patch(gateway, this.#id, this.#generation, before, this.#services());
    this.#generation = generationOf(delta);
    await this.check();
    this.#generation = generationOf(await renew(gateway, this.#id, this.#generation, 60));
  }

  /** Expects that the gateway answers what it acknowledged last. */
  async check(): Promise<void> {
    const own = this.#services();
    const name = `only-${this.#id}`;
    expect(await answered(gateway, `${name}.shop`)).toEqual([...own[name]!.addresses].sort());
    expect(await answered(gateway, `${SHARED}.shop`)).toContain(own[SHARED]!.addresses[0]);
    // Mallory's port is another one.
    const srv = await answered(gateway, `_http._tcp.${SHARED}.shop`, "SRV");
    expect(srv).toEqual([`0 100 80 ${SHARED}.shop.svc.clusterset.local`]);
    const { values } = await gateway.lookup(`1.0.${this.#net}.10.in-addr.arpa`, "PTR");
    expect(values).toEqual([expect.stringContaining(`${this.#id}.${name}.shop.`)]);
  }

  #services(): Services {
    const address = (rest: string) => `10.${this.#net}.${rest}`;
    const stable = ["0.1", "0.2", `1.${this.changes % 250}`].map(address);
    return {
      [`only-${this.#id}`]: { exportedAt: EXPORTED_AT, addresses: stable },
      [SHARED]: { exportedAt: EXPORTED_AT, headless: false, addresses: [address("0.9")] },
    };
  }
}

/** A tenant with one valid credential, who does everything to the others that a seed decides. */
class HostileCluster {
  readonly #id = "mallory";
  readonly #others = ["east", "west"];
  readonly #random = new Random(SEED);
  #generation = 0;
  acts = 0;
  /** Responses by status. */
  readonly statuses = new Map<number, number>();

  /** Does one thing. It may fail in any way. */
  async act(): Promise<void> {
    this.acts++;
    const random = this.#random;
    const path = `/api/v1/clusters/${this.#id}`;
    const sent = (method: string, body?: Buffer, more = {}) => ({
      method,
      headers: { "content-type": LINES_TYPE, ...more },
      ...(body !== undefined && { body }),
    });
    switch (random.below(10)) {
      case 0:
      case 1: {
        const exports = { [`shop/${SHARED}`]: random.once(3) ? null : this.#claim() };
        const delta = { baseGeneration: this.#generation, patch: { exports } };
        return this.#request(...pushed("PATCH", `${path}/snapshot`, delta));
      }
      case 2:
        return this.#request(path, sent("DELETE"));
      case 3:
        return this.#request(...pushed("POST", `${path}/lease`, { generation: this.#generation }));
      case 4: {
        const other = random.pick(this.#others);
        const rest = random.once(2) ? "/snapshot" : "";
        const body = Buffer.from(snapshotBody(emptySnapshot(random.pick(this.#others))));
        const method = random.pick(["PUT", "PATCH", "DELETE"]);
        return this.#request(`/api/v1/clusters/${other}${rest}`, sent(method, body));
      }
      case 5:
        return this.#request(`${path}/snapshot`, sent("PUT", random.bytes(random.below(1000))));
      case 6:
        return this.#halfBody();
      case 7: {
        const line = `["pods","shop/${"0".repeat(1006)}",{}]\n`;
        const lines = line.repeat(random.once(10) ? 64 * 1024 : 1);
        const bomb = gzipSync(`${headerLine(this.#id)}\n${lines}`);
        return this.#request(`${path}/snapshot`, sent("PUT", bomb, { "content-encoding": "gzip" }));
      }
      default:
        return this.#request(...pushed("PUT", `${path}/snapshot`, this.#claims()));
    }
  }

  /** Claims to be first everywhere: in what all export, and with the addresses of others' pods. */
  #claims(): ClusterSnapshot {
    const random = this.#random;
    if (random.once(20)) return snapshot(this.#id, { exports: { "shop/big": headlessExport(10_000) } });
    const theft = imported({ ips: [`10.66.0.${1 + random.below(200)}`] });
    return snapshot(this.#id, {
      ...(random.once(5) && { namespaces: {} }),
      exports: {
        "shop/steal": exported({
          exportedAt: random.pick(CLAIMED_TIMES),
          headless: true,
          endpoints: endpoints({ address: `10.${1 + random.below(2)}.0.1`, hostname: "stolen" }),
        }),
        ...(!random.once(4) && { [`shop/${SHARED}`]: this.#claim() }),
      },
      imports: random.once(2)
        ? {}
        : { [`shop/${SHARED}`]: theft, [`shop/only-${random.pick(this.#others)}`]: theft },
    });
  }

  /** Its pods are like those of the others, and its Service has another port. */
  #claim() {
    const random = this.#random;
    const hosts = Array.from({ length: 1 + random.below(3) }, (_, index) => `10.9.0.${index + 1}`);
    const members = Object.fromEntries(hosts.map((address) => [address, { address }]));
    return exported({
      exportedAt: random.pick(CLAIMED_TIMES),
      headless: random.once(2),
      ports: [port(random.pick(["http", "evil"]), 666)],
      endpoints: { "http/TCP/80": { ports: [port("http", 80)], members } },
    });
  }

  /** A body of which the second half never comes. */
  async #halfBody(): Promise<void> {
    const { url, ca } = gateway;
    const client = await RawClient.open({ port: Number(new URL(url).port), ca, protocol: "http/1.1" });
    const head = [
      `PUT /api/v1/clusters/${this.#id}/snapshot HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${gateway.tokenFor(this.#id)}`,
      `Content-Type: ${LINES_TYPE}`,
      `Content-Length: ${MIB}`,
    ];
    const half = `{${" ".repeat(this.#random.below(MIB / 2))}`;
    await client.send(Buffer.from(`${head.join("\r\n")}\r\n\r\n${half}`));
    await sleep(this.#random.below(3000));
    await client.end("close");
  }

  async #request(path: string, sent: Parameters<typeof gateway.http>[1]): Promise<void> {
    const authorization = `Bearer ${gateway.tokenFor(this.#id)}`;
    const response = await gateway.http(path, { ...sent, headers: { ...sent?.headers, authorization } });
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    const { generation } = response.status === 200 ? response.json<{ generation?: number }>() : {};
    this.#generation = generation ?? this.#generation;
  }
}

describe(`${MINUTES} minutes of churn with a hostile cluster beside healthy ones, seed ${SEED}`, () => {
  const healthy = [new HealthyCluster("east", 1), new HealthyCluster("west", 2)];
  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["east", "west", "mallory"], leaseSeconds: 60, env: MEASURED });
    for (const cluster of healthy) await cluster.begin();
  });
  afterAll(() => gateway?.stop());

  test("nothing acknowledged is lost, no healthy name changes, and memory stays flat", {
    timeout: (MINUTES + 3) * 60_000,
  }, async () => {
    const watch = await watchGateway(gateway);
    const startedAt = Date.now();
    const share = () => (Date.now() - startedAt) / (MINUTES * 60_000);
    const mallory = new HostileCluster();
    let hasFailed = false;
    const goesOn = () => share() < 1 && !hasFailed && gateway.process.isRunning;
    const repeat = async (act: () => Promise<void>, pause = PAUSE_MS) => {
      try {
        for (; goesOn(); await sleep(pause)) await act();
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    };
    let settled: number | undefined;
    const measure = async () => {
      if (share() > SETTLED) settled ??= await heldMebibytes(gateway);
    };
    await Promise.all([
      ...healthy.map((cluster) => repeat(() => cluster.change())),
      ...Array.from({ length: HANDS }, () => repeat(() => mallory.act().catch(() => {}))),
      repeat(measure, 1000),
    ]);
    const statuses = [...mallory.statuses].sort().map(([status, count]) => `${count} × ${status}`);
    console.log(`seed ${SEED}: ${mallory.acts} hostile requests, responses ${statuses.join(", ")}`);
    for (const cluster of healthy) expect(cluster.changes).toBeGreaterThan(0);
    const growth = async () => (await heldMebibytes(gateway)) - settled!;
    await eventually(growth).toBeLessThan(MOST_GROWTH_MEBIBYTES);
    await watch.end(MOST_GROWTH_MEBIBYTES + 400);
  });

  test("after a crash the gateway answers everything that it had acknowledged", async () => {
    await gateway.kill();
    await gateway.restart();
    for (const cluster of healthy) await cluster.check();
  });
});
