import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { SnapshotAssembler } from "../../src/extract/extract.ts";
import { ManifestSource } from "../../src/worker/manifest-source.ts";
import { ManifestDirectory, parseManifestFile } from "../../src/worker/manifests.ts";
import type { SourceListener } from "../../src/worker/object-source.ts";
import { until } from "../until.ts";
import type { KeptLogs } from "./logs.ts";
import { bothYaml, exportYaml, serviceYaml, WorkerWorld } from "./worker-world.ts";

let world: WorkerWorld;
let folder: string;

beforeEach(() => {
  world = new WorkerWorld();
  ({ folder } = world);
});

const write = (name: string, text: string) => writeFile(join(folder, name), text);

/** Writes files, and reads the folder: its objects as `<file>:<line>:<column> <kind> <name>`. */
async function read(files: Readonly<Record<string, string>> = {}) {
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const { objects, ...others } = await new ManifestDirectory(folder).read();
  const describeOne = ({ object, file, line, column }: (typeof objects)[number]) =>
    `${file}:${line}:${column} ${object.kind} ${object.metadata?.name}`;
  return { ...others, objects: objects.map(describeOne), whole: objects };
}

describe("files", () => {
  test("yields every document of every file under the directory with its file, line and column", async () => {
    await mkdir(join(folder, "deep/er"), { recursive: true });
    const items = [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "not-looked-at" } },
    ];
    const { objects, problems } = await read({
      "b.yaml": `# a comment\n${serviceYaml("web")}---\n---\n${exportYaml("web")}`,
      "deep/er/c.yml": serviceYaml("db"),
      "deep/list.json": JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2),
      "kustomization.yaml": "resources: [b.yaml]",
      ".hidden.yaml": "not: read: at all",
      "notes.txt": "not read",
    });
    expect(problems).toEqual([]);
    expect(objects).toEqual([
      "b.yaml:2:1 Service web",
      "b.yaml:8:1 ServiceExport web",
      "deep/er/c.yml:1:1 Service db",
      "deep/list.json:5:5 Namespace shop",
    ]);
  });

  test("follows symbolic links, each directory once", async () => {
    await mkdir(join(folder, "real"));
    await symlink(join(folder, "real"), join(folder, "again"));
    await symlink(folder, join(folder, "real", "loop"));
    await symlink(join(folder, "nowhere.yaml"), join(folder, "dangling.yaml"));
    const { objects, problems } = await read({ "real/a.yaml": serviceYaml("web") });
    expect(problems).toEqual([]);
    expect(objects).toHaveLength(2);
  });

  test.each([
    ["bad indentation", "# first\na: 1\n  b: 2\n", "a.yaml", 2],
    ["an unclosed bracket", `${serviceYaml("web")}---\nkind: [Service\n`, "a.yaml", 7],
    ["the same key twice", "kind: Service\nkind: Service\n", "a.yaml", 2],
    ["an alias to nothing", "apiVersion: v1\nkind: Service\nmetadata: *gone\n", "a.yaml", 3],
    ["cut-off JSON", '{\n  "kind": "Service",\n', "a.json", 3],
  ])("%s breaks only that file, and the problem has line and column", async (_, text, name, line) => {
    const { objects, problems } = await read({ [name]: text, "good.yaml": serviceYaml("db") });
    expect(problems[0]).toMatchObject({ code: "BrokenFile", file: name, line, column: expect.any(Number) });
    expect(objects).toEqual(["good.yaml:1:1 Service db", expect.stringContaining("Namespace shop")]);
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

  test("text, lists and other mappings are no Kubernetes objects", () => {
    for (const text of ["just text", "- a\n- list\n", "values: only\n", '{"apiVersion":"v1"}'])
      expect(parseManifestFile("a.yaml", `# first\n${text}`)).toMatchObject({
        broken: false,
        problems: [{ code: "NotAnObject", line: 2, column: 1 }],
      });
  });

  test.each([
    ["{ name: web, namespace: 123 }", "metadata.namespace is 123, which is not a text: write it in quotes"],
    ["{ name: 8080 }", "metadata.name is 8080, which is not a text: write it in quotes"],
    ["{ generateName: web- }", "has a metadata.generateName: give it a metadata.name"],
    ['{ name: "" }', "has no metadata.name"],
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
    const of = (metadata: string) => `apiVersion: v1\nkind: Service\nmetadata: ${metadata}\n`;
    const { whole, problems } = await read({
      "a.yaml": of('{ name: web, namespace: "" }'),
      "b.yaml": of("{ name: db, namespace: null }"),
    });
    expect(problems).toEqual([]);
    expect(whole.map(({ object }) => object.metadata?.name)).toEqual(["web", "db", "default"]);
  });

  test("Endpoints of a Service without a selector and an EndpointSlice, of which a cluster would make one, are a problem", async () => {
    const endpoints = (name: string) => `---
apiVersion: v1
kind: Endpoints
metadata: { name: ${name}, namespace: shop }
subsets: [{ addresses: [{ ip: 192.0.2.1 }], ports: [{ port: 80 }] }]
`;
    const slice = `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [192.0.2.1] }]
`;
    const web = serviceYaml("web");
    const wrong = await read({ "a.yaml": web + endpoints("web") + endpoints("other") });
    const message =
      "Endpoints shop/web are not read: write an EndpointSlice with the label kubernetes.io/service-name: web";
    expect(wrong.problems).toEqual([{ code: "UnknownKind", file: "a.yaml", line: 6, column: 1, message }]);
    expect(wrong.ignored).toEqual(["Endpoints (v1)", "Endpoints (v1)"]);
    for (const text of [web.replace("spec: {", "spec: { selector: { app: web },"), web + slice]) {
      const { problems, ignored } = await read({ "a.yaml": text + endpoints("web") });
      expect([problems, ignored]).toEqual([[], ["Endpoints (v1)"]]);
    }
  });

  const found = (text: string) =>
    parseManifestFile("a", text).objects.map(
      ({ object, line, column }) =>
        `${line}:${column} ${object.apiVersion} ${object.kind} ${object.metadata?.name}`,
    );

  test("JSON objects one after the other, as jq writes them, count, one in a line or indented", () => {
    const objects = ["}\\n{", "db"].map((name) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
    }));
    for (const [indent, second] of [
      [undefined, "2:1"],
      [2, "8:1"],
    ] as const) {
      const text = objects.map((object) => `${JSON.stringify(object, null, indent)}\n`).join("");
      expect(found(text)).toEqual(["1:1 v1 Service }\\n{", `${second} v1 Service db`]);
      expect(parseManifestFile("a.json", `${text}{"kind": [}\n`)).toMatchObject({
        broken: true,
        problems: [{ line: text.split("\n").length }],
      });
    }
  });

  test("items without a kind, as the API server returns them, have that of their list", () => {
    const items = ["a", "b"].map((name) => ({ metadata: { name } }));
    const list = { kind: "EndpointSliceList", apiVersion: "discovery.k8s.io/v1", items };
    expect(found(JSON.stringify(list))).toEqual(
      ["a", "b"].map((name) => expect.stringMatching(`^1:\\d+ discovery.k8s.io/v1 EndpointSlice ${name}$`)),
    );
    const { problems } = parseManifestFile("a.json", JSON.stringify({ ...list, kind: "List" }));
    expect(problems.map(({ code }) => code)).toEqual(["NotAnObject", "NotAnObject"]);
  });

  test("an anchor may have more than a hundred uses", () => {
    const item = (name: string, labels: string) =>
      `- { apiVersion: v1, kind: Service, metadata: { name: ${name}, labels: ${labels} } }\n`;
    const items = Array.from({ length: 150 }, (_, index) => item(`web-${index}`, "*l"));
    const text = `apiVersion: v1\nkind: List\nitems:\n${item("web", "&l { app: web }")}${items.join("")}`;
    expect(found(text)).toHaveLength(151);
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

  test("a misspelt kind is a problem that suggests the right one, and one of another project is none", async () => {
    const of = (apiVersion: string, kind: string) =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: web, namespace: shop }\n`;
    const { objects, problems } = await read({
      "a.yaml": `${of("v1", "Servcie")}---\n${serviceYaml("web")}`,
      "b.yaml": of("serving.knative.dev/v1", "Service"),
    });
    expect(problems.map(({ file, line, code, message }) => `${file}:${line} ${code}: ${message}`)).toEqual([
      'a.yaml:1 UnknownKind: kind "Servcie" of "v1" is not read: write kind Service of v1',
    ]);
    expect(objects).toEqual(["a.yaml:5:1 Service web", expect.stringContaining("Namespace shop")]);
  });

  test("of two manifests of one object the later one counts, and the problem names both files", async () => {
    const { objects, problems } = await read({
      "a.yaml": serviceYaml("web"),
      "b.yaml": serviceYaml("web", 8080),
    });
    expect(objects).toEqual(["b.yaml:1:1 Service web", expect.stringContaining("Namespace shop")]);
    expect(problems).toMatchObject([
      { code: "DuplicateObject", file: "a.yaml", line: 1, message: expect.stringContaining("b.yaml:1") },
    ]);
  });
});

test("a file that changes before each read counts with every second one", async () => {
  const manifests = new ManifestDirectory(folder);
  const seen: (number | undefined)[] = [];
  for (let port = 80; port < 85; port++) {
    await write("a.yaml", serviceYaml("web", port));
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

  function start() {
    ({ logs } = world);
    assembler = new SnapshotAssembler({ clusterId: "east" });
    source = new ManifestSource({ directory: folder, watch: true, logger: logs });
    const listener = {
      upsert: (object) => void assembler.upsert(object),
      delete: (object) => void assembler.delete(object),
      changed: () => undefined,
      failed: () => undefined,
    } satisfies SourceListener;
    world.run((signal) => source.run(listener, signal));
  }

  const exports = () => Object.keys(assembler.snapshot().exports);
  const becomes = (expected: string[]) =>
    until(() => expect([source.complete, exports()]).toEqual([true, expected]));

  async function startWithWeb(): Promise<void> {
    await write("a.yaml", bothYaml("web"));
    start();
    await becomes(["shop/web"]);
  }

  test("notices new, replaced, moved and deleted files", async () => {
    await startWithWeb();
    await write("b.yaml", bothYaml("db"));
    await becomes(["shop/db", "shop/web"]);
    await write("b.yaml~", bothYaml("cache"));
    await rename(join(folder, "b.yaml~"), join(folder, "b.yaml"));
    await becomes(["shop/cache", "shop/web"]);
    await mkdir(join(folder, "more"));
    await write("more/c.yaml", bothYaml("db"));
    await becomes(["shop/cache", "shop/db", "shop/web"]);
    await rm(join(folder, "a.yaml"));
    await becomes(["shop/cache", "shop/db"]);
  });

  test("notices each swap of the ..data link of a mounted ConfigMap", async () => {
    const mount = async (version: number) => {
      await mkdir(join(folder, `..${version}/deep`), { recursive: true });
      await write(`..${version}/a.yaml`, bothYaml(`web-${version}`));
      await write(`..${version}/deep/b.yaml`, bothYaml(`deep-${version}`));
      await symlink(`..${version}`, join(folder, "..data_tmp"));
      await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    };
    for (const version of [1, 2, 3]) {
      await mount(version);
      if (version === 1) {
        await symlink("..data/a.yaml", join(folder, "a.yaml"));
        await symlink("..data/deep", join(folder, "deep"));
        start();
      }
      await becomes([`shop/deep-${version}`, `shop/web-${version}`]);
      await rm(join(folder, `..${version - 1}`), { recursive: true, force: true });
    }
  });

  test("the last good content of a broken file counts until the file is fixed or deleted; one mistake is one line while it lasts, and its repair is one", async () => {
    await startWithWeb();
    // The parser loses its place, and finds more than one error.
    await write("a.yaml", serviceYaml("web").replace("spec: {", "spec: {{\n  - a: [").repeat(3));
    const broken = () => source.problems().map(({ code, subject }) => `${code} ${subject}`);
    await until(() => expect(broken()).toEqual(["MANIFEST_BROKEN a.yaml"]));
    const { since } = source.problems()[0]!;
    // Another read finds the same mistake, and one more.
    await write("b.yaml", bothYaml("cache"));
    await write("0.yaml", "}");
    await becomes(["shop/cache", "shop/web"]);
    await until(() => expect(broken()).toEqual(["MANIFEST_BROKEN 0.yaml", "MANIFEST_BROKEN a.yaml"]));
    expect(source.problems()[1]!.since).toBe(since);
    await rm(join(folder, "0.yaml"));
    await write("a.yaml", bothYaml("db"));
    await becomes(["shop/cache", "shop/db"]);
    await rm(join(folder, "a.yaml"));
    await becomes(["shop/cache"]);
    expect(broken()).toEqual([]);
    expect(logs.lines.filter((line) => /^(?:warn|info): a.yaml/.test(line))).toEqual([
      expect.stringMatching(
        /^warn: a\.yaml:5:\d+: .* \(the first of \d+ errors in this file\); the last content of the file that could be read counts until it is repaired$/,
      ),
      "info: a.yaml: its problems are gone, and its content counts",
    ]);
  });

  test("keeps the state of a directory that cannot be read for a while", async () => {
    await startWithWeb();
    await rename(folder, `${folder}-away`);
    await until(() => expect(logs.lines.at(-1)).toMatch(/^error: the manifest directory .* cannot be read/));
    const problems = () => source.problems().map(({ code }) => code);
    expect([problems(), exports()]).toEqual([["MANIFESTS_UNREADABLE"], ["shop/web"]]);
    await rename(`${folder}-away`, folder);
    await until(() => expect(logs.lines.at(-1)).toBe("info: the manifest directory can be read again"));
    expect([problems(), exports()]).toEqual([[], ["shop/web"]]);
  });
});
