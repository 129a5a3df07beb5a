import fc from "fast-check";
import { expect, it } from "vitest";
import { Exporters } from "../../../src/gateway/desired/exporters.ts";

const CLUSTERS = ["a", "b", "c"];
const NAMESPACES = ["shop", "bank", "farm"];

it("finds the exporters of a cluster's namespaces, whatever changed in whatever order", () => {
  const change = fc.record({
    namespace: fc.constantFrom(...NAMESPACES),
    name: fc.constantFrom("web", "db"),
    exporters: fc.subarray(CLUSTERS),
  });
  fc.assert(
    fc.property(fc.array(change), fc.subarray(NAMESPACES), (changes, namespaces) => {
      const exporters = new Exporters();
      const now = new Map<string, { namespace: string; exporters: readonly string[] }>();
      for (const { namespace, name, exporters: after } of changes) {
        const key = `${namespace}/${name}`;
        exporters.change(namespace, now.get(key)?.exporters ?? [], after);
        now.set(key, { namespace, exporters: after });
      }
      const expected = [...now.values()].flatMap((one) =>
        namespaces.includes(one.namespace) ? one.exporters : [],
      );
      expect([...exporters.within(new Set(namespaces))].sort()).toEqual([...new Set(expected)].sort());
    }),
  );
});

it("asks about one namespace of each exporter, not about each service", () => {
  const exporters = new Exporters();
  for (let service = 0; service < 10_000; service++) exporters.change("shop", [], ["a", "b"]);
  let questions = 0;
  const namespaces = {
    has: () => {
      questions++;
      return true;
    },
  };
  expect([...exporters.within(namespaces)]).toEqual(["a", "b"]);
  expect(questions).toBe(2);
});
