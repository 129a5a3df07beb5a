import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VERSION } from "../../src/assembly/version.ts";
import { manifest, root } from "./packed-package.ts";

it("the code has the version of package.json", () => {
  expect(VERSION).toBe(manifest.version);
});

it("the Dockerfile labels the image with the version of package.json", () => {
  const dockerfile = readFileSync(join(root, "infra/container/Dockerfile"), "utf8");
  expect(dockerfile).toContain(`org.opencontainers.image.version="${manifest.version}"`);
});
