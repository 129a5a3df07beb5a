import { describe, expect, it } from "vitest";
import type { Explanation } from "../../src/explain/explanation.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { day, endpoints, exported, exporting, imported, port, snapshot } from "../merge/fixtures.ts";
import { twoClusters } from "../resolve/world.ts";
import { explainedWorld } from "./explained-world.ts";

const ZONE = "clusterset.local";

function explained(
  snapshots: readonly ClusterSnapshot[],
  name: string,
  type = "A",
  options: Parameters<typeof explainedWorld>[1] & { readonly view?: string } = {},
): Explanation {
  const { view, ...given } = options;
  return explainedWorld(snapshots, given).ask(name, type, view).explanation;
}

describe("a service that is exported to some clusters", () => {
  const world = [
    exporting("east", { clusters: ["west"], endpoints: endpoints({ address: "10.1.0.1" }) }),
    snapshot("west"),
    snapshot("north"),
  ];
  const ask = (name: string, view?: string) =>
    explained(world, `${name}.shop.svc.${ZONE}`, "A", view === undefined ? {} : { view });

  it("says to which, outside and where it is exported to", () => {
    for (const view of [undefined, "west", "east"])
      expect(ask("web", view).service?.exporters).toMatchObject([{ exportedTo: ["west"] }]);
  });

  it("is nowhere to be seen elsewhere: not in the message, nor among suggestions", () => {
    const explanation = ask("web", "north");
    expect(explanation).toMatchObject({
      code: "NOT_EXPORTED",
      message:
        "The namespace shop exists (east, north, west), but no cluster exports a service web in it to north.",
      service: undefined,
      findings: [],
      conflicts: [],
      suggestions: [],
    });
    expect(ask("wbe", "north").suggestions).toEqual([]);
    expect(ask("wbe", "west").suggestions.map(({ name }) => name)).toEqual([`web.shop.svc.${ZONE}.`]);
  });
});

const property = ({ service }: Explanation, name: string) =>
  service?.properties.filter((one) => one.property === name);

describe("who decides", () => {
  const older = exporting("west", {
    exportedAt: day(1),
    sessionAffinity: "ClientIP",
    ports: [port("http", 80)],
  });
  const younger = exporting("east", { exportedAt: day(2), ports: [port("http", 8080), port("admin", 9000)] });

  it("is the oldest export, and what the others state is set aside", () => {
    const explanation = explained([older, younger], `web.shop.svc.${ZONE}`);
    expect(explanation.service?.exporters.map(({ clusterId }) => clusterId)).toEqual(["west", "east"]);
    expect(property(explanation, "sessionAffinity")).toEqual([
      {
        property: "sessionAffinity",
        value: "ClientIP",
        decidedBy: "west",
        because: `it has the oldest ServiceExport, since ${day(1)}`,
        otherwise: [{ clusterId: "east", value: "None" }],
      },
    ]);
    expect(property(explanation, "port")).toMatchObject([
      { value: "http:80/TCP", decidedBy: "west", otherwise: [{ clusterId: "east" }] },
      { value: "admin:9000/TCP", decidedBy: "east", because: expect.stringContaining("united") },
    ]);
    expect(explanation.conflicts.map(({ reason }) => reason)).toContain("SessionAffinityConflict");
  });

  it("is the owner that the operator pinned", () => {
    const pins = { owners: [{ service: "shop/web", owner: "east" }] };
    const explanation = explained([older, younger], `web.shop.svc.${ZONE}`, "A", { pins });
    expect(property(explanation, "sessionAffinity")).toMatchObject([
      { value: "None", decidedBy: "east", because: "the setting services names it as the owner" },
    ]);
  });

  it("is not a cluster whose stated time does not count", () => {
    const counts = Date.parse(day(5)) + 7;
    const ranked = (clusterId: string) => (clusterId === "west" ? counts : undefined);
    const explanation = explained([older, younger], `web.shop.svc.${ZONE}`, "A", { ranked });
    expect(explanation.service?.exporters).toEqual([
      { clusterId: "east", stated: day(2), endpoints: 0 },
      {
        clusterId: "west",
        stated: day(1),
        endpoints: 0,
        countsFrom: day(5),
        because: "the gateway did not see the export appear at the stated time",
      },
    ]);
  });
});

