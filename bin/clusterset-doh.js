#!/usr/bin/env node
// Plain JavaScript that an old Node can read: it finds a Node that runs the rest, and the rest.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as module from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
const isOldNode = major < 22 || (major === 22 && minor < 19);
const packed = new URL("../dist/hosts/bundle/cli.js", import.meta.url);
const checkout = new URL("../src/hosts/cli.ts", import.meta.url);
const ownNode = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));

if (isOldNode && existsSync(ownNode)) {
  // The checkout brings Node along as a devDependency.
  const child = spawn(ownNode, process.argv.slice(1), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
} else if (isOldNode) {
  console.error(
    `clusterset-doh needs Node.js 22.19 or newer; this is ${process.versions.node}. https://nodejs.org has newer ones.`,
  );
  process.exitCode = 2;
} else {
  // A checkout has src/ and may have an older dist/ beside it; a package has dist/ alone.
  const isCheckout = existsSync(checkout);
  // Its TypeScript becomes JavaScript at each start: 0.6 of 1.3 s of CPU time with one thread, 1.3 of 2.9 s with two. The user's own folder, so that nobody else writes code there.
  if (isCheckout)
    module.enableCompileCache?.(fileURLToPath(new URL("../node_modules/.cache/node", import.meta.url)));
  await import(isCheckout ? checkout.href : packed.href);
}
