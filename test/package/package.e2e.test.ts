import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { bundleWorker, describeBundle } from "../../scripts/bundle-check.ts";
import { eventually } from "../e2e/harness/answers.ts";
import { freePort } from "../e2e/servers/ports.ts";
import { ensureTool } from "../e2e/servers/tools/tools.ts";
import { snapshot } from "./consumer/snapshot.ts";
import { bundleConsumer, ON_PAGE, runConsumer, typesOf, WEB, wranglerConfig } from "./consumers.ts";
import { manifest, type PackedPackage, packPackage, root } from "./packed-package.ts";

let packed: PackedPackage;

beforeAll(() => {
  packed = packPackage(["@cloudflare/workers-types", "@hono/node-server", "@types/node"]);
});
afterAll(() => packed.remove());

describe("the package", () => {
  it("runs its commands from node_modules, where Node strips no types", () => {
    const version = packed.run("--version");
    expect(version).toMatchObject({ stderr: "", stdout: `${manifest.version}\n` });
    expect(packed.run("token").stdout.trim()).toMatch(/^[\w-]{43}$/);
  });

  it("holds JavaScript with declarations, and neither tests nor TypeScript nor the site", () => {
    for (const file of ["cli.js", "LICENSES.txt"])
      expect(packed.files).toContain(`dist/hosts/bundle/${file}`);
    const isSource = (file: string) => file.endsWith(".ts") && !file.endsWith(".d.ts");
    expect(packed.files.filter((file) => isSource(file) || file.startsWith("test"))).toEqual([]);
    expect(packed.files.filter((file) => file.includes(".vitepress"))).toEqual([]);
  });

  it("holds every file that its pages link to", () => {
    const pages = packed.files.filter((file) => file.endsWith(".md"));
    expect(pages).toContain("README.md");
    for (const page of pages) {
      const text = readFileSync(join(packed.folder, "node_modules/clusterset-doh", page), "utf8");
      const targets = [...text.matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)/g)].map(([, target]) => target!);
      const dead = targets.filter((target) => {
        const path = posix.join(dirname(page), target).replace(/\/$/, "");
        return !packed.files.some((file) => file === path || file.startsWith(`${path}/`));
      });
      expect(dead, page).toEqual([]);
    }
  });

  it("has no complaint of publint", async () => {
    const { messages, pkg } = await publint({
      pkgDir: join(packed.folder, "node_modules/clusterset-doh"),
      pack: false,
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it("has types that every resolver of ES modules finds", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(packed.tarball)));
    if (!analysis.types) throw new Error("no types are found");
    const { entrypoints, problems } = analysis;
    const programs = Object.keys(entrypoints).filter((name) => !name.includes("json"));
    expect(programs).toHaveLength(4);
    // CommonJS has to import() an ES module, and moduleResolution node10 reads no `exports`: neither is
    // supported.
    const unsupported = new Set(["CJSResolvesToESM", "NoResolution"]);
    expect(problems.filter(({ kind }) => !unsupported.has(kind))).toEqual([]);
    for (const name of programs)
      for (const kind of ["node16-esm", "bundler"] as const)
        expect(entrypoints[name]!.resolutions[kind].resolution?.fileName, `${name} ${kind}`).toMatch(
          /\.d\.ts$/,
        );
  });
});

describe("the release", () => {
  const archive = `kubectl-clusterset-${manifest.version}.tar.gz`;

  it("has the package, its bill of materials, the plugin, notes, and the SHA-256 of each", () => {
    const ours = ["cdx.json", "tgz"].map((end) => `clusterset-doh-${manifest.version}.${end}`);
    const files = ["NOTES.md", ...ours, "clusterset.yaml", archive];
    expect(readdirSync(packed.release).sort()).toEqual([...files, "SHA256SUMS"].sort());
    const read = (file: string) => readFileSync(join(packed.release, file));
    const sums = files.map((file) => `${createHash("sha256").update(read(file)).digest("hex")}  ${file}`);
    expect(String(read("SHA256SUMS")).trim().split("\n").sort()).toEqual(sums.sort());
  });

  it("has a plugin that krew installs and kubectl runs, which calls itself kubectl clusterset", async () => {
    const [krew, kubectl] = [await ensureTool("krew"), await ensureTool("kubectl")];
    const folder = join(packed.folder, "krew");
    const node = dirname(process.execPath);
    const PATH = `${folder}/bin:${node}:/usr/bin:/bin`;
    const env = { PATH, HOME: folder, KREW_ROOT: folder, KREW_NO_UPGRADE_CHECK: "1" };
    const options = { cwd: packed.folder, env, encoding: "utf8", stdio: "pipe" } as const;
    const run = (program: string, ...args: string[]) => execFileSync(program, args, options);
    const file = join(packed.release, "clusterset.yaml");
    run(krew, "install", `--manifest=${file}`, `--archive=${join(packed.release, archive)}`);
    expect(run(kubectl, "plugin", "list")).toContain(`${folder}/bin/kubectl-clusterset`);
    expect(run(kubectl, "clusterset", "--version")).toBe(`${manifest.version}\n`);
    expect(run(kubectl, "clusterset", "query", "--help")).toContain("Usage: kubectl clusterset query");
    const clusters = ["--manifests", join(root, "examples/cluster-a")];
    expect(run(kubectl, "clusterset", "query", "--short", ...clusters, "shop/web")).toBe("10.96.1.10\n");
    const { spec } = parse(readFileSync(file, "utf8")) as { spec: { platforms: { uri: string }[] } };
    const url = manifest.repository.url.replace(/^git\+|\.git$/g, "");
    for (const { uri } of spec.platforms)
      expect(uri).toBe(`${url}/releases/download/v${manifest.version}/${archive}`);
  });
});

