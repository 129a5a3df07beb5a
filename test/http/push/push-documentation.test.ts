import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_GATEWAY_LIMITS } from "../../../src/gateway/pushing/limits.ts";
import { DEFAULT_PUSH_LIMITS } from "../../../src/http/push/push-limits.ts";

const root = join(import.meta.dirname, "../../..");
const read = (page: string) => readFileSync(join(root, "docs/reference", page), "utf8");
const documentation = read("push-api.md");

test("docs/reference/push-api.md and control-api.md list every code with its status", () => {
  const folder = join(root, "src/http/push");
  const routes = readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? join(entry.parentPath, entry.name) : [],
  );
  const text = [...routes, join(root, "src/http/messages/api-error.ts")]
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
  const thrown = [...text.matchAll(/new ApiError\(\s*(\d{3}),\s*"([A-Z0-9_]+)"/g)];
  const mapped = [...text.matchAll(/^ {2}([A-Z_]{6,}): (\d{3}),$/gm)].map(([all, code, status]) => [
    all,
    status,
    code,
  ]);
  expect(thrown.length).toBeGreaterThan(15);
  expect(mapped).toHaveLength(32);
  for (const [, status, code] of [...thrown, ...mapped]) {
    const rows = `${documentation}\n${read("control-api.md")}`
      .split("\n")
      .filter((line) => line.startsWith(`| ${status} |`));
    expect([code, rows.some((row) => row.includes(`\`${code}\``))]).toEqual([code, true]);
  }
});

test("docs/reference/push-api.md has the default limits", () => {
  const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB |`;
  const { pushSentBytes, pushBytes, pushBytesInFlight, pushLevels, pushRatio } = DEFAULT_PUSH_LIMITS;
  const { pushSmallBytes, pushIdleSeconds, pushSeconds } = DEFAULT_PUSH_LIMITS;
  const { pushValues, pushValuesPerSecond, pushesPerSecond, pushBurst, pushesInFlight } = DEFAULT_PUSH_LIMITS;
  const written = (number: number) => number.toLocaleString("en");
  expect(documentation).toContain(`elements of a body | ${written(pushValues)} |`);
  expect(documentation).toContain(
    `elements of one cluster, each second in the long run | ${written(pushValuesPerSecond)} |`,
  );
  expect(documentation).toContain(`in the long run; at once | ${pushesPerSecond}; ${pushBurst} |`);
  expect(documentation).toContain(`at the same time | ${pushesInFlight} |`);
  for (const text of [mebibytes(pushSentBytes), mebibytes(pushBytes)]) expect(documentation).toContain(text);
  expect(documentation).toContain(
    `in any case | ${pushBytesInFlight / 1024 / 1024} MiB; ${pushSmallBytes / 1024} KiB |`,
  );
  expect(documentation).toContain(`for the whole body | ${pushIdleSeconds}; ${pushSeconds} |`);
  expect(documentation).toContain(`levels of nesting | ${pushLevels} |`);
  expect(documentation).toContain(`(from 1 MiB on) | ${pushRatio} |`);
  expect(DEFAULT_GATEWAY_LIMITS.snapshotCharacters).toBe(pushBytes);
  const { defaultSeconds, minimumSeconds, maximumSeconds } = DEFAULT_GATEWAY_LIMITS.lease;
  expect(documentation).toContain(`default ${defaultSeconds}; ${minimumSeconds} to ${maximumSeconds} unless`);
});
