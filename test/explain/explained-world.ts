import { type ExplainSource, explain } from "../../src/explain/explain.ts";
import { SERVICE_EXPLAINER } from "../../src/explain/service/explainer.ts";
import { LeaseTables } from "../../src/gateway/leases/lease-tables.ts";
import { renderJsonAnswer } from "../../src/http/json/json-answer.ts";
import type { MergeOptions } from "../../src/merge/merge.ts";
import { clustersetOf } from "../../src/merge/merge.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import type { ZoneOptions } from "../../src/zone/options.ts";
import { createIndexed, type IndexedOptions } from "../merge/indexed.ts";
import { encodeQuery } from "../resolve/ask.ts";

/** When the lease of a cluster expires, in Unix milliseconds. */
export type LeaseOf = ExplainSource["leaseOf"];

/** A world that answers and explains its answers, at time 0. */
export interface ExplainedWorld {
  readonly source: ExplainSource;
  /** The answer in JSON, and its explanation. */
  ask(
    name: string,
    type: string,
    view?: string,
  ): { readonly json: ReturnType<typeof renderJsonAnswer>; readonly explanation: ReturnType<typeof explain> };
  /** Explains an answer to a client outside from another source. */
  explainFrom(source: ExplainSource, json: ReturnType<typeof renderJsonAnswer>): ReturnType<typeof explain>;
}

/** @param leaseOf default: leases that never expire */
export function explainedWorld(
  snapshots: readonly ClusterSnapshot[],
  {
    leaseOf = () => Number.POSITIVE_INFINITY,
    zone = {},
    segmentsOnly = false,
    ...merging
  }: {
    readonly leaseOf?: LeaseOf;
    readonly zone?: Partial<ZoneOptions>;
    /** As on a host that does not merge. */
    readonly segmentsOnly?: boolean;
  } & MergeOptions &
    Pick<IndexedOptions, "visibility" | "remembered"> = {},
): ExplainedWorld {
  const { services, index, merge } = createIndexed(merging);
  const clusterset = merge(snapshots);
  const { generation, findings } = compileGeneration(clustersetOf(index, services), zone);
  const source: ExplainSource = segmentsOnly
    ? { generation, leaseOf }
    : {
        ...{ generation, leaseOf, merged: services, conflicts: clusterset.conflicts },
        explainer: SERVICE_EXPLAINER,
        findings: [...clusterset.findings, ...findings],
      };
  const explainFrom = (from: ExplainSource, json: ReturnType<typeof renderJsonAnswer>, view?: string) =>
    explain(from, {
      ...{ ...json.Question[0]!, view, isForwarded: false, status: json.Status },
      records: json.Answer ?? [],
    });
  return {
    source,
    explainFrom,
    ask(name, type, view) {
      const answer = resolve(encodeQuery(name, type), {
        ...{ generation, leases: new LeaseTables(leaseOf), now: 0, rotation: 0, view, outside: "refuse" },
      })!;
      const json = renderJsonAnswer(answer.bytes, "");
      return { json, explanation: explainFrom(source, json, view) };
    },
  };
}
