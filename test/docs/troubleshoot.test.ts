import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FINDING_REASONS } from "../../src/merge/account.ts";
import { filesBelow, root, textOf } from "./pages.ts";

const page = textOf("docs/how-to/troubleshoot.md");
const sources = filesBelow(join(root, "src"))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(path, "utf8"));

/** Upper-case words of the code that are no codes of ours: those of Node.js, undici and placeholders. */
const OTHERS =
  /^(?:ERR_.*|HPE_.*|CERT_.*|DEPTH_ZERO_.*|SELF_SIGNED_.*|UNABLE_TO_.*|UND_ERR_.*|E[A-Z]+|PUSH_CREDENTIALS|CLUSTERSET_.*|GATEWAY_ADDRESS|HTTPS?_PROXY|NO_PROXY|NODE_ENV|DNS_JSON)$/;

/** What the first groups of these patterns find in the code. */
const namesIn = (...patterns: RegExp[]) =>
  new Set(
    sources.flatMap((text) =>
      patterns.flatMap((pattern) => Array.from(text.matchAll(pattern), ([, name]) => name!)),
    ),
  );

/** Stable codes: texts with an underscore, and what stands where a code does. */
const codes = [
  ...namesIn(
    /"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"/g,
    /\bcode(?::| =) "([A-Z]+)"/g,
    /(?:ApiError|Error|report)\((?:\s*\d{3},)?\s*"([A-Z]{4,})"/g,
    /^ {2}\d{3}: "([A-Z]+)",$/gm,
  ),
].filter((code) => !OTHERS.test(code));
const events = namesIn(
  /\bevent: "([a-z-]+)"(?! \|)/g,
  /\blog(?:Json)?\(\s*"(?:debug|info|warn|error)",\s*"([a-z-]+)"/g,
);
/** The page, and the sections to which it links for codes of pushes and the like. */
const explaining = [
  page,
  ...["push-api", "limits", "control-api", "transfer"].map((name) => textOf(`docs/reference/${name}.md`)),
  textOf("docs/how-to/federation.md"),
].join("\n");
const named = new Set([...explaining.matchAll(/`([A-Za-z][\w-]*)`/g)].map(([, name]) => name!));

describe("docs/how-to/troubleshoot.md, with the pages to which it links for codes", () => {
  it("has every stable code, and none that is gone", () => {
    expect(codes.length).toBeGreaterThan(80);
    expect(codes.filter((code) => !named.has(code)).sort()).toEqual([]);
    const listed = [...named].filter((name) => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(name));
    const known = sources.join("\n");
    expect(listed.filter((code) => !new RegExp(`\\b${code}\\b`).test(known))).toEqual([]);
  });

  it("has every event of the log", () => {
    expect(events.size).toBeGreaterThan(20);
    expect([...events].filter((event) => !named.has(event)).sort()).toEqual([]);
  });

  it("has every finding, conflict and problem in manifests", () => {
    const pattern =
      /"((?:Invalid|No|Unsupported|Unknown|Implausible|Duplicate|Name|Broken|Unreadable)[A-Z][A-Za-z]+|[A-Z][A-Za-z]+(?:Conflict|LeftOut|NotGranted)|TooMany|NotAnObject)"/g;
    const found = namesIn(pattern);
    found.delete("NodePort");
    // The reason of a condition that all is well.
    found.delete("NoConflicts");
    expect(found.size).toBeGreaterThan(35);
    expect([...found].filter((name) => !named.has(name)).sort()).toEqual([]);
  });

  it("and metrics have every finding on the objects of a cluster", () => {
    const found = namesIn(/\breport\(\s*"([A-Z][a-z][A-Za-z]+)"/g);
    expect(found.size).toBeGreaterThan(10);
    expect([...found].filter((name) => !(FINDING_REASONS as readonly string[]).includes(name))).toEqual([]);
  });

  it("has the findings that metrics know by name, and no other", () => {
    const [, table] = /^\| finding \|.*\n\|.*\n((?:\|.*\n)+)/m.exec(page)!;
    const rows = table!.split("\n").map((row) => row.split("|")[1] ?? "");
    const listed = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason]) => reason!));
    expect(listed.sort()).toEqual([...FINDING_REASONS].sort());
  });
});
