import { expect, test } from "vitest";
import { OTHER_STATUS, STATUS } from "../../../src/http/messages/codes.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";
import { textOf } from "../../docs/pages.ts";

test("the pages list every code with its status", () => {
  const pages = ["reference/push-api", "reference/control-api", "reference/transfer"];
  const guides = ["how-to/federation", "how-to/troubleshoot"];
  const lines = [...pages, ...guides].flatMap((page) => textOf(`docs/${page}.md`).split("\n"));
  for (const [code, status] of [...Object.entries(STATUS), ...Object.entries(OTHER_STATUS)]) {
    const isListed = (line: string) => line.includes(`\`${code}\``) && line.includes(`${status}`);
    expect([code, lines.some(isListed)]).toEqual([code, true]);
  }
});

test("docs/reference/push-api.md has the default leases", () => {
  const { defaultSeconds, minimumSeconds, maximumSeconds } = DEFAULT_LEASE;
  expect(textOf("docs/reference/push-api.md")).toContain(
    `default ${defaultSeconds}; ${minimumSeconds} to ${maximumSeconds} unless`,
  );
});
