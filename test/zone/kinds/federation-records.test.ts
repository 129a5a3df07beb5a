import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/names/survey.ts";
import type { ClusterSnapshot, Endpoint } from "../../../src/snapshot/schema.ts";
import { localityView } from "../../../src/zone/locality.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";
import { ask, compileWorld } from "../../resolve/ask.ts";
import { recordsOf } from "./records-of.ts";

const options = { federations: [{ name: "fed", zone: "federation", domain: "fed.example" }] };

const cluster = (
  clusterId: string,
  topology: ClusterSnapshot["topology"] | undefined,
  parts: Partial<ClusterSnapshot>,
) => snapshot(clusterId, { ...(topology && { topology }), ...parts });
const balanced = (clusterIP: string, ...loadBalancer: { ip?: string; hostname?: string }[]) =>
  exported({ serviceType: "LoadBalancer", clusterIPs: [clusterIP], loadBalancer });
const headless = (...members: Endpoint[]) => exported({ headless: true, endpoints: endpoints(...members) });

const world = [
  cluster(
    "foo",
    { region: "EU", zones: ["a", "b"] },
    {
      exports: {
        "shop/web": balanced("10.96.0.1", { ip: "192.0.2.1" }),
        "shop/inner": exported({ clusterIPs: ["10.96.0.9"] }),
        "shop/named": balanced("10.96.0.300", { hostname: "a..b" }, { hostname: "lb.example" }),
        "shop/db": headless(
          { address: "10.1.0.1", hostname: "db-0", zone: "a" },
          { address: "10.1.0.2", zone: "c" },
          { address: "10.1.0.3", hostname: "db-0" },
        ),
      },
    },
  ),
  cluster(
    "bar",
    { region: "us", zones: [] },
    {
      exports: {
        "shop/web": balanced("10.96.0.2", { ip: "192.0.2.2" }),
        "shop/db": headless({ address: "10.2.0.1", hostname: "db-0" }),
      },
    },
  ),
  cluster("hub", undefined, {
    imports: {
      "shop/db": imported({
        type: "Headless",
        endpoints: {
          "two words": endpoints({ address: "10.3.0.1" }),
          "x.y": endpoints({ address: "10.3.0.2", zone: "a" }),
        },
      }),
    },
  }),
];

/** The addresses or the alias of each name of a service; names without federation and namespace. */
function namesOf(service: string, zone: string, view?: string): Record<string, string[]> {
  const names: Record<string, string[]> = {};
  for (const line of recordsOf(world, zone, view, options)) {
    const [name, , data] = line.split(" ") as [string, string, string];
    if (!new RegExp(`(^|\\.)${service}\\.shop\\.`).test(name)) continue;
    const short = name.replace(".shop.fed.svc", "");
    names[short] = [...(names[short] ?? []), data];
  }
  return names;
}

const DB_NAMES = {
  db: ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.2.0.1", "10.3.0.1", "10.3.0.2"],
  "foo.db": ["10.1.0.1", "10.1.0.2", "10.1.0.3"],
  "bar.db": ["10.2.0.1"],
  "x.y.db": ["10.3.0.2"],
  "db-0.foo.db": ["10.1.0.1", "10.1.0.3"],
  "10-1-0-2.foo.db": ["10.1.0.2"],
  "db-0.bar.db": ["10.2.0.1"],
  "10-3-0-2.x.y.db": ["10.3.0.2"],
  "db.eu": ["10.1.0.1", "10.1.0.2", "10.1.0.3"],
  "db.us": ["10.2.0.1"],
  // By the endpoint's own zone; one without a zone may be in any of its cluster.
  "db.a.eu": ["10.1.0.1", "10.1.0.3"],
  "db.b.eu": ["10.1.0.3"],
  "db.c.eu": ["10.1.0.2"],
};
const named = (data: string) =>
  Object.fromEntries(
    ["named", "foo.named", "named.eu", "named.a.eu", "named.b.eu"].map((name) => [name, [data]]),
  );
