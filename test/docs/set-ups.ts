import { blocksOf, textOf } from "./pages.ts";
import { stepsIn } from "./steps.ts";

const document = textOf("docs/how-to/access-examples.md");

/** A command of docs/how-to/access-examples.md, and parts of what it prints. */
export interface Command {
  readonly line: string;
  readonly expected: readonly string[];
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

/** A set-up as docs/how-to/access-examples.md has it. @throws {Error} where it has no such set-up */
export function documentedSetUp(name: SetUpName) {
  const [, below] = document.split(`\n${SET_UPS[name]}\n`);
  const [section] = below!.split(/^#{2,3} /m);
  if (!section!.includes(`(../../examples/security/${name}.yaml)`))
    throw new Error(`${SET_UPS[name]} does not link to its config file`);
  const steps = blocksOf(section!, "sh").flatMap(stepsIn);
  const running = steps.flatMap((step) => (step.kind === "start" ? step.line : []));
  const ending = steps.flatMap((step) => (step.kind === "run" ? step : []));
  const [serving, ...others] = running.filter((line) => line.startsWith("clusterset-doh serve "));
  if (serving === undefined || others.length > 0) throw new Error(`${SET_UPS[name]} has not one gateway`);
  return {
    /** Commands that end before others begin. */
    preparing: ending.flatMap(({ line, expected }) => (expected.length === 0 ? line : [])),
    serving,
    pushing: running.filter((line) => line.startsWith("clusterset-doh sync ")),
    asking: ending.filter(({ expected }) => expected.length > 0) as readonly Command[],
    corefile: blocksOf(section!, "corefile")[0],
  };
}
