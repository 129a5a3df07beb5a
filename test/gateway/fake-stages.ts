import type { ScopedGateway } from "../../src/gateway/doh-gateway.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../src/gateway/gateway-events.ts";
import type { GatewayLimits } from "../../src/gateway/pushing/limits.ts";
import type { GatewayStages, ScopeCompiler, ServedGeneration } from "../../src/gateway/stages.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import type { Answer } from "../../src/resolve/answer.ts";
import type { Leases } from "../../src/resolve/leases.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import type { SnapshotStore } from "../../src/store/store.ts";
import type { ZoneSource } from "../../src/zone/zone-source.ts";
import { FakeClock } from "./fake-clock.ts";

/** A generation whose content is readable: `<cluster>:<region>` of each live cluster. */
export interface TextGeneration extends ServedGeneration {
  readonly text: string;
  readonly leaseGroups: readonly (readonly string[])[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function answerOf(text: string): Answer {
  return { bytes: encoder.encode(text), outcome: text === "SERVFAIL" ? "servfail" : "answer", freshness: 0 };
}

/** Stages that count their runs, can be made to fail, and take time on the clock. */
export class FakeStages implements GatewayStages<TextGeneration> {
  /** What was compiled. */
  readonly compiled: ZoneSource["clusters"][] = [];
  fails: Error | undefined;
  /** What fails, as long as something does. */
  failing: (clusters: ZoneSource["clusters"]) => boolean = () => true;
  takes = 0;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  createCompiler(): ScopeCompiler<TextGeneration> {
    const compile = (clusters: ZoneSource["clusters"]) => this.#compile(clusters);
    return {
      // biome-ignore lint/correctness/useYield: it is done in one step
      *compile({ clusters }) {
        return compile(clusters);
      },
    };
  }

  #compile(clusters: ZoneSource["clusters"]) {
    this.compiled.push(clusters);
    this.#clock.stall(this.takes);
    if (this.fails !== undefined && this.failing(clusters)) throw this.fails;
    const text = clusters.map(({ clusterId, region }) => `${clusterId}:${region ?? "-"}`).join(" ");
    const generation: TextGeneration = {
      text,
      rootHash: text,
      byteLength: text.length,
      leaseGroups: [[], ...clusters.map(({ clusterId }) => [clusterId])],
    };
    return { generation, findings: [] };
  }

  resolve(
    _query: Uint8Array,
    { generation, leases, stale }: { generation: TextGeneration; leases: Leases; stale: boolean },
  ): Answer {
    return answerOf(
      `${generation.text}${stale ? " stale" : ""} | ${[...leases.of(generation)].slice(1).join(" ")}`,
    );
  }

  notReady(): Answer {
    return answerOf("SERVFAIL");
  }
}

/** A gateway with everything around it in the test's hands. */
export async function openGateway(
  given: {
    store?: SnapshotStore;
    clock?: FakeClock;
    limits?: Partial<GatewayLimits>;
    scopes?: readonly Visibility[];
  } = {},
) {
  const { store = createMemoryStore(), clock = new FakeClock(), limits = {}, scopes = [] } = given;
  const stages = new FakeStages(clock);
  const events: GatewayEvent[] = [];
  const open = () =>
    Gateway.open({ store, stages, clock, limits, scopes, onEvent: (event) => void events.push(event) });
  const gateway = await open();
  /** What is served, without the lease times. */
  const served = (of: ScopedGateway<TextGeneration> = gateway) => {
    const answer = of.answer(new Uint8Array(), undefined, clock.now());
    return decoder.decode(answer?.bytes).split(" | ")[0];
  };
  const leases = () => {
    const answer = gateway.answer(new Uint8Array(), undefined, clock.now());
    return decoder.decode(answer?.bytes).split(" | ")[1]?.split(" ").map(Number);
  };
  /** Waits for a push, letting the timers that are due now run. */
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    promise.catch(() => {});
    await clock.advance(0);
    return promise;
  };
  return { gateway, store, clock, stages, events, open, served, leases, done };
}

/** A snapshot that the fake stages tell from others by `region`. */
export function regional(clusterId: string, region: string): ClusterSnapshot {
  return {
    formatVersion: 1,
    clusterId,
    topology: { region },
    namespaces: {},
    exports: {},
    imports: {},
    services: {},
    pods: {},
    findings: {},
  };
}
