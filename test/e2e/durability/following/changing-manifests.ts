import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../abuse/harness/random.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";

/** Services of each cluster, by their names `web-0`, `web-1`, … in the namespace `shop`. */
export const SERVICES = 24;
const MOST_ENDPOINTS = 4;

/** The manifests of one cluster, which change all the time, and what they say. */
export class ChangingManifests {
  readonly folder = temporaryFolder("manifests");
  /** Where files are written before they get their place. */
  readonly #draft = temporaryFolder("draft");
  readonly #net: number;
  readonly #random: Random;
  /** Addresses by the number of the service; empty where it is not exported. */
  readonly #addresses: string[][] = Array.from({ length: SERVICES }, () => []);
  #last = 0;
  changes = 0;

  /** @param net the second part of the addresses, so that no two clusters share one */
  constructor(net: number, random: Random) {
    this.#net = net;
    this.#random = random;
    this.#write("namespace", ["apiVersion: v1", "kind: Namespace", "metadata: { name: shop }"]);
    for (let service = 0; service < SERVICES; service++) {
      this.#addresses[service] = [this.#address()];
      this.#writeService(service);
    }
  }

  /** What one service is answered with from here. */
  addressesOf(service: number): readonly string[] {
    return this.#addresses[service]!;
  }

  /** Gives one service another endpoint, one more or one fewer; without any it is not exported any more. */
  change(): void {
    const service = this.#random.below(SERVICES);
    const addresses = this.#addresses[service]!;
    const grows = addresses.length === 0 || (addresses.length < MOST_ENDPOINTS && this.#random.once(2));
    if (!grows || this.#random.once(2)) addresses.shift();
    if (grows) addresses.push(this.#address());
    this.#writeService(service);
    this.changes++;
  }

  /** An address that nobody has. */
  #address(): string {
    this.#last = (this.#last + 1) % 60_000;
    return `10.${this.#net}.${this.#last >> 8}.${this.#last & 255}`;
  }

  #writeService(service: number): void {
    const name = `web-${service}`;
    const addresses = this.#addresses[service]!;
    if (addresses.length === 0) rmSync(join(this.folder, `${name}.yaml`), { force: true });
    else this.#write(name, this.#manifests(name, addresses));
  }

  #manifests(name: string, addresses: readonly string[]): string[] {
    return [
      ...["apiVersion: v1", "kind: Service", `metadata: { name: ${name}, namespace: shop }`],
      `spec: { clusterIP: None, ports: [{ name: http, port: 80 }] }`,
      ...["---", "apiVersion: multicluster.x-k8s.io/v1beta1", "kind: ServiceExport"],
      `metadata: { name: ${name}, namespace: shop, creationTimestamp: "2026-01-10T08:00:00Z" }`,
      ...["---", "apiVersion: discovery.k8s.io/v1", "kind: EndpointSlice"],
      `metadata: { name: ${name}-1, namespace: shop, labels: { kubernetes.io/service-name: ${name} } }`,
      ...["addressType: IPv4", "ports: [{ name: http, protocol: TCP, port: 80 }]", "endpoints:"],
      ...addresses.map(
        (address, index) =>
          `  - { addresses: ["${address}"], hostname: pod-${index}, conditions: { ready: true } }`,
      ),
    ];
  }

  /** Replaces a file at once: nobody reads half of it. */
  #write(name: string, lines: readonly string[]): void {
    const draft = join(this.#draft, name);
    writeFileSync(draft, `${lines.join("\n")}\n`);
    renameSync(draft, join(this.folder, `${name}.yaml`));
  }
}
