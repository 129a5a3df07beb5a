import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../../../src/config/values.ts";
import { type CheckFlags, check } from "../../../src/hosts/commands/check.ts";
import { readCheckInputs } from "../../../src/hosts/commands/offline-world.ts";
import { folderOfTest } from "../../folders.ts";

let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});

function manifests(cluster: string, text: string, file = "all.yaml"): string {
  const directory = join(folder, cluster);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, file), text);
  return directory;
}

async function run(inputs: string[], flags: Partial<CheckFlags> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await check(inputs, flags, { out: (line) => out.push(line), err: (line) => err.push(line) });
  return { code, out, err: err.map((line) => line.replaceAll(`${folder}/`, "")) };
}

const service = (ports: string) => `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { type: ClusterIP, clusterIP: 10.96.0.1, ports: [${ports}] }
status: { loadBalancer: { ingress: [{ ip: 192.0.2.1 }] } }
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: web, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z" }
`;
const HTTP = "{ name: http, port: 80 }";
const ORPHAN = `
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: orphan, namespace: shop }
`;
const IMPORT = `
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: { name: web, namespace: shop }
spec: { type: ClusterSetIP, ips: ["10.42.42.42"], ports: [${HTTP}] }
`;

describe("check", () => {
  it("prints the records in zone-file form and exits with 0", async () => {
    const { code, out, err } = await run([manifests("cluster-a", service(HTTP))]);
    expect(code).toBe(0);
    expect(out).toContain("web.shop.svc.clusterset.local.\t5\tIN\tA\t192.0.2.1");
    expect(out).toContain(
      "_http._tcp.web.shop.svc.clusterset.local.\t5\tIN\tSRV\t0 100 80 web.shop.svc.clusterset.local.",
    );
    expect(err).toEqual([`1 cluster, 1 service, ${out.length} records, 0 problems, 0 findings, 0 conflicts`]);
  });

  it("prints the requested zones; the first owns PTR targets", async () => {
    const inputs = [manifests("cluster-a", service(HTTP) + IMPORT)];
    const { out } = await run(inputs, { zone: ["one.example", "two.example"] });
    expect(out).toContain("web.shop.svc.one.example.\t5\tIN\tA\t10.42.42.42");
    expect(out).toContain("web.shop.svc.two.example.\t5\tIN\tA\t10.42.42.42");
    expect(out.filter((line) => line.includes("\tPTR\t"))).toEqual([
      "42.42.42.10.in-addr.arpa.\t5\tIN\tPTR\tweb.shop.svc.one.example.",
    ]);
  });

  it("prints findings with file and line and exits with 1", async () => {
    const { code, err } = await run([manifests("cluster-a", service(HTTP) + ORPHAN)]);
    expect(code).toBe(1);
    expect(err[0]).toMatch(/^finding: cluster-a\/all\.yaml:13:1: ServiceExport shop\/orphan: NoService: /);
  });

  it("prints conflicts and fails for them only with --strict", async () => {
    const inputs = [
      manifests("cluster-a", service(HTTP)),
      manifests("cluster-b", service("{ name: http, port: 8080 }").replace("2026-01-01", "2026-02-01")),
    ];
    const { code, err } = await run(inputs);
    expect(code).toBe(0);
    expect(err.find((line) => line.startsWith("conflict: shop/web: "))).toMatch(
      /"cluster-a".*1\/2 clusters disagree/,
    );
    expect((await run(inputs, { strict: true })).code).toBe(1);
  });

  it("prints errors in manifests with file, line and column and exits with 1", async () => {
    const input = manifests("cluster-a", service(HTTP));
    manifests("cluster-a", "kind: [", "broken.yaml");
    const { code, err } = await run([input]);
    expect(code).toBe(1);
    expect(err[0]).toMatch(/^problem: cluster-a\/broken\.yaml:1:\d+: /);
  });

  it("says of services without an address what gives them one, which is no finding", async () => {
    const service = (name: string, spec: string) =>
      `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: ${spec}\n---\napiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: { name: ${name}, namespace: shop }\n---\n`;
    const git = `${service("web", "{ ports: [{ port: 80 }] }")}${service("db", "{ clusterIP: None, ports: [{ port: 80 }] }")}${service("api", "{ externalIPs: [192.0.2.1], ports: [{ port: 80 }] }")}`;
    const { code, err } = await run([manifests("west", git)], { strict: true });
    expect(code).toBe(0);
    expect(err).toEqual([
      expect.stringMatching(
        /^no address: shop\/db: a headless service has those of ready endpoints: Kubernetes makes/,
      ),
      expect.stringMatching(
        /^no address: shop\/web: none of its clusters reports a ServiceImport with spec.ips, a load/,
      ),
      "1 cluster, 3 services, 4 records, 0 problems, 0 findings, 0 conflicts; 2 of the services without an address",
    ]);
  });

  it("names kinds and kustomization files that are not read, which is no finding", async () => {
    const folder = manifests(
      "west",
      "kind: Endpoints\napiVersion: v1\nmetadata: { name: a }\n---\n{ kind: Service, apiVersion: v1, metadata: { name: c } }\n---\n{ kind: Endpoints, apiVersion: v1, metadata: { name: b } }\n",
    );
    manifests("west", "resources: [all.yaml]\nimages: []\n", "kustomization.yaml");
    const { code, err } = await run([folder]);
    expect([code, err[0]]).toEqual([
      0,
      "not read: west: 2 Endpoints (v1), 1 Kustomization (kustomize.config.k8s.io/v1beta1)",
    ]);
  });

  it("prints everything as JSON", async () => {
    const { code, out, err } = await run([manifests("cluster-a", service(HTTP) + ORPHAN)], {
      output: "json",
    });
    expect(code).toBe(1);
    expect(err).toEqual([]);
    expect(JSON.parse(out.join(""))).toMatchObject({
      clusters: ["cluster-a"],
      services: 1,
      problems: [],
      conflicts: [],
      findings: [{ reason: "NoService", location: expect.stringMatching(/all\.yaml:13:1$/) }],
      records: expect.arrayContaining([
        { name: "web.shop.svc.clusterset.local.", ttl: 5, type: "A", rdata: "192.0.2.1" },
      ]),
    });
  });

  it("reads a snapshot, and --cluster-id overrides its cluster", async () => {
    const file = join(folder, "snapshot.json");
    const empty = {
      formatVersion: 1,
      clusterId: "x",
      namespaces: {},
      exports: {},
      imports: {},
      findings: {},
    };
    writeFileSync(file, JSON.stringify(empty));
    const { code, out } = await run([file], { clusterId: "cluster-z", output: "json" });
    expect(code).toBe(0);
    expect(JSON.parse(out.join("")).clusters).toEqual(["cluster-z"]);
  });

  it("prints the view of one cluster", async () => {
    const inputs = [manifests("cluster-a", service(HTTP) + IMPORT), manifests("cluster-b", service(HTTP))];
    const addresses = async (view: string) =>
      (await run(inputs, { view })).out
        .filter((line) => line.includes("\tA\t"))
        .map((line) => line.split("\t")[4]);
    expect(await addresses("cluster-a")).toEqual(["10.42.42.42"]);
    expect(await addresses("cluster-b")).toEqual(["192.0.2.1"]);
  });
});

