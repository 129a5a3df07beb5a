import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { SnapshotAssembler } from "../../src/extract/extract.ts";
import { ManifestSource } from "../../src/worker/manifest-source.ts";
import { ManifestDirectory, parseManifestFile } from "../../src/worker/manifests.ts";
import { until } from "../until.ts";
import type { KeptLogs } from "./logs.ts";
import { WorkerWorld } from "./worker-world.ts";

const readManifests = (folder: string) => new ManifestDirectory(folder).read();

let world: WorkerWorld;
let folder: string;

beforeEach(() => {
  world = new WorkerWorld();
  ({ folder } = world);
});

const write = (name: string, text: string) => writeFile(join(folder, name), text);

const service = (name: string, port = 80) => `apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { clusterIP: 10.0.0.1, ports: [{ port: ${port} }] }
`;
const exported = (name: string) => `apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: ${name}, namespace: shop }
`;
const both = (name: string) => `${service(name)}---\n${exported(name)}`;

describe("files", () => {
  test("yields every document of every file under the directory with its file, line and column", async () => {
    await mkdir(join(folder, "deep/er"), { recursive: true });
    await write("b.yaml", `# a comment\n${service("web")}---\n---\n${exported("web")}`);
    await write("deep/er/c.yml", service("db"));
    await write(
      "deep/list.json",
      JSON.stringify(
        {
          apiVersion: "v1",
          kind: "List",
          items: [
            { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
            { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "not-looked-at" } },
          ],
        },
        null,
        2,
      ),
    );
    await write("kustomization.yaml", "resources: [b.yaml]");
    await write(".hidden.yaml", "not: read: at all");
    await write("notes.txt", "not read");
    const { objects, problems } = await readManifests(folder);
    expect(problems).toEqual([]);
    expect(
      objects.map(
        ({ object, file, line, column }) =>
          `${file}:${line}:${column} ${object.kind} ${object.metadata?.name}`,
      ),
    ).toEqual([
      "b.yaml:2:1 Service web",
      "b.yaml:8:1 ServiceExport web",
      "deep/er/c.yml:1:1 Service db",
      "deep/list.json:5:5 Namespace shop",
    ]);
  });

  test("follows symbolic links, each directory once", async () => {
    await mkdir(join(folder, "real"));
    await write("real/a.yaml", service("web"));
    await symlink(join(folder, "real"), join(folder, "again"));
    await symlink(folder, join(folder, "real", "loop"));
    await symlink(join(folder, "nowhere.yaml"), join(folder, "dangling.yaml"));
    const { objects, problems } = await readManifests(folder);
    expect(problems).toEqual([]);
    expect(objects.filter(({ object }) => object.kind === "Service").length).toBe(1);
  });

  test.each([
    ["bad indentation", "# first\na: 1\n  b: 2\n", "a.yaml", 2],
    ["an unclosed bracket", `${service("web")}---\nkind: [Service\n`, "a.yaml", 7],
    ["the same key twice", "kind: Service\nkind: Service\n", "a.yaml", 2],
    ["an alias to nothing", "apiVersion: v1\nkind: Service\nmetadata: *gone\n", "a.yaml", 3],
    ["cut-off JSON", '{\n  "kind": "Service",\n', "a.json", 3],
  ])("%s breaks only that file, and the problem has line and column", async (_, text, name, line) => {
    await write(name, text);
    await write("good.yaml", service("db"));
    const { objects, problems } = await readManifests(folder);
    expect(problems[0]).toMatchObject({ code: "BrokenFile", file: name, line, column: expect.any(Number) });
    expect(objects.map(({ object }) => object.metadata?.name)).toEqual(["db", "shop"]);
  });

  test("rejects exponential YAML aliases", () => {
    const lines = ["a0: &a0 [x, x]"];
    for (let level = 1; level < 40; level++)
      lines.push(`a${level}: &a${level} [*a${level - 1}, *a${level - 1}]`);
    const text = `apiVersion: v1\nkind: Service\nmetadata: { name: web }\n${lines.join("\n")}\n`;
    expect(parseManifestFile("bomb.yaml", text)).toMatchObject({
      broken: true,
      problems: [{ code: "BrokenFile", message: expect.stringMatching(/alias/) }],
    });
  });

  test.each(["just text", "- a\n- list\n", "values: only\n", '{"apiVersion":"v1"}'])(
    "%j is not a Kubernetes object",
    (text) => {
      expect(parseManifestFile("a.yaml", `# first\n${text}`)).toMatchObject({
        broken: false,
        problems: [{ code: "NotAnObject", line: 2, column: 1 }],
      });
    },
  );

  test.each([
    ["{ name: web, namespace: 123 }", "metadata.namespace is 123, which is not a text: write it in quotes"],
    ["{ name: 8080 }", "metadata.name is 8080, which is not a text: write it in quotes"],
    ["{ name: on }", "metadata.name is true, which is not a text: write it in quotes"],
    ["{ generateName: web- }", "has a metadata.generateName: give it a metadata.name"],
    ['{ name: "" }', "has no metadata.name"],
    ["null", "has no metadata.name"],
    ["[web]", "has no metadata.name"],
  ])("a Service with the metadata %s does not count, and is a problem", (metadata, message) => {
    const text = `apiVersion: v1\nkind: Service\nmetadata: ${metadata}\n`;
    expect(parseManifestFile("a.yaml", text)).toEqual({
      broken: false,
      objects: [],
      problems: [{ code: "NotAnObject", file: "a.yaml", line: 1, column: 1, message }],
      ignored: [],
    });
  });

  test("an object whose namespace is empty or null is in the namespace default", async () => {
    await write("a.yaml", 'apiVersion: v1\nkind: Service\nmetadata: { name: web, namespace: "" }\n');
    await write("b.yaml", "apiVersion: v1\nkind: Service\nmetadata: { name: db, namespace: null }\n");
    const { objects, problems } = await readManifests(folder);
    expect(problems).toEqual([]);
    expect(objects.map(({ object }) => object.metadata?.name)).toEqual(["web", "db", "default"]);
  });

  const endpoints = (name: string) => `apiVersion: v1
kind: Endpoints
metadata: { name: ${name}, namespace: shop }
subsets: [{ addresses: [{ ip: 192.0.2.1 }], ports: [{ port: 80 }] }]
`;
  const slice = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [192.0.2.1] }]
