import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { derivedServiceName, SOURCE_CLUSTER } from "../../../src/worker/control/objects.ts";
import { DEADLINE } from "../../deadline.ts";
import { exported } from "../commands/exported.ts";
import { eventually } from "../harness/answers.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import { ApiError } from "../servers/kubernetes/api-client.ts";
import {
  endpointSlice,
  namespace,
  pathOf,
  service,
  serviceExport,
  serviceImport,
} from "../servers/kubernetes/objects.ts";
import { expectOnlyOwnAndNeededWrites, writesTo } from "./audited.ts";
import { lookAt, type Objects } from "./objects.ts";

/** Which sequence: `CONTROL_SEED=7 CONTROL_STEPS=400` runs another one, and longer. */
const SEED = Number(process.env.CONTROL_SEED ?? 4585);
const STEPS = Number(process.env.CONTROL_STEPS ?? 50);
/**
 * Before each so many steps the test waits for the desired state, so that the next ones change objects that
 * are there.
 */
const STEPS_AT_ONCE = 10;

const IDS = ["east", "west"] as const;
type Id = (typeof IDS)[number];
const NAMES = ["one", "two", "three", "four"] as const;

const step = fc.record({
  id: fc.constantFrom(...IDS),
  name: fc.constantFrom(...NAMES),
  /** Of an export. */
  headless: fc.boolean(),
  port: fc.constantFrom(80, 81),
  affinity: fc.constantFrom("None", "ClientIP"),
  host: fc.integer({ min: 1, max: 3 }),
  do: fc.oneof(
    { weight: 8, arbitrary: fc.constant("export") },
    { weight: 3, arbitrary: fc.constant("unexport") },
    { weight: 2, arbitrary: fc.constantFrom("lose import", "lose derived", "lose slices") },
    { weight: 2, arbitrary: fc.constantFrom("alter import", "alter slices", "add to derived") },
    { weight: 2, arbitrary: fc.constantFrom("block", "unblock") },
    { weight: 1, arbitrary: fc.constantFrom("restart worker", "restart API server", "kill gateway") },
  ),
});
type Step = ReturnType<typeof step.generate>["value"];

let clusters: SyncedClusters<Id>;
let objects: Record<Id, Objects>;

beforeAll(async () => {
  clusters = await startSyncedClusters(
    IDS,
    (servers) => Promise.all(IDS.map((id) => servers[id].admin.apply(namespace("shop")))),
    { control: true },
  );
  objects = Object.fromEntries(IDS.map((id) => [id, lookAt(clusters.servers[id], "shop")])) as Record<
    Id,
    Objects
  >;
});

afterAll(() => clusters?.stop());

/** Somebody else's Service with the name that a derived one needs. */
const blocking = (name: string) =>
  service("shop", derivedServiceName(name), {
    selector: { app: "x" },
    ports: [{ name: "own", port: 99, protocol: "TCP" }],
  });

