import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../../../src/config/values.ts";
import { type CheckFlags, check } from "../../../src/hosts/commands/check.ts";
import { readCheckInputs } from "../../../src/hosts/commands/offline-world.ts";
import { folderOfTest } from "../../folders.ts";
import { emptySnapshot } from "../../snapshot/worlds.ts";

let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});

/** A cluster's folder with objects in a file. */
function manifests(cluster: string, objects: readonly string[], file = "all.yaml"): string {
  const directory = join(folder, cluster);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, file), objects.join("\n---\n"));
  return directory;
}

async function run(inputs: string[], flags: Partial<CheckFlags> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await check(inputs, flags, { out: (line) => out.push(line), err: (line) => err.push(line) });
  return { code, out, err: err.map((line) => line.replaceAll(`${folder}/`, "")) };
}

const HTTP = "{ name: http, port: 80 }";
const MCS = "apiVersion: multicluster.x-k8s.io/v1beta1";
const CREATED = 'creationTimestamp: "2026-01-01T00:00:00Z"';
const exported = (name: string, more = CREATED) =>
  `{ ${MCS}, kind: ServiceExport, metadata: { name: ${name}, namespace: shop, ${more} } }`;
const service = (name: string, spec: string, more = "") =>
  `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop, ${CREATED} }, spec: ${spec}${more} }`;
const web = (ports = HTTP) =>
  service(
    "web",
    `{ type: ClusterIP, clusterIP: 10.96.0.1, ports: [${ports}] }`,
    ", status: { loadBalancer: { ingress: [{ ip: 192.0.2.1 }] } }",
  );
const WEB = [web(), exported("web")];
const ORPHAN = exported("orphan");
const importOf = (name: string, spec: string) =>
  `{ ${MCS}, kind: ServiceImport, metadata: { name: ${name}, namespace: shop }, spec: { ${spec}, ports: [${HTTP}] } }`;
const IMPORT = importOf("web", 'type: ClusterSetIP, ips: ["10.42.42.42"]');
const DB_OF_EAST = [
  importOf("db", "type: Headless"),
  `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: db-east
  namespace: shop
  labels: { multicluster.kubernetes.io/service-name: db, multicluster.kubernetes.io/source-cluster: east }
addressType: IPv4
ports: [${HTTP}]
endpoints: [{ addresses: [10.0.0.1], hostname: db-0 }]`,
];
const both = () => [manifests("a", WEB), manifests("b", WEB)];
const A = "\t5\tIN\tA\t";

