import { decode, encode } from "dns-packet";
import { readName } from "../../src/dns/name.ts";
import type { ClusterStatus, DohGateway, ServingStatus } from "../../src/gateway/gateway-types.ts";
import type { Objections } from "../../src/names/services.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { encodeQuery } from "../resolve/ask.ts";

/** The time at which the fake gateway lives, Unix milliseconds. */
export const NOW = Date.UTC(2026, 10, 21);

export const cluster = (clusterId: string, changes: Partial<ClusterStatus> = {}): ClusterStatus => ({
  clusterId,
  generation: 1,
  pushedAt: NOW - 60_000,
  renewedAt: NOW - 3_000,
  expiresAt: NOW + 27_000,
  live: true,
  exports: 1,
  imports: 0,
  ...changes,
});

/** A gateway of two clusters that answers every query with one address, and remembers what it was asked. */
export class FakeGateway implements DohGateway {
  readonly asked: { query: Uint8Array; view: string | undefined }[] = [];
  /** Undefined for a secondary. */
  objections: Objections | undefined = { conflicts: [], findings: [] };
  state: ServingStatus = {
    ready: true,
    stateHash: "00",
    compiledBytes: 4096,
    services: 2,
    clusters: [cluster("cluster-a"), cluster("cluster-b", { renewedAt: NOW - 5_000 })],
  };

  answer(query: Uint8Array, view: string | undefined, _now: number): Answer | undefined {
    if (query.length < 12 || (query[2]! & 0x80) !== 0) return undefined;
    this.asked.push({ query: query.slice(), view });
    const { id, flag_cd, questions } = decode(Buffer.from(query));
    const answers = [{ type: "A", name: "web.shop.svc.clusterset.test", ttl: 5, data: "10.1.0.1" }] as const;
    const flags = 0x0500 | (flag_cd ? 0x0010 : 0);
    const bytes = new Uint8Array(encode({ type: "response", id, flags, questions, answers: [...answers] }));
    // dns-packet cannot tell a dot within a label from one between two.
    bytes.set(query.subarray(12, readName(query, 12)), 12);
    return { bytes, outcome: "answer", freshness: 5 };
  }

  hasCluster(clusterId: string): boolean {
    return this.state.clusters.some((one) => one.clusterId === clusterId);
  }

  status(): ServingStatus {
    return this.state;
  }

  async survey(): Promise<Objections | undefined> {
    return this.objections;
  }
}

/** A query in wire format, without an OPT record. */
export const query = (name: string, type = "A", id = 0): Uint8Array<ArrayBuffer> =>
  new Uint8Array(encodeQuery(name, type, false, id));

export const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
