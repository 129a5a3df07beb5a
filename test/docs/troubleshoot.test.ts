import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { FINDING_REASONS } from "../../src/merge/account.ts";
import { filesBelow, pages, root, textOf } from "./pages.ts";

const page = textOf("docs/how-to/troubleshoot.md");
const sources = filesBelow(join(root, "src"))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(path, "utf8"));

/** Upper-case words of the code that are no codes of ours: those of Node.js, undici and placeholders. */
const OTHERS =
  /^(?:ERR_.*|HPE_.*|CERT_.*|DEPTH_ZERO_.*|SELF_SIGNED_.*|UNABLE_TO_.*|UND_ERR_.*|E[A-Z]+|PUSH_CREDENTIALS|CLUSTERSET_.*|GATEWAY_ADDRESS|HTTPS?_PROXY|NO_PROXY|NODE_ENV|DNS_JSON)$/;

/** Stable codes: texts with an underscore, and what stands where a code does. */
const codes = new Set(
  sources.flatMap((text) =>
    [
      ...text.matchAll(/"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"/g),
      ...text.matchAll(/\bcode(?::| =) "([A-Z]+)"/g),
      ...text.matchAll(/(?:ApiError|Error|report)\((?:\s*\d{3},)?\s*"([A-Z]{4,})"/g),
      ...text.matchAll(/^ {2}\d{3}: "([A-Z]+)",$/gm),
    ].flatMap(([, code]) => (OTHERS.test(code!) ? [] : [code!])),
  ),
);
const events = new Set(
  sources.flatMap((text) =>
    [
      ...text.matchAll(/\bevent: "([a-z-]+)"(?! \|)/g),
      ...text.matchAll(/\blog(?:Json)?\(\s*"(?:debug|info|warn|error)",\s*"([a-z-]+)"/g),
    ].map(([, event]) => event!),
  ),
);
/** The page, and the sections to which it links for codes of pushes and the like. */
const explaining = [
  page,
  ...["push-api", "limits", "control-api", "transfer"].map((name) => textOf(`docs/reference/${name}.md`)),
  textOf("docs/how-to/federation.md"),
].join("\n");
const named = new Set([...explaining.matchAll(/`([A-Za-z][\w-]*)`/g)].map(([, name]) => name!));

describe("docs/how-to/troubleshoot.md, with the pages to which it links for codes", () => {
  it("has every stable code", () => {
    expect(codes.size).toBeGreaterThan(80);
    expect([...codes].filter((code) => !named.has(code)).sort()).toEqual([]);
  });

  it("has no code that is gone", () => {
    const listed = [...named].filter((name) => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(name));
    const known = sources.join("\n");
    expect(listed.filter((code) => !new RegExp(`\\b${code}\\b`).test(known))).toEqual([]);
  });

  it("has every event of the log", () => {
    expect(events.size).toBeGreaterThan(20);
    expect([...events].filter((event) => !named.has(event)).sort()).toEqual([]);
  });

  it("or another guide has the cause and the fix of every alert", () => {
    const rules = parse(textOf("infra/helm/gateway/alerts.yaml").replaceAll(/\{\{.*?\}\}/g, "x"));
    const alerts = JSON.stringify(rules).match(/(?<="alert":")\w+/g)!;
    expect(alerts.length).toBeGreaterThan(4);
    const guides = pages.filter((path) => path.startsWith("docs/how-to/")).map(textOf);
    expect(alerts.filter((alert) => !guides.some((text) => text.includes(`| \`${alert}\` |`)))).toEqual([]);
  });

  it("has every finding, conflict and problem in manifests", () => {
    const pattern =
      /"((?:Invalid|No|Unsupported|Unknown|Implausible|Duplicate|Name|Broken|Unreadable)[A-Z][A-Za-z]+|[A-Z][A-Za-z]+(?:Conflict|LeftOut|NotGranted)|TooMany|NotAnObject)"/g;
    const found = new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!)));
    found.delete("NodePort");
    // The reason of a condition that all is well.
    found.delete("NoConflicts");
    expect(found.size).toBeGreaterThan(35);
    expect([...found].filter((name) => !named.has(name)).sort()).toEqual([]);
  });

  it("and metrics have every finding on the objects of a cluster", () => {
    const reported = /\breport\(\s*"([A-Z][a-z][A-Za-z]+)"/g;
    const found = new Set(sources.flatMap((text) => [...text.matchAll(reported)].map(([, name]) => name!)));
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
