import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { alias, clusterLocalTable, east, local, services } from "../../conformance/cases/cluster-local.ts";
import { checkCompiled, compileTable } from "../../conformance/compiled-table.ts";
import { titledRows } from "../../conformance/dns-case.ts";
import { endpoints } from "../../merge/fixtures.ts";
import { ask, compileWorld } from "../ask.ts";

const Z = "cluster.local";
const kubernetes = `kubernetes.default.svc.${Z}`;
const world = compileTable(clusterLocalTable);

describe(clusterLocalTable.title, () => {
  it.each(titledRows(clusterLocalTable))("%s", (_, entry) => {
    checkCompiled(clusterLocalTable, world, entry);
  });

  it("does not exist for an unknown cluster", () => {
    expect(ask({ ...world, view: "nobody" }, kubernetes, "A")).toMatchObject({
      rcode: "REFUSED",
      answer: [],
    });
  });

  it("has the reverse names in its own view (multicluster specification 2.3.3, Limitations)", () => {
    const exported = { ...east, services: { "shop/web": local({ clusterIPs: ["10.200.0.1"] }) } };
    const context = compileWorld([exported]);
    const name = "1.0.200.10.in-addr.arpa";
    expect(ask({ ...context, view: "east" }, name, "PTR").answer).toEqual([
      `${name} 5 PTR web.shop.svc.${Z}`,
    ]);
    expect(ask(context, name, "PTR").answer).toEqual([`${name} 5 PTR web.shop.svc.clusterset.local`]);
  });

  it("2.3.3: a cluster IP's PTR record is its Service's, even if an older headless one names the address", () => {
    const grabbed = {
      ...east,
      services: {
        "default/kubernetes": local({ createdAt: "2026-02-01T00:00:00Z", clusterIPs: ["10.3.0.1"] }),
        "default/grabber": local({ headless: true, endpoints: endpoints({ address: "10.3.0.1" }) }),
      },
    };
    const context = compileWorld([grabbed], {}, { view: "east" });
    const name = "1.0.3.10.in-addr.arpa";
    expect(ask(context, name, "PTR").answer).toEqual([`${name} 5 PTR ${kubernetes}`]);
  });

  it.each([
    ["the older alias keeps the name", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "one.example"],
    ["the older alias keeps the name", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z", "two.example"],
  ])("if two names clash, %s (%s, %s)", (_, first, second, target) => {
    const clashing = {
      ...east,
      services: {
        "default/one": alias("one.example", { createdAt: first, ownedName: "a.b" }),
        "default/two": alias("two.example", { createdAt: second, ownedName: "a.b" }),
      },
    };
    const { findings } = compileGeneration(mergeClusterset([clashing]));
    expect(findings.map(({ reason, name }) => [reason, name])).toEqual([
      ["NameClash", target === "one.example" ? "two" : "one"],
    ]);
    const context = compileWorld([clashing], {}, { view: "east" });
    expect(ask(context, `a.b.default.svc.${Z}`, "A").answer).toEqual([
      `a.b.default.svc.${Z} 5 CNAME ${target}`,
    ]);
  });

  it("a hostname below a headless service can clash with another name", () => {
    const clashing = {
      ...east,
      services: {
        "default/db": local({
          headless: true,
          endpoints: endpoints({ address: "10.3.0.7", hostname: "db-0" }),
        }),
        "default/two": alias("two.example", { createdAt: "2026-03-01T00:00:00Z", ownedName: "db-0.db" }),
      },
    };
    const context = compileWorld([clashing], {}, { view: "east" });
    expect(ask(context, `db-0.db.default.svc.${Z}`, "A").answer).toEqual([
      `db-0.db.default.svc.${Z} 5 A 10.3.0.7`,
    ]);
  });

  it.each([
    ["InvalidName", alias("x.example", { ownedName: "a..b" })],
    ["InvalidExternalName", alias("a..b")],
    ["InvalidExternalName", alias("")],
    ["InvalidAddress", local({ clusterIPs: ["10.0.0.300"] })],
    ["NoNamespace", local(), "gone/odd"],
  ] as const)(
    "%s yields a finding, and other Services are still answered",
    (reason, service, key: string = "default/odd") => {
      const odd = { ...east, services: { ...services, [key]: service } };
      const { findings } = compileGeneration(mergeClusterset([odd]));
      expect(findings.map((finding) => finding.reason)).toEqual([reason]);
      const context = compileWorld([odd], {}, { view: "east" });
      expect(ask(context, kubernetes, "A").answer).toHaveLength(1);
    },
  );

  it.each([["clusterset.local"], ["."], ["a..b"]])("a zone named %j yields a finding", (name) => {
    const odd = { ...east, clusterZone: { name, pods: "disabled" as const } };
    expect(compileGeneration(mergeClusterset([odd])).findings.map(({ reason }) => reason)).toEqual([
      "InvalidZone",
    ]);
  });
});