describe("imports of other clusters' endpoints", () => {
  const HUB = `
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: { name: web, namespace: shop }
spec: { type: ClusterSetIP, ips: ["10.42.42.42"], ports: [${HTTP}] }
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: { name: db, namespace: shop }
spec: { type: Headless, ports: [${HTTP}] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: db-east
  namespace: shop
  labels: { multicluster.kubernetes.io/service-name: db, multicluster.kubernetes.io/source-cluster: east }
addressType: IPv4
ports: [${HTTP}]
endpoints: [{ addresses: [10.0.0.1], hostname: db-0 }]
`;
  const addressesOf = (out: string[], name: string) =>
    out
      .filter((line) => line.startsWith(`${name}.shop.svc.clusterset.local.\t`) && line.includes("\tA\t"))
      .map((line) => line.split("\t")[4]);
  const reasons = (err: string[]) => err.filter((line) => line.includes("SourceClusterNotGranted"));

  it.each([["hub=*"], ["hub=east"], ["hub=west,east"]])("count with --speaks-for %s", async (grant) => {
    const { code, out, err } = await run([manifests("hub", HUB)], { speaksFor: [grant] });
    expect(reasons(err)).toEqual([]);
    expect(code).toBe(0);
    expect(addressesOf(out, "db")).toEqual(["10.0.0.1"]);
    expect(addressesOf(out, "web")).toEqual(["10.42.42.42"]);
  });
});