describe("its public names", () => {
  it.each([
    [".", ["UsageError", "VERSION", "createGateway", "createSteadyClock", "systemClock"]],
    ["./resolve", ["HTTPS", "compileSnapshots", "streamTransport", "udpTransport"]],
    [
      "./snapshot",
      [
        "ClusterSnapshot",
        "ClusterZone",
        "Endpoint",
        "EndpointGroup",
        "EndpointGroups",
        "EndpointPort",
        "ExportedService",
        "Finding",
        "ImportedService",
        "LocalService",
        "SNAPSHOT_FORMAT_VERSION",
        "ServicePort",
        "SnapshotError",
        "encodeChanges",
        "encodeSnapshot",
        "parseSnapshot",
      ],
    ],
  ])("of %s are these", async (name, names) => {
    const entry = manifest.exports[name] as { readonly default: string };
    const exported: object = await import(join(packed.folder, "node_modules/clusterset-doh", entry.default));
    expect(Object.keys(exported).sort()).toEqual(names);
  });

  it("are exported by nothing else", () => {
    expect(Object.keys(manifest.exports)).toEqual([
      ".",
      "./resolve",
      "./snapshot",
      "./workers",
      "./openapi.json",
      "./schema/*.json",
      "./package.json",
    ]);
    expect(packed.files).toContain("docs/reference/schema/cluster-snapshot.json");
    expect(() => import.meta.resolve("clusterset-doh/dist/hosts/cli.js")).toThrow();
  });

  it("have a docstring each", () => {
    for (const entry of ["gateway", "resolve", "snapshot"]) {
      const text = readFileSync(join(root, `src/embedding/${entry}.ts`), "utf8");
      const undocumented = /(?<!\*\/\n)^export (?:async )?(?:function|interface|type|const|class) \w+/m;
      expect(text, entry).not.toMatch(undocumented);
    }
  });
});

const ANSWER = {
  Status: 0,
  Answer: [{ name: "web.shop.svc.clusterset.example.org.", type: 1, TTL: 5, data: "10.112.0.10" }],
};
const OF_GATEWAY = {
  hello: "the program's own path",
  rejected: [401, "UNKNOWN_TOKEN"],
  pushed: [200, "cluster-a"],
  answer: expect.objectContaining(ANSWER),
  withoutHono: expect.objectContaining(ANSWER),
  missing: 404,
  logged: true,
  wrong: expect.stringMatching(/^access: is needed/),
};
const OF_RESOLVE = {
  services: 1,
  outcome: ["answer", 7],
  address: [10, 112, 0, 10],
  inView: "answer",
  noQuery: "no query",
  valid: true,
  invalid: "INVALID_SNAPSHOT clusterId",
};

const PRINTED = { "gateway.ts": OF_GATEWAY, "resolve.ts": OF_RESOLVE };

describe("programs with the package", () => {
  let compiled: ReturnType<typeof typesOf>;

  beforeAll(() => {
    const programs = ["gateway.ts", "resolve.ts", ...ON_PAGE.slice(0, 2)];
    compiled = typesOf(packed, programs, { module: "nodenext", types: ["node"], emit: true });
  });

  it("compile with moduleResolution nodenext and the types of Node, and with bundler and those of a browser", () => {
    expect(compiled.errors).toEqual([]);
    const { errors } = typesOf(packed, Object.keys(PRINTED), { module: "esnext", types: [], lib: WEB });
    expect(errors).toEqual([]);
  });

  it.each(Object.entries(PRINTED))(
    "run, also as a bundle without a module of Node: %s",
    (program, printed) => {
      const { script, outside } = bundleConsumer(packed, program);
      expect(outside).toEqual([]);
      for (const one of [compiled.scriptOf(program), script]) expect(runConsumer(one)).toEqual(printed);
    },
  );

  it("of docs/how-to/embed.md: a gateway in a Hono application, which ends with SIGTERM", async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [compiled.scriptOf("page-gateway.ts")], {
      env: { ...process.env, PORT: String(port), CLUSTER_A_SHA256: "0".repeat(64) },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const ended = once(child, "exit");
    try {
      await eventually(() => textAt(port, "/hello")).toBe("a path of this program");
      expect(await textAt(port, "/healthz")).toBe("ok\n");
      child.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("of docs/how-to/embed.md: answers from a snapshot", () => {
    const file = join(packed.folder, "snapshot.json");
    writeFileSync(file, JSON.stringify(snapshot));
    const args = [compiled.scriptOf("page-resolve.ts"), file];
    expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe("answer for 5 seconds\n");
  });

  it("of docs/how-to/embed.md: a Worker that compiles with the types of Workers, and bundles to one as small as the one of the checkout, without code for Node", () => {
    const compilation = { module: "esnext", types: ["@cloudflare/workers-types"] } as const;
    expect(typesOf(packed, ["worker.ts"], compilation).errors).toEqual([]);
    expect(describeBundle(bundleWorker(wranglerConfig(packed, root))).errors).toEqual([]);
  });
});

/** The body at a path of a local server; undefined while there is none. */
async function textAt(port: number, path: string): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  return response?.text();
}
