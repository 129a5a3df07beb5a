import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OTHER_STATUS, STATUS } from "../../../src/http/messages/codes.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";

const root = join(import.meta.dirname, "../../..");
const read = (page: string) => readFileSync(join(root, "docs/reference", page), "utf8");
const documentation = read("push-api.md");

test("the pages list every code with its status", () => {
  const pages = [
    "push-api.md",
    "control-api.md",
    "transfer.md",
    "../how-to/federation.md",
    "../how-to/troubleshoot.md",
  ];
  const lines = pages.flatMap((page) => read(page).split("\n"));
  for (const [code, status] of [...Object.entries(STATUS), ...Object.entries(OTHER_STATUS)]) {
    const isListed = (line: string) => line.includes(`\`${code}\``) && line.includes(`${status}`);
    expect([code, lines.some(isListed)]).toEqual([code, true]);
  }
});

test("docs/reference/push-api.md has the default leases", () => {
  const { defaultSeconds, minimumSeconds, maximumSeconds } = DEFAULT_LEASE;
  expect(documentation).toContain(`default ${defaultSeconds}; ${minimumSeconds} to ${maximumSeconds} unless`);
});