it.each([
  ["db", "east 3, west 3"],
  ["web", "east 1, west 0"],
])("counts the endpoints of each exporter of %s that may be answered with: %s", (name, expected) => {
  const { service } = explained(twoClusters(), `${name}.shop.svc.${ZONE}`);
  expect(service?.exporters.map((one) => `${one.clusterId} ${one.endpoints}`).join(", ")).toBe(expected);
});

describe("where records come from", () => {
  const sources = ({ records }: Explanation) => records.map(({ data, from }) => `${data} ${from.join("+")}`);

  it("is the cluster that reports each address, until the first lease expires", () => {
    const leaseOf = (clusterId: string) => (clusterId === "east" ? 60_000 : 20_000);
    const db = explained(twoClusters(), `db.shop.svc.${ZONE}`, "A", { leaseOf });
    expect(db.code).toBe("ANSWERED");
    expect(sources(db)).toEqual(["10.1.0.1 east", "10.1.0.2 east", "10.2.0.1 west", "10.2.0.2 west"]);
    expect(db.leases).toEqual(
      ["east", "west"].map((clusterId) => ({ clusterId, expiresAt: leaseOf(clusterId) })),
    );
  });

  it("is the cluster that has a load balancer or an endpoint, where several have one", () => {
    const of = (clusterId: string, ip: string) =>
      exporting(clusterId, { loadBalancer: [{ ip }, { ip: "192.0.2.99" }] });
    const web = explained([of("east", "192.0.2.1"), of("west", "192.0.2.2")], `web.shop.svc.${ZONE}`);
    expect(sources(web).sort()).toEqual(["192.0.2.1 east", "192.0.2.2 west", "192.0.2.99 east+west"]);
    expect(web.service?.addresses).toBe("load balancers and external IPs of east, west");
  });

  it("depends on the view", () => {
    const web = explained(twoClusters(), `web.shop.svc.${ZONE}`, "A", { view: "west" });
    expect(sources(web)).toEqual(["10.201.0.1 west"]);
    expect(web.service?.addresses).toBe("spec.ips of the ServiceImport of west");
  });

  it("has the clusters of PTR records, too", () => {
    const reverse = explained(twoClusters(), "1.0.200.10.in-addr.arpa", "PTR");
    expect([reverse.code, ...sources(reverse)]).toEqual(["ANSWERED", `web.shop.svc.${ZONE}. east+west`]);
  });
});

