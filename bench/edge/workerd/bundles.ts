import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { buildWorker } from "../../../test/e2e/edge/wrangler.ts";
import { temporaryFolder } from "../../../test/e2e/servers/tools/folders.ts";
import type { HttpAnswer } from "../../processes/ask.ts";

/** Scripts that Workers are made of: paths of files. */
export interface Scripts {
  /** What `wrangler deploy` would upload. */
  readonly gateway: string;
  /** The object with counts, and the Worker that can be asked for nothing; both import `gateway`. */
  readonly countingObject: string;
  readonly startedFirst: string;
  /** For Workers whose object is in another process; `startedFirst` imports it. */
  readonly objectElsewhere: string;
  readonly memoryCache: string;
}

/** Workers that know one answer. */
export interface FixedScripts {
  readonly fixed: string;
  readonly fixedAfterBody: string;
  readonly fixedHono: string;
}

/** What the gateway's own bundle is called for a Worker that imports it. */
export const GATEWAY_MODULE = "gateway.js";
/** What goes before it where the object is in another process. */
export const ELSEWHERE_MODULE = "object-elsewhere.js";

export async function buildScripts(): Promise<Scripts> {
  const folder = temporaryFolder("scripts");
  const gateway = await buildWorker(folder);
  return {
    gateway,
    countingObject: await bundle("counting-object", folder),
    startedFirst: await bundle("started-first", folder),
    objectElsewhere: await bundle("object-elsewhere", folder),
    memoryCache: await bundle("memory-cache", folder),
  };
}

/** @param answer what they send: its header fields, but for the length that the runtime adds, and its body */
export async function buildFixedScripts({ headers: sent, body }: HttpAnswer): Promise<FixedScripts> {
  const folder = temporaryFolder("fixed");
  const { "content-length": _, ...headers } = sent;
  const define = { FIXED_ANSWER: JSON.stringify({ headers, body: body.toString("base64") }) };
  return {
    fixed: await bundle("fixed", folder, define),
    fixedAfterBody: await bundle("fixed-after-body", folder, define),
    fixedHono: await bundle("fixed-hono", folder, define),
  };
}

async function bundle(name: string, folder: string, define: Record<string, string> = {}): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "../workers", `${name}.ts`)],
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
    onResolve({ filter: /^\.\/object-elsewhere\.ts$/ }, () => ({ path: ELSEWHERE_MODULE, external: true }));
  },
};
