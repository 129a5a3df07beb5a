import { decode } from "dns-packet";
import { usableAddress } from "../../../src/dns/address.ts";
import { formatReverseName } from "../../../src/dns/reverse.ts";
import { Gateway, type GatewayDependencies } from "../../../src/gateway/gateway.ts";
import type { ServedGeneration } from "../../../src/gateway/stages.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { createMemoryRememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { encodeQuery } from "../../resolve/ask.ts";
import { diffSnapshots } from "../../snapshot/diff-snapshots.ts";
import { FakeClock } from "../fake-clock.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";
import { realStages } from "../real-stages.ts";

export const BEGAN = Date.parse("2026-06-01T00:00:00Z");
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** More than one turn has. */
const STEPS_OF_TURN = 300;

/** How a service has its addresses. */
export type AddressKind = "headless" | "clusterset IP";

/** What clusters report: by service, the creation time of the export and its addresses. */
export interface ReportedServices {
  readonly [service: string]: { readonly since: string; readonly has: readonly string[] };
}

/** A cluster that exports services of the namespace `shop` with these addresses. */
export function reporting(clusterId: string, kind: AddressKind, services: ReportedServices): ClusterSnapshot {
  const headless = kind === "headless";
  const exports = Object.entries(services).map(([name, { since, has }]) => {
    const members = headless ? endpoints(...has.map((address) => ({ address }))) : {};
    return [`shop/${name}`, exported({ exportedAt: since, headless, endpoints: members })];
  });
  const imports = Object.entries(services).map(([name, { has }]) => [
    `shop/${name}`,
    imported({ ips: [...has] }),
  ]);
  return snapshot(clusterId, {
    exports: Object.fromEntries(exports),
    imports: headless ? {} : Object.fromEntries(imports),
  });
}

/** What a gateway finds again after a restart. */
export type Stores = Pick<GatewayDependencies<ServedGeneration>, "store" | "remembered">;

function inMemory(): () => Promise<Stores> {
  const stores = { store: createMemoryStore(), remembered: createMemoryRememberedStore() };
  return async () => stores;
}

/** A gateway on a clock of its own that can be restarted. */
export async function openReverseWorld(
  stores: () => Promise<Stores> = inMemory(),
  scopes: readonly Visibility[] = [],
) {
  const clock = new FakeClock(BEGAN);
  let between: (() => void) | undefined;
  const { createCompiler, ...stages } = realStages();
  const interruptible = {
    ...stages,
    createCompiler: () => {
      const compiler = createCompiler("");
      return {
        *compile(...given: Parameters<typeof compiler.compile>) {
          const interrupt = between;
          between = undefined;
          const compiled = yield* compiler.compile(...given);
          if (interrupt !== undefined) {
            interrupt();
            for (let step = 0; step < STEPS_OF_TURN; step++) yield;
          }
          return compiled;
        },
      };
    },
  };
  const open = async () => {
    const opened = await stores();
    return Gateway.open({
      ...opened,
      clock,
      stages: interruptible,
      scopes,
      limits: { lease: { minimumSeconds: 1, defaultSeconds: 60, maximumSeconds: 100 * DAY } },
      onEvent: (event) => {
        if (event.event === "compile-failed") throw event.error;
      },
    });
  };
  let gateway = await open();
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let isDone = false;
    promise.then(
      () => (isDone = true),
      () => (isDone = true),
    );
    while (!isDone) {
      await clock.advance(0);
      // Files take turns of the event loop.
      await new Promise((turn) => setImmediate(turn));
    }
    return promise;
  };
  const held = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
  const put = async (one: ClusterSnapshot, lease = 90 * DAY) => {
    const { generation } = await done(putSnapshot(gateway, one, { leaseSeconds: lease / 1000 }));
    held.set(one.clusterId, { snapshot: one, generation });
  };
  return {
    clock,
    put,
    /** A delta that makes the snapshot what is reported. */
    patch: async (one: ClusterSnapshot, lease = 90 * DAY) => {
      const { snapshot: before, generation: base } = held.get(one.clusterId)!;
      const delta = diffSnapshots(before, one);
      if (delta === undefined) return;
      const { generation } = await done(
        patchCluster(gateway, one.clusterId, base, delta, { leaseSeconds: lease / 1000 }),
      );
      held.set(one.clusterId, { snapshot: one, generation });
    },
    /** When the lease of a live cluster expires, in Unix milliseconds. */
    leaseOf: (clusterId: string) =>
      gateway.status().clusters.find((one) => one.clusterId === clusterId)!.expiresAt,
    leave: (clusterId: string) => done(gateway.leave(clusterId)),
    /** Calls a function, and ends its turn, once everything is compiled the next time and is not handed over yet. */
    interrupt: (run: () => void) => {
      between = run;
    },
    restart: async () => {
      await gateway.close();
      gateway = await open();
    },
    /** The service, and for an endpoint the cluster, that the reverse name of an address leads to. */
    owner: (address: string, view?: string, scope?: Visibility) => {
      const query = encodeQuery(formatReverseName(usableAddress(address)!), "PTR");
      const within = scope === undefined ? gateway : gateway.within(scope);
      const { answers = [] } = decode(Buffer.from(within.answer(query, view, clock.now())!.bytes));
      const [record] = answers;
      return record?.type === "PTR"
        ? record.data.replace(/^[0-9a-f-]+-[0-9a-f]+\./, "").replace(".shop.svc.clusterset.local", "")
        : undefined;
    },
    /** Who is said to have come later. */
    losers: () =>
      gateway
        .status()
        .findings.filter(({ reason }) => reason === "ReverseNameTaken")
        .map(({ clusterId, namespace, name, message }) => `${clusterId} ${namespace}/${name}: ${message}`),
  };
}

export type ReverseWorld = Awaited<ReturnType<typeof openReverseWorld>>;