`;

  test("Endpoints of a Service without a selector, of which a cluster would make a slice, are a problem", async () => {
    await write("a.yaml", `${service("web")}---\n${endpoints("web")}---\n${endpoints("other")}`);
    const { problems, ignored } = await readManifests(folder);
    expect(problems).toEqual([
      {
        code: "UnknownKind",
        file: "a.yaml",
        line: 6,
        column: 1,
        message:
          "Endpoints shop/web are not read: write an EndpointSlice with the label kubernetes.io/service-name: web",
      },
    ]);
    expect(ignored).toEqual(["Endpoints (v1)", "Endpoints (v1)"]);
  });

  test.each([
    ["with a selector", service("web").replace("spec: {", "spec: { selector: { app: web },")],
    ["with an EndpointSlice", `${service("web")}---\n${slice}`],
  ])("Endpoints of a Service %s are none", async (_, text) => {
    await write("a.yaml", `${text}---\n${endpoints("web")}`);
    expect(await readManifests(folder)).toMatchObject({ problems: [], ignored: ["Endpoints (v1)"] });
  });

  const found = (text: string) =>
    parseManifestFile("a", text).objects.map(
      ({ object, line, column }) =>
        `${line}:${column} ${object.apiVersion} ${object.kind} ${object.metadata?.name}`,
    );

  test.each([
    ["one in a line", undefined, ["1:1 v1 Service }\\n{", "2:1 v1 Service db"]],
    ["indented", 2, ["1:1 v1 Service }\\n{", "8:1 v1 Service db"]],
  ])("JSON objects one after the other, as jq writes them, count: %s", (_, indent, expected) => {
    const objects = ["}\\n{", "db"].map((name) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
    }));
    const text = objects.map((object) => `${JSON.stringify(object, null, indent)}\n`).join("");
    expect(found(text)).toEqual(expected);
    expect(parseManifestFile("a.json", `${text}{"kind": [}\n`)).toMatchObject({
      broken: true,
      problems: [{ line: text.split("\n").length }],
    });
  });

  test("items without a kind, as the API server returns them, have that of their list", () => {
    const list = {
      kind: "EndpointSliceList",
      apiVersion: "discovery.k8s.io/v1",
      items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }],
    };
    expect(found(JSON.stringify(list))).toEqual([
      expect.stringMatching(/^1:\d+ discovery\.k8s\.io\/v1 EndpointSlice a$/),
      expect.stringMatching(/^1:\d+ discovery\.k8s\.io\/v1 EndpointSlice b$/),
    ]);
    const untyped = { ...list, kind: "List" };
    expect(parseManifestFile("a.json", JSON.stringify(untyped)).problems.map(({ code }) => code)).toEqual([
      "NotAnObject",
      "NotAnObject",
    ]);
  });

  test("an anchor may have more than a hundred uses", () => {
    const items = Array.from(
      { length: 150 },
      (_, index) => `- { apiVersion: v1, kind: Service, metadata: { name: web-${index}, labels: *l } }\n`,
    );
    const first = "- { apiVersion: v1, kind: Service, metadata: { name: web, labels: &l { app: web } } }\n";
    expect(found(`apiVersion: v1\nkind: List\nitems:\n${first}${items.join("")}`)).toHaveLength(151);
  });

  test("apiVersion and kind may come from a merge key", () => {
    const item = "- { <<: *t, metadata: { name: db } }\n";
    const first = "- &t { apiVersion: v1, kind: Service, metadata: { name: web } }\n";
    const list =
      "- <<: { apiVersion: v1, kind: List }\n  items:\n  - { <<: *t, metadata: { name: cache } }\n";
    expect(found(`apiVersion: v1\nkind: List\nitems:\n${first}${item}${list}`)).toEqual([
      "4:6 v1 Service web",
      "5:3 v1 Service db",
      "8:5 v1 Service cache",
    ]);
  });

  test("a misspelt kind and an unknown API group are problems that suggest the right ones", async () => {
    const list = (apiVersion: string, kind: string) =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: web, namespace: shop }\n`;
    await write(
      "a.yaml",
      `${list("multicluster.k8s.io/v1alpha1", "ServiceExport")}---\n${list("v1", "Servcie")}`,
    );
    await write("b.yaml", `${service("web")}---\n${list("serving.knative.dev/v1", "Service")}`);
    const { objects, problems } = await readManifests(folder);
    expect(problems.map(({ file, line, code, message }) => `${file}:${line} ${code}: ${message}`)).toEqual([
      'a.yaml:1 UnknownKind: kind "ServiceExport" of "multicluster.k8s.io/v1alpha1" is not read: write kind ServiceExport of multicluster.x-k8s.io/v1beta1',
      'a.yaml:5 UnknownKind: kind "Servcie" of "v1" is not read: write kind Service of v1',
    ]);
    expect(objects.map(({ object }) => `${object.kind} ${object.metadata?.name}`)).toEqual([
      "Service web",
      "Namespace shop",
    ]);
  });

  test("of two manifests of one object the later one counts, and the problem names both files", async () => {
    await write("a.yaml", service("web", 80));
    await write("b.yaml", service("web", 8080));
    const { objects, problems } = await readManifests(folder);
    expect(objects.filter(({ object }) => object.kind === "Service")).toMatchObject([
      { object: { spec: { ports: [{ port: 8080 }] } } },
    ]);
    expect(problems).toMatchObject([
      { code: "DuplicateObject", file: "a.yaml", line: 1, message: expect.stringContaining("b.yaml:1") },
    ]);
  });

  test("timestamps stay text", () => {
    const text = `${exported("web")}  creationTimestamp: 2026-01-02T03:04:05Z\n`.replace(
      "{ name: web, namespace: shop }",
      "\n  name: web",
    );
    expect(parseManifestFile("a.yaml", text).objects[0]!.object.metadata).toEqual({
      name: "web",
      creationTimestamp: "2026-01-02T03:04:05Z",
    });
  });
});