describe("pins", () => {
  const both = () => [manifests("a", service(HTTP)), manifests("b", service(HTTP))];

  it("leave exports out that are not in --exports, with a finding", async () => {
    const { code, err } = await run(both(), { exports: ["a=payroll,*/db"] });
    expect(code).toBe(1);
    expect(err.join("\n")).toMatch(
      /ServiceExport shop\/web: .*push\.credentials\[\]\.exports does not let a export/,
    );
    expect((await run(both(), { exports: ["a=shop", "b=*"] })).code).toBe(0);
  });

  it("name an owner by --owner, and report an owner that does not export the service", async () => {
    expect((await run(both(), { owner: ["shop/*=b"] })).code).toBe(0);
    const { code, err } = await run(both(), { owner: ["shop/web=c"] });
    expect([code, err.join("\n")]).toEqual([1, expect.stringContaining("the setting services names")]);
  });
});

const ALIAS = `
---
apiVersion: v1
kind: Service
metadata: { name: partner, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z" }
spec: { type: ExternalName, externalName: a.example, name: api.partner }
---
apiVersion: v1
kind: Pod
metadata: { name: web-0, namespace: shop }
status: { podIP: 10.0.0.1 }
`;

describe("zones of single clusters", () => {
  const LOCAL = "cluster.local";
  const both = () => [manifests("cluster-a", service(HTTP) + ALIAS), manifests("cluster-b", service(HTTP))];
  const comments = (out: string[]) => out.filter((line) => line.startsWith(";"));

  it("come after the clusterset zone, each after a comment with its name", async () => {
    const { out, err } = await run(both(), { clusterZone: LOCAL });
    expect(comments(out)).toEqual([
      "; cluster.local. of the cluster cluster-a",
      "; cluster.local. of the cluster cluster-b",
    ]);
    const [first, second] = comments(out).map((comment) => out.indexOf(comment));
    const alias = "api.partner.shop.svc.cluster.local.\t5\tIN\tCNAME\ta.example.";
    const web = "web.shop.svc.cluster.local.\t5\tIN\tA\t10.96.0.1";
    expect(out.slice(0, first).join("\n")).not.toContain(LOCAL);
    expect(out.slice(first, second)).toEqual(expect.arrayContaining([alias, web]));
    expect(out.slice(second)).toContain(web);
    expect(out.slice(second)).not.toContain(alias);
    expect(err.at(-1)).toContain(` ${out.length - 2} records`);
  });

  it("are printed alone with --view and --zone", async () => {
    const { out } = await run(both(), { clusterZone: LOCAL, zone: [LOCAL], view: "cluster-b" });
    expect(comments(out)).toEqual(["; cluster.local. of the cluster cluster-b"]);
    expect(out.join("\n")).not.toContain("clusterset.local");
  });

  it.each([
    ["disabled", []],
    ["insecure", []],
    ["verified", ["10-0-0-1.shop.pod.cluster.local.\t5\tIN\tA\t10.0.0.1"]],
  ] as const)("--pods %s lists exactly the pod names that exist", async (pods, expected) => {
    const { out } = await run(both(), { clusterZone: LOCAL, pods });
    expect(out.filter((line) => /\.pod\..*\tA\t/.test(line))).toEqual(expected);
  });

  it("of a snapshot come from the snapshot", async () => {
    const [input] = await readCheckInputs([both()[0]!], undefined, { name: LOCAL, pods: "disabled" });
    const file = join(folder, "snapshot.json");
    writeFileSync(file, JSON.stringify(input!.snapshot));
    const { out } = await run([file], { output: "json" });
    expect(JSON.parse(out.join(""))).toMatchObject({
      zones: [{ kind: "cluster-local", zone: "cluster.local.", view: "cluster-a" }],
    });
  });
});

