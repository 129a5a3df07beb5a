import { isDeepStrictEqual } from "node:util";
import type { ExportedService } from "../../../../src/snapshot/schema.ts";
import { pushed } from "../../../snapshot/lines/push-lines.ts";
import { emptySnapshot, headlessExport } from "../../../snapshot/worlds.ts";
import { answered } from "../../harness/answers.ts";
import type { GatewayProcess } from "../../harness/processes.ts";

/** The service that all clusters export, and its properties in the healthy ones. */
export const SHARED = "shared/web";
const SHARED_PORT = { name: "http", protocol: "TCP", port: 80 };
/** On a gateway's first day reported times count: the healthy exports are the oldest. */
const EXPORTED_AT = "2021-01-01T00:00:00Z";
const STABLE = [1, 2, 3];

/**
 * A cluster that changes all the time, and checks after each change that the gateway answers what it
 * acknowledged.
 */
export class HealthyCluster {
  readonly #gateway: GatewayProcess;
  readonly #id: string;
  readonly #net: number;
  #generation = 0;
  /** The last part of the address that moves. */
  #moving = 0;
  /** Changes that were acknowledged and then answered. */
  changes = 0;

  /** @param net the second part of its pods' addresses */
  constructor(gateway: GatewayProcess, id: string, net: number) {
    this.#gateway = gateway;
    this.#id = id;
    this.#net = net;
  }

  /** Pushes everything. */
  async begin(): Promise<void> {
    const own = `only-${this.#id}`;
    const exports = {
      [`${own}/api`]: this.#headless(),
      [SHARED]: {
        ...this.#headless(),
        headless: false,
        ports: [SHARED_PORT],
        endpoints: {
          "http/TCP/8080": {
            ports: [{ ...SHARED_PORT, port: 8080 }],
            members: { [this.#address(9)]: { address: this.#address(9) } },
          },
        },
      },
    };
    const namespaces = { [own]: {}, shared: {} };
    await this.#push("PUT", { ...emptySnapshot(this.#id), namespaces, exports });
  }

  /** Changes one endpoint, renews the lease, and checks every name. @throws what differs */
  async change(): Promise<void> {
    const before = this.#moving;
    this.#moving = (before + 1) % 250;
    const members = { [this.#movingAddress(before)]: null, ...this.#movingMember() };
    const endpoints = { "http/TCP/8080": { members } };
    const patch = { exports: { [`only-${this.#id}/api`]: { endpoints } } };
    await this.#push("PATCH", { baseGeneration: this.#generation, patch });
    await this.check();
    await this.#push("POST", { generation: this.#generation });
    this.changes++;
  }

  /** Checks that the gateway answers what it acknowledged last. @throws what differs */
  async check(): Promise<void> {
    const gateway = this.#gateway;
    const name = `api.only-${this.#id}`;
    const own = [...STABLE.map((last) => this.#address(last)), this.#movingAddress(this.#moving)].sort();
    this.#expect(await answered(gateway, name), own, `A of ${name}`);
    const shared = await answered(gateway, "web.shared");
    if (!Array.isArray(shared) || !shared.includes(this.#address(9)))
      throw new Error(`web.shared has no address of ${this.#id}: ${JSON.stringify(shared)}`);
    // Outside addresses are those of pods, and so is the port.
    const srv = ["0 100 8080 web.shared.svc.clusterset.local"];
    this.#expect(await answered(gateway, "_http._tcp.web.shared", "SRV"), srv, "SRV of web.shared");
    const { values } = await gateway.lookup(`1.0.${this.#net}.10.in-addr.arpa`, "PTR");
    this.#expect(values, [`pod-1.${this.#id}.${name}.svc.clusterset.local`], "PTR of a pod");
  }

  #headless(): ExportedService {
    const member = (last: number) => ({ address: this.#address(last), hostname: `pod-${last}` });
    const stable = Object.fromEntries(STABLE.map((last) => [this.#address(last), member(last)]));
    const ports = [{ ...SHARED_PORT, port: 8080 }];
    const members = { ...stable, ...this.#movingMember() };
    return {
      ...headlessExport(0),
      exportedAt: EXPORTED_AT,
      endpoints: { "http/TCP/8080": { ports, members } },
    };
  }

  #address(last: number): string {
    return `10.${this.#net}.0.${last}`;
  }

  #movingAddress(last: number): string {
    return `10.${this.#net}.1.${last}`;
  }

  #movingMember() {
    const address = this.#movingAddress(this.#moving);
    return { [address]: { address } };
  }

  async #push(method: "PUT" | "PATCH" | "POST", body: object): Promise<void> {
    const last = method === "POST" ? "lease" : "snapshot";
    const path = `/api/v1/clusters/${this.#id}/${last}`;
    const authorization = `Bearer ${this.#gateway.tokenFor(this.#id)}`;
    const { status, text } = await this.#gateway.http(...pushed(method, path, body, { authorization }));
    if (status !== 200) throw new Error(`${method} of ${this.#id}: ${status} ${text}`);
    this.#generation = (JSON.parse(text) as { generation: number }).generation;
  }

  #expect(got: unknown, wanted: readonly string[], what: string): void {
    if (!isDeepStrictEqual(got, wanted))
      throw new Error(`${what} is ${JSON.stringify(got)}, not ${JSON.stringify(wanted)} (${this.#id})`);
  }
}
