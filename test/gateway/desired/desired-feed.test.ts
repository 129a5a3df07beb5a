import { describe, expect, it } from "vitest";
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
});
