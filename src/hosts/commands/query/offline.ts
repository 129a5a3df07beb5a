import { explain } from "../../../explain/explain.ts";
import { SERVICE_EXPLAINER } from "../../../explain/service/explainer.ts";
import { LeaseTables } from "../../../gateway/leases/lease-tables.ts";
import { jsonExplanation } from "../../../http/explain.ts";
import { renderJsonAnswer } from "../../../http/json.ts";
import { Accounts } from "../../../names/accounts.ts";
import type { EntryReader } from "../../../names/entries.ts";
import { resolve } from "../../../resolve/resolve.ts";
import { type PinFlags, readPins } from "../flags/pin-flags.ts";
import { readGrant } from "../flags/speaks-for-flag.ts";
import { canonicalZone, checkView, openWorld, rulesFor } from "../offline-world.ts";
import type { QueryQuestion, QueryResult } from "./query-result.ts";

/** What is answered without a gateway. */
export interface OfflineFlags extends PinFlags {
  readonly zone?: readonly string[] | undefined;
  readonly speaksFor?: readonly string[] | undefined;
  /** A cluster id; undefined for outside. */
  readonly view?: string | undefined;
  readonly explain?: boolean | undefined;
}

/**
 * Answers a question from what clusters reported, like a gateway in which every cluster is live.
 * @throws {UsageError} for a zone that cannot be served, an unknown cluster, or an invalid grant or pin
 */
export function answerOffline(
  { message }: QueryQuestion,
  entries: EntryReader,
  { zone = [], speaksFor = [], view, explain: isExplained = false, ...pins }: OfflineFlags,
): Omit<QueryResult, "source"> {
  const rules = rulesFor(entries, speaksFor.map(readGrant), readPins(pins));
  const names = ["clusterset.local", ...zone];
  const isNew = (name: string, at: number) =>
    names.findIndex((one) => canonicalZone(one) === canonicalZone(name)) === at;
  const world = openWorld(entries, rules, { zones: names.filter(isNew) });
  checkView(entries, view);
  const leases = new LeaseTables(() => Number.POSITIVE_INFINITY);
  const answered = resolve(message, {
    world,
    leases,
    now: 0,
    rotation: 0,
    view,
    outside: "refuse",
  })!;
  const answer = renderJsonAnswer(
    answered.bytes,
    `seen from ${view ?? "outside"}; without a gateway every cluster counts as live`,
  );
  if (!isExplained) return { answer, explanation: undefined };
  const { name, type } = answer.Question[0]!;
  const explanation = explain(
    { world, accounts: new Accounts(world), explainer: SERVICE_EXPLAINER, leaseOf: () => undefined },
    { name, type, view, isForwarded: false, status: answer.Status, records: answer.Answer ?? [] },
  );
  // Without a gateway there are no leases.
  const json = jsonExplanation(
    { ...explanation, leases: [] },
    answer,
    { cluster: view, isPrivate: false },
    0,
  );
  return { answer, explanation: json };
}
