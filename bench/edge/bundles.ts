import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { buildWorker } from "../../test/e2e/edge/wrangler.ts";
import { temporaryFolder } from "../../test/e2e/servers/folders.ts";
import type { HttpAnswer } from "../ask.ts";

/** Scripts that Workers are made of: paths of files. */
export interface Scripts {
  /** What `wrangler deploy` would upload. */
  readonly gateway: string;
  /** Beside `gateway`: the object with counts. */
  readonly countingObject: string;
  readonly distantObject: string;
  readonly memoryCache: string;
  readonly fetchOnly: string;
}

/** Workers that know one answer. */
export interface FixedScripts {
  readonly fixed: string;
  readonly fixedAfterBody: string;
  readonly fixedHono: string;
}

/** What the gateway's own bundle is called for a Worker that imports it. */
export const GATEWAY_MODULE = "gateway.js";

export async function buildScripts(): Promise<Scripts> {
  const folder = temporaryFolder("scripts");
  const [countingObject, distantObject, memoryCache, fetchOnly] = await Promise.all(
    ["counting-object", "distant-object", "memory-cache", "fetch-only"].map((name) => bundle(name, folder)),
  );
  const gateway = await buildWorker(folder);
  return {
    gateway,
    countingObject: countingObject!,
    distantObject: distantObject!,
    memoryCache: memoryCache!,
    fetchOnly: fetchOnly!,
  };
}

/** @param answer what they send: its header fields and its body */
export async function buildFixedScripts({ headers, body }: HttpAnswer): Promise<FixedScripts> {
  const folder = temporaryFolder("fixed");
  const define = { FIXED_ANSWER: JSON.stringify({ headers, body: body.toString("base64") }) };
  const [fixed, fixedAfterBody, fixedHono] = await Promise.all(
    ["fixed", "fixed-after-body", "fixed-hono"].map((name) => bundle(name, folder, define)),
  );
  return { fixed: fixed!, fixedAfterBody: fixedAfterBody!, fixedHono: fixedHono! };
}

async function bundle(name: string, folder: string, define: Record<string, string> = {}): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "workers", `${name}.ts`)],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:workers"],
    plugins: [besideGateway],
    define,
    write: false,
  });
  const path = join(folder, `${name}.js`);
  writeFileSync(path, outputFiles[0]!.contents);
  return path;
}

/** Leaves the gateway's Worker to the module that wrangler made of it. */
const besideGateway: Plugin = {
  name: "beside-gateway",
  setup({ onResolve }) {
    onResolve({ filter: /src\/hosts\/workers\/worker\.ts$/ }, () => ({
      path: GATEWAY_MODULE,
      external: true,
    }));
  },
};