describe("why there is no answer", () => {
  const [WEB, LOG, DB] = ["web.shop.svc", "log.ops.svc", "db.shop.svc"];
  it.each<[code: string, name: string, type: string, ...suggested: string[]]>([
    ["NO_RECORDS_OF_TYPE", `${WEB}.${ZONE}`, "TXT"],
    ["PORT_HAS_SRV_ONLY", `_https._tcp.${WEB}.${ZONE}`, "A", WEB],
    ["NO_RECORDS", `shop.svc.${ZONE}`, "A", "anon.shop.svc", DB, "idle.shop.svc", WEB],
    ["NO_READY_ENDPOINT", `idle.shop.svc.${ZONE}`, "A"],
    ["NO_NAMESPACE", `web.shpo.svc.${ZONE}`, "A", WEB],
    ["NO_NAMESPACE", `shop.web.svc.${ZONE}`, "A", WEB],
    ["NOT_EXPORTED", `wbe.shop.svc.${ZONE}`, "A", WEB],
    ["NOT_EXPORTED", `log.shop.svc.${ZONE}`, "A", LOG],
    ["NO_SUCH_PORT", `_htps._tcp.${WEB}.${ZONE}`, "SRV", `_https._tcp.${WEB}`],
    ["NO_SUCH_ENDPOINT", `db-9.east.${DB}.${ZONE}`, "A", `db-0.east.${DB}`, `db-1.east.${DB}`],
    ["NO_SUCH_NAME", `web.shop.${ZONE}`, "A", WEB],
    ["NO_SUCH_NAME", `web.shop.scv.${ZONE}`, "A", WEB],
    ["OUT_OF_ZONE", `${WEB}.clusterst.local`, "A", WEB],
    ["OUT_OF_ZONE", `${WEB}.cluster.local`, "A", WEB],
    ["OUT_OF_ZONE", WEB, "A", WEB],
    ["OUT_OF_ZONE", "web.shop", "A", WEB],
    ["OUT_OF_ZONE", "www.example.com", "A"],
  ])("%s: %s %s", (code, name, type, ...suggested) => {
    const { suggestions, ...explanation } = explained(twoClusters(), name, type);
    expect(explanation).toMatchObject({ code, message: expect.stringMatching(/\.$/) });
    expect(suggestions.slice(0, Math.max(1, suggested.length)).map((one) => one.name)).toEqual(
      suggested.map((one) => `${one}.${ZONE}.`),
    );
  });

  it("does not suggest what the cluster of the view does not have", () => {
    const { code, suggestions } = explained(twoClusters(), `lgo.ops.svc.${ZONE}`, "A", { view: "west" });
    expect(code).toBe("NAMESPACE_NOT_IN_VIEW");
    expect(suggestions).toEqual([]);
    expect(explained(twoClusters(), `log.shop.svc.${ZONE}`, "A", { view: "west" }).suggestions).toEqual([]);
  });

  it("names the finding of an export that is left out", () => {
    const pins = { exports: new Map([["east", ["other"]]]) };
    const refused = explained([exporting("east")], `web.shop.svc.${ZONE}`, "A", { pins });
    expect(refused.code).toBe("LEFT_OUT");
    expect(refused.message).toContain(
      "ExportNotAllowed in east: push.credentials[].exports does not let east export",
    );
    const absent = snapshot("east", { namespaces: { shop: {}, ops: {} } });
    const homeless = snapshot("west", { namespaces: {}, exports: { "shop/web": exported() } });
    expect(explained([absent, homeless], `web.shop.svc.${ZONE}`)).toMatchObject({
      code: "LEFT_OUT",
      message: expect.stringContaining("NoNamespace in west"),
    });
  });

  it("says that a service has no address for a view", () => {
    const bare = exporting("east", { ports: [port("http", 80)] });
    expect(explained([bare], `web.shop.svc.${ZONE}`)).toMatchObject({
      code: "NO_ADDRESS",
      service: { addresses: expect.stringContaining("none") },
    });
  });

  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => `10.0.${index >> 8}.${index & 255}`);

  it("is made in steps, so that other work has its turns", () => {
    const pods = endpoints(...members(640).map((address) => ({ address })));
    const many = exporting("east", { headless: true, endpoints: pods });
    const { explanation, steps } = explainedWorld([many]).ask(`web.shop.svc.${ZONE}`, "A");
    expect(explanation.records).toHaveLength(640);
    expect(steps).toBeGreaterThan(640 / 64);
  });

  it.each([
    ["many endpoints", endpoints(...members(15_000).map((address) => ({ address }))), {}],
    ["much metadata", endpoints({ address: "10.0.0.1" }), { notes: "x".repeat(520 * 1024) }],
  ])("is not made record by record for a service with %s", (_, endpoints, exportedAnnotations) => {
    const many = exporting("east", { headless: true, endpoints, exportedAnnotations });
    const { service, omitted, records } = explained([many], `web.shop.svc.${ZONE}`);
    expect(service).toBeUndefined();
    expect(omitted).toEqual([expect.stringContaining("more than 512 KiB")]);
    expect(records[0]!.from).toEqual(["east"]);
  });
});

it("a host that does not merge explains what the answer has, and says what is omitted", () => {
  const world = explainedWorld(twoClusters(), { isReader: true });
  const { explanation } = world.ask(`db.shop.svc.${ZONE}`, "A");
  expect(explanation).toMatchObject({ code: "ANSWERED", omitted: [expect.stringContaining("the primary")] });
  expect(explanation.records[0]?.from).toEqual(["east", "west"]);
  for (const name of ["web.shpo", "wbe.shop"])
    expect(world.ask(`${name}.svc.${ZONE}`, "A").explanation).toMatchObject({
      code: "NO_SUCH_NAME",
      suggestions: [],
    });
  expect(world.ask(`web.shop.svc.clusterst.local`, "A").explanation.suggestions).toHaveLength(1);
});

it("an import that nobody exports is decided by its importers", () => {
  const importing = snapshot("east", {
    imports: { "shop/web": imported({ ips: ["10.0.0.1"], ports: [port("http", 80)] }) },
  });
  const explanation = explained([importing], `web.shop.svc.${ZONE}`);
  expect(explanation.service).toMatchObject({ exporters: [], importers: ["east"] });
  expect(property(explanation, "type")).toMatchObject([
    { decidedBy: "east", because: "it has the only ServiceImport that counts" },
  ]);
});
