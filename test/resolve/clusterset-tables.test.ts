import { describe, expect, it } from "vitest";
import { clustersetTable } from "../conformance/cases/clusterset.ts";
import { checkCompiled, compileTable } from "../conformance/compiled-table.ts";
import { titledRows } from "../conformance/dns-case.ts";
import { exporting, port } from "../merge/fixtures.ts";
import { ask, compileWorld } from "./ask.ts";
import { twoClusters } from "./world.ts";

const Z = "clusterset.local";
const web = `web.shop.svc.${Z}`;
const options = { zones: [`${Z}.`, "clusterset.test."], serial: 7 };
const world = compileTable(clustersetTable);

describe(clustersetTable.title, () => {
  it.each(titledRows(clustersetTable))("%s", (_, entry) => {
    checkCompiled(clustersetTable, world, entry);
  });

  it("RFC 2782: a service that nobody has an address for has names, but no SRV records", () => {
    const bare = compileWorld([exporting("east", { ports: [port("https", 443)] })], options);
    for (const [name, type] of [
      [web, "A"],
      [web, "SRV"],
      [`_https._tcp.${web}`, "SRV"],
    ] as const)
      expect(ask(bare, name, type)).toMatchObject({
        rcode: "NOERROR",
        answer: [],
        authority: [clustersetTable.soa],
      });
  });

  it("RFC 1794: records rotate, so that each comes first", () => {
    const firsts = [0, 1, 2, 3].map(
      (rotation) => ask({ ...world, rotation }, `db.shop.svc.${Z}`, "A").answer[0],
    );
    expect(new Set(firsts).size).toBe(4);
  });

  it("gives the name server's addresses where there are any (RFC 1034 4.2.1)", () => {
    const served = compileWorld(twoClusters(), {
      ...options,
      nameServerAddresses: ["192.0.2.53", "2001:db8::53"],
    });
    expect(ask(served, Z, "NS").additional).toEqual([
      `ns.dns.${Z} 5 A 192.0.2.53`,
      `ns.dns.${Z} 5 AAAA 2001:db8::53`,
    ]);
    expect(ask(served, `ns.dns.${Z}`, "A").answer).toEqual([`ns.dns.${Z} 5 A 192.0.2.53`]);
  });
});
