import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SnapshotAssembler } from "../../../src/extract/extract.ts";
import { PushClient } from "../../../src/worker/push-client.ts";
import { change } from "../../extract/any-objects.ts";
import { namespace, service, serviceExport } from "../../extract/objects.ts";
import { until } from "../../until.ts";
import { GatewayDouble, type RequestError } from "../gateway-double.ts";
import { KeptLogs } from "../logs.ts";

const gateway = new GatewayDouble();
beforeAll(async () => void (await gateway.start()));
afterAll(() => gateway.stop());

const clusterZone = { name: "cluster.local", pods: "verified" } as const;
const PLACES = ["x/a", "x/b", "x/c", "y/a", "y/b", "y/c"];

/** What the gateway does with the next request; "forget" makes it lose the cluster: 409. */
const outcome = fc.constantFrom<RequestError | "forget" | "take">(
  "take",
  "take",
  "drop",
  "drop after taking it",
  "forget",
  { status: 503 },
  { status: 503 },
  { status: 409, code: "GENERATION_MISMATCH" },
  { status: 422 },
);
/** Changes, and whether the client may work before the next ones. */
const step = fc.record({
  changes: fc.array(change, { maxLength: 4, size: "max" }),
  turns: fc.nat({ max: 60 }),
});

test("the gateway ends with the worker's state, after any changes, acknowledgements, failures and lost generations", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 25, size: "max" }),
      fc.array(outcome, { maxLength: 25, size: "max" }),
      async (steps, outcomes) => {
        gateway.held.clear();
        // Most failures are those of deltas.
        const left: (typeof outcomes)[number][] = ["take", ...outcomes];
        gateway.error = () => {
          const next = left.shift();
          if (next === "forget") gateway.held.clear();
          return next === "take" || next === "forget" ? undefined : next;
        };
        const assembler = new SnapshotAssembler({ clusterId: "east", clusterZone });
        const spaces = ["x", "y"].map((name) => namespace(name));
        const exported = PLACES.flatMap((name) => [service(name), serviceExport(name)]);
        for (const object of [...spaces, ...exported]) assembler.upsert(object);
        const soon = { first: 1, most: 2 };
        const client = new PushClient({
          gateway: gateway.url,
          token: "secret",
          leaseSeconds: 60,
          logger: new KeptLogs(),
          isCurrent: () => true,
          backoff: soon,
          slowBackoff: soon,
          budget: { perSecond: 10_000, burst: 1000 },
        });
        const refresh = () => {
          assembler.refresh();
          return true;
        };
        const stop = new AbortController();
        const running = client.run({ state: assembler.state, refresh }, stop.signal);
        for (const { changes, turns } of steps) {
          for (const { object, verb } of changes) {
            assembler[verb](object);
            client.changed();
          }
          for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
        }
        try {
          await until(() => expect(gateway.held.get("east")?.snapshot).toEqual(assembler.snapshot()));
        } finally {
          stop.abort();
          await running;
          await client.close();
        }
      },
    ),
    { numRuns: 60 },
  );
});
