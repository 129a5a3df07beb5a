import fc from "fast-check";
import { expect, test } from "vitest";
import { SnapshotAssembler } from "../../../src/extract/assembler.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { UnsentChanges } from "../../../src/worker/push-client.ts";
import { change } from "../../extract/any-objects.ts";
import { namespace, ofService, service, serviceExport, slice } from "../../extract/objects.ts";
import { diffSnapshots } from "../../snapshot/diff-snapshots.ts";

const options = {
  clusterId: "east",
  clusterZone: { name: "cluster.local", pods: "verified" },
} as const;

/** Keeps what changed since the last acknowledgement, as a client does. */
function follow(assembler: SnapshotAssembler) {
  let unsent = new UnsentChanges();
  assembler.state.follow((...change) => unsent.follow(...change));
  return {
    patch: () => {
      assembler.refresh();
      return unsent.toPatch(assembler.state);
    },
    /** Sends what changed; returns what happens when that fails. */
    send: () => {
      const sent = unsent;
      unsent = new UnsentChanges();
      return () => {
        sent.add(unsent);
        unsent = sent;
      };
    },
    isEmpty: () => unsent.isEmpty,
  };
}

const event = fc.oneof(
  { weight: 4, arbitrary: change },
  { weight: 1, arbitrary: fc.constantFrom("send", "fail", "acknowledge", "look" as const) },
);

test("the patch is that of a comparison of the two whole snapshots, after any events, acknowledgements and failures", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const assembler = new SnapshotAssembler(options);
      for (const name of ["x", "y"]) assembler.upsert(namespace(name));
      const unsent = follow(assembler);
      let held: ClusterSnapshot = assembler.snapshot();
      let pushing: { readonly snapshot: ClusterSnapshot; readonly fail: () => void } | undefined;
      for (const one of [...events, "fail", "look"] as const) {
        if (typeof one === "object") assembler[one.verb](one.object);
        else if (one === "send" && pushing === undefined) {
          unsent.patch();
          pushing = { snapshot: assembler.snapshot(), fail: unsent.send() };
        } else if (one === "fail" || one === "acknowledge") {
          if (one === "fail") pushing?.fail();
          else held = pushing?.snapshot ?? held;
          pushing = undefined;
        } else if (pushing === undefined)
          expect(unsent.patch()).toEqual(diffSnapshots(held, assembler.snapshot()));
      }
    }),
    { numRuns: 1000 },
  );
});

test("changes that take each other back leave nothing to send, and nothing in the memory", () => {
  const assembler = new SnapshotAssembler(options);
  for (const object of [namespace("x"), service("x/a"), serviceExport("x/a")]) assembler.upsert(object);
  assembler.refresh();
  const unsent = follow(assembler);
  const web = slice("x/s", ofService("a"), [{ addresses: ["10.0.0.1"] }]);
  assembler.upsert(web);
  assembler.upsert(namespace("y"));
  expect(Object.keys(unsent.patch()!)).toEqual(["namespaces", "exports"]);
  assembler.delete(web);
  assembler.delete(namespace("y"));
  expect([unsent.patch(), unsent.isEmpty()]).toEqual([undefined, true]);
});

test("an event of one service touches only its entries, whatever else there is", () => {
  const assembler = new SnapshotAssembler({ clusterId: "east" });
  assembler.upsert(namespace("x"));
  for (let index = 0; index < 100; index++) {
    assembler.upsert(service(`x/s${index}`));
    assembler.upsert(serviceExport(`x/s${index}`));
  }
  assembler.refresh();
  const touched: string[] = [];
  assembler.state.follow((part, key) => touched.push(`${part} ${key}`));
  assembler.upsert(slice("x/s7-1", ofService("s7"), [{ addresses: ["10.0.0.1"] }]));
  assembler.upsert(service("x/s8", { ports: [{ port: 81 }] }));
  assembler.refresh();
  assembler.refresh();
  expect(touched).toEqual(["exports x/s7", "exports x/s8"]);
});
