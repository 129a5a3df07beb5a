import type { Gateway } from "../../src/gateway/gateway.ts";
import type {
  Acknowledgement,
  GatewayEvent,
  QueryStages,
  ScopedGateway,
  Sender,
} from "../../src/gateway/gateway-types.ts";
import type { RequestedTerms } from "../../src/gateway/leases.ts";
import type { GatewayLimits } from "../../src/gateway/limits.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import type { KeyWorld } from "../../src/names/key-world.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { patchLines, wholeLines } from "../database/pushing.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { FakeClock } from "./fake-clock.ts";
import { answerNow, memoryDatabase, openKeyed } from "./open-keyed.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function answerOf(text: string): Answer {
  return { bytes: encoder.encode(text), outcome: text === "SERVFAIL" ? "servfail" : "answer", freshness: 0 };
}

/**
 * Answers that can be read: `<cluster>:<region>` of each live cluster, `stale`, and when each lease expires.
 */
const TEXT_QUERIES: QueryStages = {
  resolve(_, { world, leases, stale }) {
    const clusters = (world as KeyWorld).entries.clusters();
    const text = clusters.map(({ clusterId, region }) => `${clusterId}:${region ?? "-"}`).join(" ");
    const expiry = leases.of({ leaseGroups: [[], ...clusters.map(({ clusterId }) => [clusterId])] });
    return answerOf(`${text}${stale ? " stale" : ""} | ${[...expiry].slice(1).join(" ")}`);
  },
  notReady: () => answerOf("SERVFAIL"),
};

/**
 * A gateway with everything around it in the test's hands. `open` opens another one over the same database.
 */
export function openGateway(
  given: {
    database?: ReturnType<typeof memoryDatabase>;
    clock?: FakeClock;
    limits?: Partial<GatewayLimits>;
    scopes?: readonly Visibility[];
  } = {},
) {
  const { database = memoryDatabase(), clock = new FakeClock(), limits = {}, scopes = [] } = given;
  // Turns pass by themselves, time does not.
  clock.nextTurn = (run) => void setImmediate(run);
  const events: GatewayEvent[] = [];
  const onEvent = (event: GatewayEvent) => void events.push(event);
  const open = () => openKeyed({ database, clock, limits, scopes, onEvent, queries: TEXT_QUERIES });
  const gateway = open();
  const textOf = (of: ScopedGateway) =>
    decoder.decode(answerNow(of, new Uint8Array(), undefined, clock.now()).bytes).split(" | ");
  /** What is served, without the lease times. */
  const served = (of: ScopedGateway = gateway.everything) => textOf(of)[0];
  const leases = () => textOf(gateway.everything)[1]?.split(" ").map(Number);
  return { gateway, database, clock, events, open, served, leases };
}

/** Pushes a snapshot line by line, as a PUT does. */
export async function putSnapshot(
  gateway: Pick<Gateway, "stage" | "push">,
  snapshot: ClusterSnapshot,
  terms?: RequestedTerms,
  sender?: Sender,
): Promise<Acknowledgement> {
  const stage = gateway.stage(snapshot.clusterId, "whole");
  for (const line of wholeLines(snapshot)) stage.apply(line);
  return (await gateway.push(stage.finish(), terms, sender)).acknowledgement;
}

/** Pushes a delta line by line, as a PATCH does. */
export async function patchCluster(
  gateway: Pick<Gateway, "stage" | "push">,
  clusterId: string,
  base: number,
  patch: SnapshotPatch,
  terms?: RequestedTerms,
): Promise<Acknowledgement> {
  const stage = gateway.stage(clusterId, "changes", base);
  for (const line of patchLines(clusterId, patch)) stage.apply(line);
  return (await gateway.push(stage.finish(), terms, {}, base)).acknowledgement;
}

/** A snapshot that is told from others by `region`. */
export function regional(clusterId: string, region: string): ClusterSnapshot {
  return { ...emptySnapshot(clusterId), topology: { region } };
}
