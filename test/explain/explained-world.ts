import { type ExplainSource, explain } from "../../src/explain/explain.ts";
import { SERVICE_EXPLAINER } from "../../src/explain/service.ts";
import { readAnswer } from "../../src/http/json.ts";
import type { MergeOptions } from "../../src/merge/merge-key.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { Accounts } from "../../src/names/services.ts";
import { LeaseTables } from "../../src/resolve/record-writer.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ZoneOptions } from "../../src/zone/zone-plan.ts";
import { entriesOf, type Ranked } from "../names/entries-of.ts";
import { encodeQuery } from "../resolve/ask.ts";

/** A world that answers and explains its answers, at time 0; by default with leases that never expire. */
export type ExplainedWorld = ReturnType<typeof explainedWorld>;

/** @param isReader whether the host does not merge */
export function explainedWorld(
  snapshots: readonly ClusterSnapshot[],
  {
    leaseOf = () => Number.POSITIVE_INFINITY,
    zone = {},
    isReader = false,
    ranked,
    ...merging
  }: {
    readonly leaseOf?: ExplainSource["leaseOf"];
    readonly zone?: Partial<ZoneOptions>;
    readonly isReader?: boolean;
    readonly ranked?: Ranked;
  } & MergeOptions = {},
) {
  const world = new KeyWorld(entriesOf(snapshots, {}, ranked), zone, merging, new Map());
  const merged = isReader ? undefined : { accounts: new Accounts(world), explainer: SERVICE_EXPLAINER };
  const source: ExplainSource = { world, leaseOf, merged };
  return {
    /** The answer in JSON, its explanation, and in how many steps that was made. */
    ask(name: string, type: string, view?: string) {
      const answer = resolve(encodeQuery(name, type), {
        world,
        leases: new LeaseTables(leaseOf),
        now: 0,
        rotation: 0,
        view,
        outside: "refuse",
      })!;
      const json = readAnswer(answer.bytes, "");
      const question = { ...json.Question[0]!, view, isForwarded: false, status: json.Status };
      const inSteps = explain(source, { ...question, records: json.Answer ?? [] });
      for (let steps = 0; ; steps++) {
        const { done, value } = inSteps.next();
        if (done === true) return { json, explanation: value, steps };
      }
    },
  };
}