async function take(one: Step): Promise<void> {
  const { id, name } = one;
  const { admin } = clusters.servers[id];
  const isLost = (error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  };
  switch (one.do) {
    case "export": {
      // Whether a Service is headless cannot be changed.
      const held = await admin.get(service("shop", name, {})).catch(isLost);
      const isHeadless = (held?.spec as { clusterIP?: string } | undefined)?.clusterIP === "None";
      if (held !== undefined && isHeadless !== one.headless) await admin.remove(service("shop", name, {}));
      const address = `10.${id === "east" ? 1 : 2}.0.${one.host}`;
      return void (await admin.apply(
        ...exported("shop", name, {
          headless: one.headless,
          port: { name: "http", port: one.port, targetPort: 8080 },
          spec: { sessionAffinity: one.affinity },
          endpoints: [{ address, hostname: "pod" }],
        }),
      ));
    }
    case "unexport":
      return admin.remove(serviceExport("shop", name));
    case "lose import":
      return actOnOurs(await objects[id].import(name), (held) => admin.remove(held as never));
    case "lose derived":
      return actOnOurs(await objects[id].derived(name), (held) => admin.remove(held as never));
    case "lose slices":
      for (const slice of await objects[id].slices(name)) await admin.remove(withKind(slice));
      return;
    case "alter import":
      return void (await admin.patch(serviceImport("shop", name, {}), { spec: { ports: [] } }).catch(isLost));
    case "alter slices":
      for (const slice of await objects[id].slices(name))
        await admin.patch(withKind(slice), { endpoints: [{ addresses: ["10.66.6.6"] }] }).catch(isLost);
      return;
    case "add to derived":
      return actOnOurs(await objects[id].derived(name), async () => {
        const path = pathOf(service("shop", derivedServiceName(name), {}));
        const add = { op: "add", path: "/spec/ports/-", value: { name: "added", port: 99 } };
        await admin.api("PATCH", path, [add], "application/json-patch+json").catch((error: unknown) => {
          // The worker has removed the Service meanwhile, or has not taken an added port back yet.
          if (!(error instanceof ApiError && [404, 422].includes(error.status))) throw error;
        });
      });
    case "block":
      // Created, not applied: the worker may have made its own.
      return void (await admin
        .api("POST", "/api/v1/namespaces/shop/services", blocking(name))
        .catch((error: unknown) => {
          if (!(error instanceof ApiError && error.status === 409)) throw error;
        }));
    case "unblock":
      return isBlocked(id, name).then((is) => (is ? admin.remove(blocking(name)) : undefined));
    case "restart worker":
      if (one.headless) await clusters.workers[id].kill();
      return clusters.workers[id].restart();
    case "restart API server":
      return clusters.servers[id].restart();
    case "kill gateway":
      await clusters.gateway.kill();
      for (const entry of one.headless ? readdirSync(clusters.gateway.stateDir) : [])
        if (entry !== "tls") rmSync(join(clusters.gateway.stateDir, entry), { recursive: true });
      return clusters.gateway.restart();
  }
}

const withKind = ({ metadata }: ManagedObject) =>
  endpointSlice(metadata.namespace, metadata.name, { endpoints: [] });

async function actOnOurs(held: ManagedObject | undefined, act: (held: ManagedObject) => Promise<unknown>) {
  if (held?.metadata.labels?.["app.kubernetes.io/managed-by"] === "clusterset-doh") await act(held);
}

async function isBlocked(id: Id, name: string): Promise<boolean> {
  const held = await objects[id].derived(name);
  return held !== undefined && held.metadata.labels?.["app.kubernetes.io/managed-by"] !== "clusterset-doh";
}

interface Declared {
  readonly id: Id;
  readonly since: string;
  readonly headless: boolean;
  readonly port: number;
  readonly affinity: string;
  readonly address: string;
}

/** What the clusters export now, the oldest first; of one second, by cluster id. */
async function declaredOf(name: string): Promise<Declared[]> {
  const all = await Promise.all(
    IDS.map(async (id): Promise<Declared[]> => {
      const { admin } = clusters.servers[id];
      const held = await Promise.all(
        [
          serviceExport("shop", name),
          service("shop", name, {}),
          endpointSlice("shop", `${name}-ipv4`, { endpoints: [] }),
        ].map((object) => admin.get(object).catch(() => undefined)),
      );
      const [exports, own, slice] = held;
      if (exports === undefined || own === undefined || slice === undefined) return [];
      const { clusterIP, ports, sessionAffinity } = own.spec as {
        clusterIP: string;
        ports: { port: number }[];
        sessionAffinity: string;
      };
      const { endpoints } = slice as unknown as { endpoints: { addresses: string[] }[] };
      return [
        {
          id,
          since: exports.metadata.creationTimestamp as string,
          headless: clusterIP === "None",
          port: ports[0]!.port,
          affinity: sessionAffinity,
          address: endpoints[0]!.addresses[0]!,
        },
      ];
    }),
  );
  return all.flat().sort((one, two) => (`${one.since} ${one.id}` < `${two.since} ${two.id}` ? -1 : 1));
}

/** What a cluster should have of a service, from what all clusters export: a model of its own. */
async function wanted(id: Id, name: string): Promise<unknown> {
  const declared = await declaredOf(name);
  const [oldest] = declared;
  if (oldest === undefined)
    return { import: undefined, derived: undefined, endpoints: [], conflict: undefined };
  const isStopped = !oldest.headless && (await isBlocked(id, name));
  const isConflict = declared.some(
    ({ headless, port, affinity }) =>
      headless !== oldest.headless || port !== oldest.port || affinity !== oldest.affinity,
  );
  return {
    import: {
      type: oldest.headless ? "Headless" : "ClusterSetIP",
      port: oldest.port,
      affinity: oldest.affinity,
      hasAddresses: !oldest.headless && !isStopped,
      clusters: declared.map((one) => one.id),
    },
    derived: oldest.headless || isStopped ? undefined : [oldest.port],
    endpoints: isStopped ? [] : declared.map((one) => `${one.id} ${one.address} pod`).sort(),
    conflict: declared.some((one) => one.id === id)
      ? String(isConflict).replace(/^./, (letter) => letter.toUpperCase())
      : undefined,
  };
}

