import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const text = readFileSync(new URL("SECURITY.md", root), "utf8");
const [, threatModel = ""] = /^## Threat model$(.*?)^## /ms.exec(text) ?? [];
/** The rows of its tables, without their heads. */
const rows = threatModel
  .split("\n")
  .filter((line) => line.startsWith("|") && !line.startsWith("| attacker | ") && !line.startsWith("| --- |"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

describe("the threat model in SECURITY.md", () => {
  test("has rows for every kind of attacker", () => {
    const who = new Set(rows.map(([, name]) => name));
    for (const one of [
      "a client on the internet",
      "a client with a token",
      "a cluster with a credential",
      "the operator of another cluster",
      "a page of another origin",
      "somebody on the network",
      "an upstream, or a stub name server",
      "a primary, or its impostor",
      "a secondary, or its impostor",
      "a reader of logs",
      "a reader of the state folder or the settings",
      "the author of a dependency",
    ])
      expect.soft(who, one).toContain(one);
  });

  test.each(rows.map((cells) => [cells[1], cells[2], cells[3], cells[4]] as const))(
    "%s: %s",
    (who, does, stops, shownBy) => {
      expect(who).not.toBe("");
      expect(does).not.toBe("");
      expect(stops).not.toBe("");
      const named = [...shownBy!.matchAll(/`([^`]+)`: "([^"]+)"/g)];
      // Nothing stands in the cell but tests.
      expect(named.map(([one]) => one).join("; ")).toBe(shownBy);
      for (const [, path, name] of named) {
        expect(path).toMatch(/^test\/.+\.ts$/);
        const file = new URL(path!, root);
        expect(existsSync(fileURLToPath(file)), path).toBe(true);
        expect(readFileSync(file, "utf8"), path).toContain(name);
      }
    },
  );
});
