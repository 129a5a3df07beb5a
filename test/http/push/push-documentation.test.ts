import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ACCESS_STATUS } from "../../../src/access/client.ts";
import { PUSH_REFUSALS } from "../../../src/gateway/limits.ts";
import { LINES_STATUS } from "../../../src/http/messages/errors.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";

const root = join(import.meta.dirname, "../../..");
const read = (page: string) => readFileSync(join(root, "docs/reference", page), "utf8");
const documentation = read("push-api.md");

test("docs/reference/push-api.md and control-api.md list every code with its status", () => {
  const folder = join(root, "src/http/push");
  const routes = readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? join(entry.parentPath, entry.name) : [],
  );
  const text = [...routes, join(root, "src/http/messages/errors.ts")]
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
  const thrown = [...text.matchAll(/new ApiError\(\s*(\d{3}),\s*"([A-Z0-9_]+)"/g)];
  const mapped = Object.entries({ ...ACCESS_STATUS, ...LINES_STATUS });
  expect(thrown.length).toBeGreaterThan(15);
  const refusals = Object.entries(PUSH_REFUSALS).map(([code, { status }]) => ["", String(status), code]);
  for (const [, status, code] of [
    ...thrown,
    ...mapped.map(([code, status]) => ["", status, code]),
    ...refusals,
  ]) {
    const rows = `${documentation}\n${read("control-api.md")}`
      .split("\n")
      .filter((line) => line.startsWith(`| ${status} |`));
    expect([code, rows.some((row) => row.includes(`\`${code}\``))]).toEqual([code, true]);
  }
});

test("docs/reference/push-api.md has the default leases", () => {
  const { defaultSeconds, minimumSeconds, maximumSeconds } = DEFAULT_LEASE;
  expect(documentation).toContain(`default ${defaultSeconds}; ${minimumSeconds} to ${maximumSeconds} unless`);
});