/** What it has. */
async function actual(id: Id, name: string): Promise<unknown> {
  const held = await objects[id].import(name);
  const derived = (await isBlocked(id, name)) ? undefined : await objects[id].derived(name);
  const slices = await objects[id].slices(name);
  const conflict = (await objects[id].condition(name, "Conflict"))?.status;
  const spec = held?.spec as
    | { type: string; ips?: string[]; ports: { port: number }[]; sessionAffinity?: string }
    | undefined;
  const status = held?.status as { clusters?: { cluster: string }[] } | undefined;
  return {
    import: spec && {
      type: spec.type,
      port: spec.ports[0]?.port,
      hasAddresses: (spec.ips ?? []).length > 0,
      affinity: spec.sessionAffinity ?? "None",
      clusters: status?.clusters?.map(({ cluster }) => cluster),
    },
    derived: (derived?.spec as { ports: { port: number }[] } | undefined)?.ports.map(({ port }) => port),
    endpoints: slices
      .flatMap(({ metadata, endpoints }) =>
        (endpoints as { addresses: string[]; hostname?: string }[]).map(
          ({ addresses, hostname }) => `${metadata.labels![SOURCE_CLUSTER]} ${addresses[0]} ${hostname}`,
        ),
      )
      .sort(),
    conflict,
  };
}

/** Waits until each cluster has what it should have of each service. */
async function settle(): Promise<void> {
  const expected = await whole(wanted);
  await eventually(() => whole(actual)).toEqual(expected);
}

async function whole(of: (id: Id, name: string) => Promise<unknown>): Promise<unknown> {
  const entries = IDS.flatMap((id) => NAMES.map(async (name) => [`${id} ${name}`, await of(id, name)]));
  return Object.fromEntries(await Promise.all(entries));
}

test(
  `any sequence of changes, losses, restarts and crashes ends in the desired state, and then nothing is written (seed ${SEED})`,
  async () => {
    const steps = fc.sample(step, { numRuns: STEPS, seed: SEED });
    for (const [index, one] of steps.entries()) {
      if (index % STEPS_AT_ONCE === 0) await settle();
      await take(one);
    }
    expect(new Set(steps.map((one) => one.do)).size).toBeGreaterThan(8);
    await settle();
    // Whatever the steps were, one import goes, and what was to be written before that has been written.
    await clusters.servers.east.admin.apply(
      ...exported("shop", "marker-before", { endpoints: ["10.1.9.8"] }),
    );
    for (const id of IDS) await eventually(() => objects[id].endpoints("marker-before")).toHaveLength(1);
    await clusters.servers.east.admin.remove(serviceExport("shop", "marker-before"));
    for (const id of IDS) await eventually(() => objects[id].import("marker-before")).toBeUndefined();
    const kinds = () =>
      IDS.flatMap((id) => clusters.servers[id].writes()).map(
        ({ verb, resource, code }) => `${verb} ${resource} ${code}`,
      );
    for (const resource of ["services", "serviceimports", "endpointslices"])
      await eventually(kinds).toEqual(
        expect.arrayContaining([`patch ${resource} 201`, `patch ${resource} 200`, `delete ${resource} 200`]),
      );
    const settled = Date.now();
    await Promise.all(IDS.map((id) => clusters.workers[id].restart()));
    await clusters.servers.east.admin.apply(...exported("shop", "marker", { endpoints: ["10.1.9.9"] }));
    for (const id of IDS) await eventually(() => objects[id].endpoints("marker")).toEqual(["east 10.1.9.9"]);
    for (const id of IDS) {
      const written = writesTo(clusters.servers[id], settled).filter((write) => !write.includes("marker"));
      expect(written).toEqual([]);
      expectOnlyOwnAndNeededWrites(clusters.servers[id]);
    }
  },
  (STEPS / STEPS_AT_ONCE + 4) * DEADLINE,
);
