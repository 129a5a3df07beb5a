/**
 * `npm run build:lambda [FILE]`: the function for AWS Lambda as one file, dist/lambda/index.mjs by default.
 */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { FOR_NODE } from "./build.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Bundles the function for the Node of AWS Lambda. */
export async function bundleLambda(outfile: string): Promise<void> {
  await build({
    ...FOR_NODE,
    entryPoints: ["src/hosts/lambda/index.ts"],
    outfile,
    minify: true,
    sourcemap: true,
    // The map is its own file: beside the function it can be left out of the upload.
    sourcesContent: true,
    target: "node24",
  });
}

if (import.meta.main) {
  const outfile = resolve(process.argv[2] ?? join(root, "dist/lambda/index.mjs"));
  await bundleLambda(outfile);
  console.log(`${outfile}: ${(statSync(outfile).size / 1000).toFixed(1)} KB; its handler is index.handler`);
}