const external = {
  web: ["192.0.2.1", "192.0.2.2"],
  "foo.web": ["192.0.2.1"],
  "bar.web": ["192.0.2.2"],
  "web.eu": ["192.0.2.1"],
  "web.a.eu": ["192.0.2.1"],
  "web.b.eu": ["192.0.2.1"],
  "web.us": ["192.0.2.2"],
};

describe("all names of a service in a federation's zones (federated service discovery, Implementation)", () => {
  it.each<[string, string, string, string | undefined, Record<string, string[]>]>([
    ["a headless service: its endpoints for internal clients", "db", "federation", undefined, DB_NAMES],
    ["a headless service: the same for each cluster", "db", "federation", "foo", DB_NAMES],
    ["a headless service: nothing for external clients", "db", "fed.example", undefined, {}],
    ["load balancers for external clients", "web", "fed.example", undefined, external],
    ["load balancers for external clients, wherever they are", "web", "fed.example", "foo", external],
    ["load balancers for internal clients of no cluster", "web", "federation", undefined, external],
    [
      "its own cluster IP for an internal client",
      "web",
      "federation",
      "foo",
      {
        ...external,
        ...{ web: ["10.96.0.1", "192.0.2.2"], "foo.web": ["10.96.0.1"] },
        ...{ "web.eu": ["10.96.0.1"], "web.a.eu": ["10.96.0.1"], "web.b.eu": ["10.96.0.1"] },
      },
    ],
    ["a load balancer's name where there is no address", "named", "federation", "foo", named("lb.example.")],
    ["a load balancer's name for external clients", "named", "fed.example", undefined, named("lb.example.")],
    ["a cluster IP alone: no records for others", "inner", "federation", "bar", {}],
    ["a cluster IP alone: no records for external clients", "inner", "fed.example", undefined, {}],
  ])("%s", (_, service, zone, view, names) => {
    expect(namesOf(service, zone, view)).toEqual(names);
  });

  it("a service without an address for any external client has no name there", () => {
    const rcode = (zone: string) =>
      ask(compileWorld(world, options), `inner.shop.fed.svc.${zone}`, "A").rcode;
    expect([rcode("federation"), rcode("fed.example")]).toEqual(["NOERROR", "NXDOMAIN"]);
    expect(ask(compileWorld(world, options), "db.shop.fed.svc.fed.example", "A").rcode).toBe("NXDOMAIN");
  });

  it("clients outside have the order of their locality in both zones; clusters have theirs in the internal one alone", () => {
    const located = compileWorld(world, { ...options, localities: [{ region: "EU" }] });
    const first = (zone: string, view: string) =>
      ask({ ...located, view }, `web.shop.fed.svc.${zone}`, "A")
        .answer[0]!.split(" ")
        .at(-1);
    expect(["federation", "fed.example"].map((zone) => first(zone, localityView({ region: "EU" })))).toEqual([
      "192.0.2.1",
      "192.0.2.1",
    ]);
    expect(first("federation", "hub")).toBe("192.0.2.2");
    expect(["foo", "bar"].map((view) => first("federation", view))).toEqual(["10.96.0.1", "10.96.0.2"]);
    expect(first("fed.example", "foo")).toBe(first("fed.example", "bar"));
  });

  it("a view whose order is that of everybody has no records of its own", () => {
    const namesOf = (...localities: { region: string }[]) => {
      const names = worldOf(world, { ...options, localities });
      return names.context.trees.map((tree) => names.unitOf(tree, "shop/web").key?.bytes);
    };
    expect(namesOf({ region: "asia" })).toEqual(namesOf());
    expect(namesOf({ region: "EU" })).not.toEqual(namesOf());
  });

  it("an address or a host name that is none is a finding, in the zone of its clients", () => {
    const { findings } = surveyOf(worldOf(world, options));
    const own = findings.filter(({ clusterId }) => clusterId === "foo");
    expect(new Set(own.map(({ name, reason, message }) => `${name} ${reason} ${message}`))).toEqual(
      new Set([
        'named InvalidAddress "10.96.0.300" is not a usable address: it is left out',
        'named InvalidHostName the load balancer\'s host name is not a DNS name ("a..b" has an empty label): it is left out',
      ]),
    );
  });
});