describe("check", () => {
  it("prints the records in zone-file form and exits with 0", async () => {
    const { code, out, err } = await run([manifests("cluster-a", WEB)]);
    expect(code).toBe(0);
    expect(out).toContain(`web.shop.svc.clusterset.local.${A}192.0.2.1`);
    expect(out).toContain(
      "_http._tcp.web.shop.svc.clusterset.local.\t5\tIN\tSRV\t0 100 80 web.shop.svc.clusterset.local.",
    );
    expect(err).toEqual([`1 cluster, 1 service, ${out.length} records, 0 problems, 0 findings, 0 conflicts`]);
  });

  it("prints the requested zones; the first owns PTR targets", async () => {
    const inputs = [manifests("cluster-a", [...WEB, IMPORT])];
    const { out } = await run(inputs, { zone: ["one.example", "two.example"] });
    for (const zone of ["one", "two"]) expect(out).toContain(`web.shop.svc.${zone}.example.${A}10.42.42.42`);
    expect(out.filter((line) => line.includes("\tPTR\t"))).toEqual([
      "42.42.42.10.in-addr.arpa.\t5\tIN\tPTR\tweb.shop.svc.one.example.",
    ]);
  });

  it("prints the view of one cluster", async () => {
    const inputs = [manifests("cluster-a", [...WEB, IMPORT]), manifests("cluster-b", WEB)];
    const addresses = async (view: string) =>
      (await run(inputs, { view })).out.filter((line) => line.includes(A)).map((line) => line.split("\t")[4]);
    expect(await addresses("cluster-a")).toEqual(["10.42.42.42"]);
    expect(await addresses("cluster-b")).toEqual(["192.0.2.1"]);
  });

  const ORPHANED = [...WEB, ORPHAN];
  const OTHER_PORT = [web("{ name: http, port: 8080 }"), exported("web", "")];
  const CONFLICT = /^conflict: shop\/web: .*"a".*1\/2 clusters disagree/m;
  const PINNED = /shop\/web: .*push\.credentials\[\]\.exports does not let a export/;
  it.each<[string, Partial<CheckFlags>, code: number, RegExp, a?: string[], b?: string[]]>([
    ["findings with their place", {}, 1, /^finding: a\/all\.yaml:5:1: .*orphan: NoService: /m, ORPHANED],
    ["errors in manifests with their place", {}, 1, /^problem: a\/all\.yaml:1:\d+: /m, ["kind: ["]],
    ["conflicts, which do not fail", {}, 0, CONFLICT, WEB, OTHER_PORT],
    ["conflicts, which fail with --strict", { strict: true }, 1, CONFLICT, WEB, OTHER_PORT],
    ["exports that --exports leaves out", { exports: ["a=payroll,*/db"] }, 1, PINNED],
    ["nothing of those that it lists", { exports: ["a=shop", "b=*"] }, 0, /0 findings/],
    ["nothing of an --owner that exports", { owner: ["shop/*=b"] }, 0, /0 findings/],
    ["an --owner that does not", { owner: ["shop/web=c"] }, 1, /the setting services names/],
  ])("prints %s", async (_, flags, code, said, a = WEB, b = WEB) => {
    const { err, ...printed } = await run([manifests("a", a), manifests("b", b)], flags);
    expect([printed.code, err.join("\n")]).toEqual([code, expect.stringMatching(said)]);
  });

  it("says of services without an address what gives them one, which is no finding", async () => {
    const git = [
      service("web", "{ ports: [{ port: 80 }] }"),
      service("db", "{ clusterIP: None, ports: [{ port: 80 }] }"),
      service("api", "{ externalIPs: [192.0.2.1], ports: [{ port: 80 }] }"),
      ...["web", "db", "api"].map((name) => exported(name)),
    ];
    const { code, err } = await run([manifests("west", git)], { strict: true });
    expect(code).toBe(0);
    expect(err).toEqual([
      expect.stringMatching(/^no address: shop\/db: a headless service has those of ready endpoints: Kuber/),
      expect.stringMatching(/^no address: shop\/web: none of its clusters reports a ServiceImport with spec/),
      "1 cluster, 3 services, 4 records, 0 problems, 0 findings, 0 conflicts; 2 of the services without an address",
    ]);
  });

  it("names kinds and kustomization files that are not read, which is no finding", async () => {
    const unread = ["a", "b"].map(
      (name) => `{ kind: Endpoints, apiVersion: v1, metadata: { name: ${name} } }`,
    );
    const west = manifests("west", [
      unread[0]!,
      "{ kind: Service, apiVersion: v1, metadata: { name: c } }",
      unread[1]!,
    ]);
    manifests("west", ["resources: [all.yaml]\nimages: []\n"], "kustomization.yaml");
    const { code, err } = await run([west]);
    const said = "not read: west: 2 Endpoints (v1), 1 Kustomization (kustomize.config.k8s.io/v1beta1)";
    expect([code, err[0]]).toEqual([0, said]);
  });

  it("prints everything as JSON", async () => {
    const { code, out, err } = await run([manifests("cluster-a", [...WEB, ORPHAN])], { output: "json" });
    expect([code, err]).toEqual([1, []]);
    expect(JSON.parse(out.join(""))).toMatchObject({
      clusters: ["cluster-a"],
      services: 1,
      problems: [],
      conflicts: [],
      findings: [{ reason: "NoService", location: expect.stringMatching(/all\.yaml:5:1$/) }],
      records: expect.arrayContaining([
        { name: "web.shop.svc.clusterset.local.", ttl: 5, type: "A", rdata: "192.0.2.1" },
      ]),
    });
  });

  it("reads a snapshot, and --cluster-id overrides its cluster", async () => {
    const file = join(folder, "snapshot.json");
    writeFileSync(file, JSON.stringify(emptySnapshot("x")));
    const { code, out } = await run([file], { clusterId: "cluster-z", output: "json" });
    expect([code, JSON.parse(out.join("")).clusters]).toEqual([0, ["cluster-z"]]);
  });

  it.each([["hub=*"], ["hub=east"], ["hub=west,east"]])(
    "counts other clusters' endpoints with --speaks-for %s",
    async (grant) => {
      const { code, out, err } = await run([manifests("hub", DB_OF_EAST)], { speaksFor: [grant] });
      expect([code, err.join("\n")]).toEqual([0, expect.not.stringContaining("SourceClusterNotGranted")]);
      expect(out).toContain(`db.shop.svc.clusterset.local.${A}10.0.0.1`);
    },
  );
});