describe("federation zones", () => {
  const inputs = () => [manifests("cluster-a", service(HTTP))];

  it.each([
    ["prod", ["federation."]],
    ["prod=fed.example", ["fed.example."]],
    ["prod=fed.example,reg.example", ["fed.example.", "reg.example."]],
    ["prod=,reg.example", ["reg.example."]],
  ])("--federation %s", async (federation, zones) => {
    const { out } = await run(inputs(), { federation: [federation] });
    const comments = out.filter((line) => line.startsWith(";"));
    expect(comments.map((line) => line.split(/[ ,]/)[1])).toEqual(zones);
    for (const zone of zones) expect(out).toContain(`web.shop.prod.svc.${zone}\t5\tIN\tA\t192.0.2.1`);
  });

  it("are listed in the view, and alone if --zone names them", async () => {
    const flags = { federation: ["prod"], view: "cluster-a", zone: ["federation"] };
    const { out } = await run(inputs(), flags);
    expect(out[0]).toBe("; federation., a federation zone, for the cluster cluster-a");
    expect(out).toContain("web.shop.prod.svc.federation.\t5\tIN\tA\t10.96.0.1");
    expect(out.join("\n")).not.toContain("clusterset.local");
  });
});

describe("inputs that cannot be checked", () => {
  it.each<[string, () => string[], Partial<CheckFlags>, RegExp]>([
    ["a missing folder", () => [join(folder, "none")], {}, /ENOENT/],
    ["a folder without manifests", () => [manifests("empty", "", "notes.txt")], {}, /it has no manifest/],
    [
      "an invalid snapshot",
      () => [join(manifests("a", '{"formatVersion":2}', "s.json"), "s.json")],
      {},
      /formatVersion/,
    ],
    [
      "a file that is not JSON",
      () => [join(manifests("a", service(HTTP), "s.yaml"), "s.yaml")],
      {},
      /s\.yaml: a file must be a snapshot in JSON; for manifests give their folder/,
    ],
    [
      "two inputs of one cluster",
      () => [manifests("a", service(HTTP)), manifests("x/a", service(HTTP))],
      {},
      /two inputs have the cluster id "a"/,
    ],
    [
      "one id for two inputs",
      () => [manifests("a", service(HTTP)), manifests("b", service(HTTP))],
      { clusterId: "c" },
      /--cluster-id names one cluster/,
    ],
    [
      "a folder whose name is not a cluster id",
      () => [manifests("Not_One", service(HTTP))],
      {},
      /--cluster-id/,
    ],
  ])("%s", async (_, inputs, flags, expected) => {
    await expectUsageError(run(inputs(), flags), expected);
  });

  it.each<[Partial<CheckFlags>, RegExp]>([
    [{ speaksFor: ["z=*"] }, /--speaks-for z: "z" is not one of the clusters: a/],
    ...["a", "a=", "=b", "a=B_", "a=b,"].map((grant): [Partial<CheckFlags>, RegExp] => [
      { speaksFor: [grant] },
      /--speaks-for "a?.*" is not a grant such as hub=\*/,
    ]),
    [{ exports: ["z=shop"] }, /--exports z: "z" is not one of the clusters: a/],
    [{ exports: ["a"] }, /--exports "a" is not CLUSTER=SERVICES/],
    [{ owner: ["Shop=a"] }, /--owner "Shop=a" is not SERVICE=CLUSTER/],
    [{ view: "z" }, /--view "z" is not one of/],
    [{ federation: ["prod=clusterset.local"] }, /clusterset\.local\. is claimed by federation prod/],
  ])("with %j", async (flags, expected) => {
    await expectUsageError(run([manifests("a", service(HTTP))], flags), expected);
  });

  async function expectUsageError(checked: Promise<unknown>, expected: RegExp): Promise<void> {
    await expect(checked).rejects.toThrow(expected);
    await expect(checked).rejects.toThrow(UsageError);
  }
});
