import { blocksOf, textOf } from "./pages.ts";

const document = textOf("docs/how-to/access-examples.md");

/**
 * A command of docs/how-to/access-examples.md, and the words that stand behind its `#`: parts of what it
 * prints.
 */
export interface Command {
  readonly line: string;
  readonly expected: readonly string[];
}

/** A set-up as docs/how-to/access-examples.md has it. */
export interface DocumentedSetUp {
  /** Commands that end before others begin, and those with `&` behind them, without it. */
  readonly preparing: readonly string[];
  readonly serving: string;
  readonly pushing: readonly string[];
  readonly asking: readonly Command[];
  readonly corefile: string | undefined;
}

/** The files of examples/security without `.yaml`, with the headings of their sections. */
export const SET_UPS = {
  "public-lab": "## A public lab",
  company: "## A company",
  "zero-trust": "## Zero trust",
} as const;
export type SetUpName = keyof typeof SET_UPS;

/** The function `ask` that commands use. */
export function askFunction(): string {
  return blocksOf(document.split("\n## ")[0]!, "sh")[0]!;
}

/** @throws {Error} where the documentation has no such set-up */
export function documentedSetUp(name: SetUpName): DocumentedSetUp {
  const section = sectionOf(SET_UPS[name]);
  const config = `(../../examples/security/${name}.yaml)`;
  if (!section.includes(config)) throw new Error(`${SET_UPS[name]} does not link to its config file`);
  const lines = blocksOf(section, "sh").flatMap((block) => block.trim().split("\n"));
  const running = lines.filter((line) => line.endsWith(" &")).map((line) => line.slice(0, -2));
  const asking = lines.flatMap((line) => {
    const [, command, words] = /^(.*?\S) +# (.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ line: command, expected: words!.split(" ") }];
  });
  return {
    preparing: lines.filter((line) => !line.endsWith(" &") && !line.includes(" # ")),
    serving: only(running.filter((line) => line.startsWith("clusterset-doh serve "))),
    pushing: running.filter((line) => line.startsWith("clusterset-doh sync ")),
    asking,
    corefile: blocksOf(section, "corefile")[0],
  };
}

function only(lines: readonly string[]): string {
  if (lines.length !== 1) throw new Error(`one line was expected, not ${JSON.stringify(lines)}`);
  return lines[0]!;
}

/** What stands below a heading, up to the next one. */
function sectionOf(heading: string): string {
  const start = document.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`docs/how-to/access-examples.md has no ${heading}`);
  return document.slice(start + heading.length + 2).split(/^#{2,3} /m)[0]!;
}