test("a file that changes before each read counts with every second one", async () => {
  const manifests = new ManifestDirectory(folder);
  const seen: (number | undefined)[] = [];
  for (let port = 80; port < 85; port++) {
    await write("a.yaml", service("web", port));
    const { objects } = await manifests.read();
    const found = objects.find(({ object }) => object.kind === "Service")?.object;
    seen.push((found as { spec?: { ports: { port: number }[] } } | undefined)?.spec?.ports[0]?.port);
  }
  expect(seen).toEqual([80, 80, 82, 82, 84]);
});

describe("watching", () => {
  let logs: KeptLogs;
  let assembler: SnapshotAssembler;
  let source: ManifestSource;

  function start(directory = folder) {
    ({ logs } = world);
    assembler = new SnapshotAssembler({ clusterId: "east" });
    source = new ManifestSource(
      { directory, watch: true, logger: logs },
      {
        upsert: (object) => void assembler.upsert(object),
        delete: (object) => void assembler.delete(object),
        changed: () => undefined,
        failed: () => undefined,
      },
    );
    world.run((signal) => source.run(signal));
  }

  const exports = () => Object.keys(assembler.snapshot().exports);
  const becomes = (expected: string[]) =>
    until(() => expect([source.complete, exports()]).toEqual([true, expected]));

  test("notices new, replaced, moved and deleted files", async () => {
    await write("a.yaml", both("web"));
    start();
    await becomes(["shop/web"]);
    await write("b.yaml", both("db"));
    await becomes(["shop/db", "shop/web"]);
    await write("b.yaml~", both("cache"));
    await rename(join(folder, "b.yaml~"), join(folder, "b.yaml"));
    await becomes(["shop/cache", "shop/web"]);
    await mkdir(join(folder, "more"));
    await write("more/c.yaml", both("db"));
    await becomes(["shop/cache", "shop/db", "shop/web"]);
    await rm(join(folder, "a.yaml"));
    await becomes(["shop/cache", "shop/db"]);
  });

  test("notices each swap of the ..data link of a mounted ConfigMap", async () => {
    const mount = async (version: string, name: string) => {
      await mkdir(join(folder, `..${version}/deep`), { recursive: true });
      await write(`..${version}/a.yaml`, both(name));
      await write(`..${version}/deep/b.yaml`, both(`deep-${name}`));
      await symlink(`..${version}`, join(folder, "..data_tmp"));
      await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    };
    await mount("1", "first");
    await symlink("..data/a.yaml", join(folder, "a.yaml"));
    await symlink("..data/deep", join(folder, "deep"));
    start();
    await becomes(["shop/deep-first", "shop/first"]);
    for (const [version, name] of [
      ["2", "second"],
      ["3", "third"],
    ] as const) {
      await mount(version, name);
      await becomes([`shop/deep-${name}`, `shop/${name}`]);
      await rm(join(folder, `..${Number(version) - 1}`), { recursive: true });
    }
  });

  test("the last good content of a broken file counts until the file is fixed or deleted; one mistake is one line while it lasts, and its repair is one", async () => {
    await write("a.yaml", both("web"));
    start();
    await becomes(["shop/web"]);
    // The parser loses its place, and finds more than one error.
    await write("a.yaml", service("web").replace("spec: {", "spec: {{\n  - a: [").repeat(3));
    await until(() => expect(logs.lines.join()).toContain("warn"));
    // Another read finds the same mistake.
    await write("b.yaml", both("cache"));
    await becomes(["shop/cache", "shop/web"]);
    await write("a.yaml", both("db"));
    await becomes(["shop/cache", "shop/db"]);
    await rm(join(folder, "a.yaml"));
    await becomes(["shop/cache"]);
    expect(logs.lines.filter((line) => /^warn|problems are gone/.test(line))).toEqual([
      expect.stringMatching(
        /^warn: a\.yaml:5:\d+: .* \(the first of \d+ errors in this file\); the last content of the file that could be read counts until it is repaired$/,
      ),
      "info: a.yaml: its problems are gone, and its content counts",
    ]);
  });

  test("keeps the state of a directory that cannot be read for a while", async () => {
    await write("a.yaml", both("web"));
    start();
    await becomes(["shop/web"]);
    await rename(folder, `${folder}-away`);
    await until(() => expect(logs.lines.at(-1)).toMatch(/^error: the manifest directory .* cannot be read/));
    const problems = () => source.problems().map(({ code }) => code);
    expect([problems(), exports()]).toEqual([["MANIFESTS_UNREADABLE"], ["shop/web"]]);
    await rename(`${folder}-away`, folder);
    await until(() => expect(logs.lines.at(-1)).toBe("info: the manifest directory can be read again"));
    expect([problems(), exports()]).toEqual([[], ["shop/web"]]);
  });
});
