/** `npm run build:lambda [FILE]`: the function for AWS Lambda as one file, dist/lambda/index.mjs by default. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Bundles the function for the Node of AWS Lambda. */
export async function bundleLambda(outfile: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/hosts/lambda/index.ts"],
    outfile,
    bundle: true,
    minify: true,
    sourcemap: true,
    // The map is its own file: beside the function it can be left out of the upload.
    sourcesContent: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // dns-packet asks for modules of Node by require.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
}

if (import.meta.main) {
  const outfile = resolve(process.argv[2] ?? join(root, "dist/lambda/index.mjs"));
  await bundleLambda(outfile);
  console.log(`${outfile}: ${(statSync(outfile).size / 1000).toFixed(1)} KB; its handler is index.handler`);
}
