import { describe, expect, it } from "vitest";
import { findingsKeyOf } from "../../../src/database/places.ts";
import { endpoints, exported, exporting, snapshot } from "../../merge/fixtures.ts";
import { openFeed } from "./open-feed.ts";

const pods = endpoints({ address: "10.0.0.1" });
const web = (clusterId: string) => exporting(clusterId, { endpoints: pods });
describe("a stream", () => {
  it("goes on with the lines that it has of a service that cannot be derived; a new one fails", () => {
    const { join, read, errors, failing, feed } = openFeed();
    join(web("a"), web("c"));
    const stream = feed.open("a", undefined);
    const before = ["import shop/web", "slice shop/web a", "slice shop/web c"];
    expect(read(stream)).toEqual(expect.arrayContaining(before));
    failing.add("c");
    join(snapshot("a", { exports: { "shop/db": exported() } }));
    expect(read(stream)).toEqual(["import shop/db", "export shop/db", "position"]);
    expect(errors.map(String)).toEqual(["Error: cannot derive c"]);
    expect(() => read()).toThrow("cannot derive c");
  });

  it("looks at one service in a step, also where it has nothing to send of it", () => {
    const { join, read, feed } = openFeed();
    const services = Array.from({ length: 20 }, (_, index) => `shop/web-${index}`);
    const all = () =>
      snapshot("a", { exports: Object.fromEntries(services.map((key) => [key, exported()])) });
    join(all());
    const stream = feed.open("a", undefined);
    read(stream);
    join(all());
    const steps = [...stream.read(1e9, () => false)];
    expect(steps.length).toBeGreaterThanOrEqual(services.length);
    expect(stream.isIdle).toBe(true);
  });

  it("has what another one derived of a service, until the service, or what it depends on, changes", () => {
    const { join, read, feed, derived } = openFeed();
    join(web("a"), web("b"), web("c"));
    read(feed.open("a", undefined));
    const first = derived.length;
    expect(first).toBeGreaterThan(0);
    read(feed.open("b", undefined));
    expect(derived.length).toBe(first);
    join(exporting("c", { endpoints: endpoints({ address: "10.0.0.2" }) }));
    expect(read(feed.open("b", undefined))).toContain("slice shop/web c");
    expect(derived.length).toBeGreaterThan(first);
  });

  it("keeps no name of an export that is not valid longer than lines of it", () => {
    const { join, read, feed } = openFeed();
    const invalid = (namespace: string, name: string) => {
      const finding = {
        kind: "ServiceExport",
        namespace,
        name,
        reason: "NoService",
        message: "none",
      } as const;
      return snapshot("a", { findings: { [`ServiceExport/${namespace}/${name}/NoService`]: finding } });
    };
    const names = ["1", "2", "3"];
    const rows = new Set(names.map((name) => `a ${findingsKeyOf(`elsewhere/${name}`)}`));
    for (const name of names) {
      join(invalid("elsewhere", name));
      expect([...rows].flatMap((row) => [...feed.keysOf("a", row)])).toEqual([`elsewhere/${name}`]);
    }
    join(invalid("shop", "web"));
    const stream = feed.open("a", undefined);
    expect(read(stream)).toContain("export shop/web");
    join(snapshot("a"));
    expect(read(stream)).toContain("export shop/web none");
  });
});
