import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { ClusterSnapshot, ExportedService } from "../../../../src/snapshot/schema.ts";
import { headerLine, LINES_TYPE, pushed, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { emptySnapshot, headlessExport } from "../../../snapshot/worlds.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import type { Random } from "../harness/random.ts";
import { RawClient } from "../harness/raw-client.ts";
import { ATTACKER } from "../harness/raw-socket.ts";
import { SHARED } from "./healthy-cluster.ts";

const MIB = 1024 * 1024;
/** 1 KiB, of which the same follows. */
const BOMB_LINE = `["pods","shop/${"0".repeat(1006)}",{}]\n`;
/** Possible; before ServiceExports existed; in the future. */
const CLAIMED_TIMES = ["2023-01-01T00:00:00Z", "2019-01-01T00:00:00Z", "2099-01-01T00:00:00Z"];

/** A tenant with one valid credential, who does everything to the others that a seed decides. */
export class HostileCluster {
  readonly #gateway: GatewayProcess;
  readonly #id: string;
  readonly #others: readonly string[];
  readonly #nets: readonly number[];
  readonly #random: Random;
  #generation = 0;
  /** Responses by status. */
  readonly statuses = new Map<number, number>();

  /** @param nets the second parts of the addresses of the others' pods */
  constructor(
    gateway: GatewayProcess,
    id: string,
    others: readonly string[],
    nets: readonly number[],
    random: Random,
  ) {
    this.#gateway = gateway;
    this.#id = id;
    this.#others = others;
    this.#nets = nets;
    this.#random = random;
  }

  /** Does one thing. It may fail in any way. */
  async act(): Promise<void> {
    const random = this.#random;
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2:
        return this.#push("PUT", this.#claims());
      case 3:
      case 4:
        return this.#push("PATCH", {
          baseGeneration: this.#generation,
          patch: { exports: { [SHARED]: random.once(3) ? null : this.#claim() } },
        });
      case 5:
        return this.#send("DELETE", "");
      case 6:
        return this.#push("POST", { generation: this.#generation });
      case 7:
        return this.#send(
          random.pick(["PUT", "PATCH", "DELETE"]),
          random.once(2) ? "/snapshot" : "",
          Buffer.from(snapshotBody(emptySnapshot(random.pick(this.#others)))),
          random.pick(this.#others),
        );
      case 8:
        return this.#send("PUT", "/snapshot", random.bytes(random.below(1000)));
      case 9:
        return random.once(10) ? this.#bomb() : this.#push("PUT", emptySnapshot(this.#id));
      case 10:
        return this.#halfBody();
      default:
        return random.once(20) ? this.#push("PUT", this.#large()) : this.#push("PUT", this.#claims());
    }
  }

  /** Claims to be first everywhere: in what all export, and with the addresses of others' pods. */
  #claims(): ClusterSnapshot {
    const random = this.#random;
    const exports: Record<string, ExportedService> = { "steal/web": this.#stolen() };
    if (!random.once(4)) exports[SHARED] = this.#claim();
    const ips = [`10.66.0.${1 + random.below(200)}`];
    const imported = { type: "ClusterSetIP", ips, ports: [], endpoints: {} };
    return {
      ...emptySnapshot(this.#id),
      namespaces: random.once(5) ? {} : { shared: {}, steal: {} },
      exports,
      imports: random.once(2)
        ? {}
        : { [SHARED]: imported, [`only-${random.pick(this.#others)}/api`]: imported },
    };
  }

  #claim(): ExportedService {
    const random = this.#random;
    return {
      ...headlessExport(1 + random.below(3)),
      exportedAt: random.pick(CLAIMED_TIMES),
      headless: random.once(2),
      ports: [{ name: random.pick(["http", "evil"]), protocol: "TCP", port: 666 }],
    };
  }

  #stolen(): ExportedService {
    const random = this.#random;
    const address = `10.${random.pick(this.#nets)}.0.1`;
    const members = { [address]: { address, hostname: "stolen" } };
    const exportedAt = random.pick(CLAIMED_TIMES);
    return { ...headlessExport(0), exportedAt, endpoints: { "*": { ports: [], members } } };
  }

  #large(): ClusterSnapshot {
    const namespaces = { big: {}, steal: {} };
    return { ...emptySnapshot(this.#id), namespaces, exports: { "big/web": headlessExport(10_000) } };
  }

  #bomb(): Promise<void> {
    return this.#send(
      "PUT",
      "/snapshot",
      gzipSync(`${headerLine(this.#id)}\n${BOMB_LINE.repeat(64 * 1024)}`),
      this.#id,
      "gzip",
    );
  }

  /** A body of which the second half never comes. */
  async #halfBody(): Promise<void> {
    const { url, ca } = this.#gateway;
    const port = Number(new URL(url).port);
    const client = await RawClient.open({ port, ca, protocol: "http/1.1", localAddress: ATTACKER });
    const head = [
      `PUT /api/v1/clusters/${this.#id}/snapshot HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${this.#gateway.tokenFor(this.#id)}`,
      `Content-Type: ${LINES_TYPE}`,
      `Content-Length: ${MIB}`,
    ];
    const half = `{${" ".repeat(this.#random.below(MIB / 2))}`;
    await client.send(Buffer.from(`${head.join("\r\n")}\r\n\r\n${half}`));
    await sleep(this.#random.below(3000));
    await client.end("close", 0);
  }

  #push(method: string, body: object): Promise<void> {
    const path = `/api/v1/clusters/${this.#id}/${method === "POST" ? "lease" : "snapshot"}`;
    return this.#request(...pushed(method, path, body));
  }

  async #send(
    method: string,
    rest: string,
    body?: string | Buffer,
    about = this.#id,
    encoding = "",
  ): Promise<void> {
    await this.#request(`/api/v1/clusters/${about}${rest}`, {
      method,
      headers: {
        "content-type": LINES_TYPE,
        ...(encoding !== "" && { "content-encoding": encoding }),
      },
      ...(body !== undefined && { body }),
    });
  }

  async #request(
    path: string,
    sent: { method: string; headers: Record<string, string>; body?: string | Buffer },
  ): Promise<void> {
    const authorization = `Bearer ${this.#gateway.tokenFor(this.#id)}`;
    const headers = { ...sent.headers, authorization };
    const response = await this.#gateway.http(path, { ...sent, headers });
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    const { generation } = response.status === 200 ? response.json<{ generation?: number }>() : {};
    if (generation !== undefined) this.#generation = generation;
  }
}
