import type { View } from "../../access/view/view.ts";
import type { Explanation } from "../../explain/explanation.ts";
import type { JsonAnswer } from "../json/json-answer.ts";
import { nameOfCode, nameOfType } from "../pages/words.ts";

/** The most records of one explanation. */
const MOST_RECORDS = 1000;

/** An explanation as `/explain` returns it. Seconds; type and response code by name. */
export interface JsonExplanation extends Omit<Explanation, "records" | "leases"> {
  readonly question: { readonly name: string; readonly type: string };
  /** The view of the query. A client outside has no cluster; it may have a region and a zone. */
  readonly view: {
    readonly cluster?: string;
    readonly region?: string;
    readonly zone?: string;
    /** Present if the client's location decided the view. */
    readonly byLocation?: true;
  };
  /** The response code: `NOERROR`. */
  readonly status: string;
  /** At most 1000; `recordCount` counts all. */
  readonly records: readonly {
    readonly name: string;
    readonly type: string;
    readonly ttl: number;
    readonly data: string;
    readonly from: readonly string[];
  }[];
  readonly recordCount: number;
  /** The answer's records leave with the first of these leases; null for a cluster that is not live. */
  readonly leases: readonly { readonly clusterId: string; readonly expiresInSeconds: number | null }[];
  /** Extended DNS Errors, and when each cluster was last seen. */
  readonly comment: string;
}

/** @param now Unix milliseconds by the gateway's clock */
export function jsonExplanation(
  { records, leases, ...explanation }: Explanation,
  json: JsonAnswer,
  { cluster, locality, isByLocation }: View,
  now: number,
): JsonExplanation {
  const { name, type } = json.Question[0]!;
  const ttlOf = new Map(
    (json.Answer ?? []).map((record) => [`${record.type} ${record.data}`.toLowerCase(), record.TTL]),
  );
  return {
    question: { name, type: nameOfType(type) },
    view: {
      ...(cluster !== undefined && { cluster }),
      ...(locality !== undefined && { region: locality.region }),
      ...(locality?.zone !== undefined && { zone: locality.zone }),
      ...(isByLocation === true && { byLocation: true }),
    },
    status: nameOfCode(json.Status),
    ...explanation,
    records: records.slice(0, MOST_RECORDS).map((record) => ({
      ...{ name: record.name, type: nameOfType(record.type), data: record.data, from: record.from },
      ttl: ttlOf.get(`${record.type} ${record.data}`.toLowerCase()) ?? 0,
    })),
    recordCount: records.length,
    leases: leases.map(({ clusterId, expiresAt }) => ({
      clusterId,
      expiresInSeconds: expiresAt === undefined ? null : Math.max(0, Math.floor((expiresAt - now) / 1000)),
    })),
    comment: json.Comment,
  };
}