describe("zones of single clusters", () => {
  const LOCAL = "cluster.local";
  const PARTNER = service("partner", "{ type: ExternalName, externalName: a.example, name: api.partner }");
  const POD =
    "{ apiVersion: v1, kind: Pod, metadata: { name: web-0, namespace: shop }, status: { podIP: 10.0.0.1 } }";
  const places = () => [manifests("cluster-a", [...WEB, PARTNER, POD]), manifests("cluster-b", WEB)];
  const comments = (out: string[]) => out.filter((line) => line.startsWith(";"));

  it("come after the clusterset zone, each after a comment with its name", async () => {
    const { out, err } = await run(places(), { clusterZone: LOCAL });
    expect(comments(out)).toEqual([
      "; cluster.local. of the cluster cluster-a",
      "; cluster.local. of the cluster cluster-b",
    ]);
    const [first, second] = comments(out).map((comment) => out.indexOf(comment));
    const alias = "api.partner.shop.svc.cluster.local.\t5\tIN\tCNAME\ta.example.";
    const local = `web.shop.svc.cluster.local.${A}10.96.0.1`;
    expect(out.slice(0, first).join("\n")).not.toContain(LOCAL);
    expect(out.slice(first, second)).toEqual(expect.arrayContaining([alias, local]));
    expect(out.slice(second)).toContain(local);
    expect(out.slice(second)).not.toContain(alias);
    expect(err.at(-1)).toContain(` ${out.length - 2} records`);
  });

  it("are printed alone with --view and --zone", async () => {
    const { out } = await run(places(), { clusterZone: LOCAL, zone: [LOCAL], view: "cluster-b" });
    expect(comments(out)).toEqual(["; cluster.local. of the cluster cluster-b"]);
    expect(out.join("\n")).not.toContain("clusterset.local");
  });

  it.each([
    ["disabled", []],
    ["insecure", []],
    ["verified", [`10-0-0-1.shop.pod.cluster.local.${A}10.0.0.1`]],
  ] as const)("--pods %s lists exactly the pod names that exist", async (pods, expected) => {
    const { out } = await run(places(), { clusterZone: LOCAL, pods });
    expect(out.filter((line) => /\.pod\..*\tA\t/.test(line))).toEqual(expected);
  });

  it("of a snapshot come from the snapshot", async () => {
    const [input] = await readCheckInputs([places()[0]!], undefined, { name: LOCAL, pods: "disabled" });
    const file = join(folder, "snapshot.json");
    writeFileSync(file, JSON.stringify(input!.snapshot));
    const { out } = await run([file], { output: "json" });
    const zone = { kind: "cluster-local", zone: "cluster.local.", view: "cluster-a" };
    expect(JSON.parse(out.join(""))).toMatchObject({ zones: [zone] });
  });
});

describe("federation zones", () => {
  it.each([
    ["prod", ["federation."]],
    ["prod=fed.example", ["fed.example."]],
    ["prod=fed.example,reg.example", ["fed.example.", "reg.example."]],
    ["prod=,reg.example", ["reg.example."]],
  ])("--federation %s", async (federation, zones) => {
    const { out } = await run([manifests("cluster-a", WEB)], { federation: [federation] });
    const comments = out.filter((line) => line.startsWith(";"));
    expect(comments.map((line) => line.split(/[ ,]/)[1])).toEqual(zones);
    for (const zone of zones) expect(out).toContain(`web.shop.prod.svc.${zone}${A}192.0.2.1`);
  });

  it("are listed in the view, and alone if --zone names them", async () => {
    const flags = { federation: ["prod"], view: "cluster-a", zone: ["federation"] };
    const { out } = await run([manifests("cluster-a", WEB)], flags);
    expect(out[0]).toBe("; federation., a federation zone, for the cluster cluster-a");
    expect(out).toContain(`web.shop.prod.svc.federation.${A}10.96.0.1`);
    expect(out.join("\n")).not.toContain("clusterset.local");
  });
});

describe("what cannot be checked is a usage error:", () => {
  const place = (cluster: string, file?: string) => manifests(cluster, WEB, file);
  const OLD = ['{"formatVersion":2}'];
  it.each<[string, () => string[], RegExp, CheckFlags?]>([
    ["a missing folder", () => [join(folder, "none")], /ENOENT/],
    ["a folder without manifests", () => [manifests("empty", [], "notes.txt")], /it has no manifest/],
    ["an invalid snapshot", () => [join(manifests("a", OLD, "s.json"), "s.json")], /formatVersion/],
    ["a file that is not JSON", () => [join(place("a", "s.yml"), "s.yml")], /s\.yml: .* give their folder/],
    ["two inputs of one cluster", () => [place("a"), place("x/a")], /two inputs have the cluster id "a"/],
    ["one id for two inputs", both, /--cluster-id names one cluster/, { clusterId: "c" }],
    ["a folder whose name is not a cluster id", () => [place("Not_One")], /--cluster-id/],
  ])("%s", async (_, inputs, expected, flags) => {
    await expect(run(inputs(), flags)).rejects.toThrow(expected);
    await expect(run(inputs(), flags)).rejects.toThrow(UsageError);
  });
});
