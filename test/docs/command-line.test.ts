import { describe, expect, it } from "vitest";
import { runCommand } from "../hosts/commands/run-command.ts";
import { blocksIn, pages, textOf } from "./pages.ts";

const page = textOf("docs/reference/command-line.md");

const helpOf = async (...command: string[]) => (await runCommand(...command, "--help")).stdout;

const names = [...(await helpOf()).matchAll(/^ {2}([a-z]+) (?:\[options\]|<)/gm)].map(([, name]) => name!);
/** The options of each command. */
const commands = new Map<string, string[]>();
for (const name of names) {
  const options = [...(await helpOf(name)).matchAll(/^ {2}(?:-\w, )?(--[a-z][a-z-]*)/gm)];
  commands.set(
    name,
    options.flatMap(([, option]) => (option === "--help" ? [] : [option!])),
  );
}

/** The options that a section names, with those of the section on client options if it links to that. */
function optionsIn(heading: string): string[] {
  const section = page.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  const shared = section.includes("(#client-options)") ? optionsIn("Client options") : [];
  const named = [...section.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option);
  return [...new Set([...named, ...shared])];
}

describe("docs/reference/command-line.md", () => {
  it.each([...commands])("has every option of %s and no other", (command, options) => {
    expect(optionsIn(command).sort()).toEqual([...options].sort());
  });

  it("has every command and no other", () => {
    const listed = [...page.matchAll(/^\| `([a-z]+)` \|/gm)].map(([, command]) => command!);
    expect(listed.sort()).toEqual([...commands.keys()].sort());
  });
});

/** Commands of ours in the pages, each on one line. */
const written = pages.flatMap((name) =>
  blocksIn(name, "sh")
    .join("\n")
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .flatMap((line) => [
      ...line.replace(/ #.*$/, "").matchAll(/(?<!--namespace )\bclusterset-doh ([a-z]+)( [^|;&)]*)?/g),
    ])
    .map(([line, command, rest]) => [name, command!, rest ?? "", line!.trim()] as const),
);

describe("commands in the pages", () => {
  it("are found", () => expect(written.length).toBeGreaterThan(25));

  it.each(written)("%s: %s%s", (_, command, rest) => {
    const options = commands.get(command);
    expect(options, command).toBeDefined();
    const named = [...rest.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option);
    expect(named.filter((option) => !options!.includes(option))).toEqual([]);
  });
});
