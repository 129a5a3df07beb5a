import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { stringify } from "yaml";
import type { Output } from "./process.ts";

/** Flags of commands that report. */
export interface ReportFlags {
  /** Undefined: text for people. */
  readonly output?: "json" | "yaml" | "wide" | undefined;
  readonly watch?: boolean | undefined;
}

/** What a command reports. */
interface Report<Code extends number> {
  /** For programs. */
  readonly value: object;
  /** For people. */
  readonly lines: readonly string[];
  /** For stderr. */
  readonly problems?: readonly string[] | undefined;
  readonly exitCode: Code;
}

/** Between two readings with `--watch`, in milliseconds. */
const PAUSE = 2000;

/**
 * Prints a report. With `--watch` it reads again and prints what has changed, until SIGINT ends the process
 * with 0; errors after the first report are printed once, and the next report that succeeds is printed again.
 */
export async function report<Code extends number>(
  read: () => Promise<Report<Code>>,
  flags: ReportFlags,
  output: Output,
): Promise<Code> {
  if (flags.watch === true) process.once("SIGINT", () => process.exit(0));
  const first = await read();
  printReport(first, flags, output);
  if (flags.watch !== true) return first.exitCode;
  let printed = essenceOf(first.value);
  let isFailing = false;
  for (;;) {
    await sleep(PAUSE);
    try {
      const next = await read();
      const essence = essenceOf(next.value);
      if (isFailing || essence !== printed) printReport(next, flags, output);
      isFailing = false;
      printed = essence;
    } catch (error) {
      // An error without a code is a bug.
      if (!(error instanceof Error && "code" in error)) throw error;
      if (!isFailing) output.err(error.message);
      isFailing = true;
    }
  }
}

/** Prints a report once. */
export function printReport(
  { value, lines, problems = [] }: Omit<Report<number>, "exitCode">,
  flags: ReportFlags,
  output: Output,
): void {
  for (const problem of problems) output.err(problem);
  const { output: format, watch } = flags;
  if (format === "json") output.out(JSON.stringify(value, undefined, watch === true ? 0 : 2));
  else if (format === "yaml") {
    const text = stringify(value, {
      aliasDuplicateObjects: false,
      lineWidth: 0,
      compat: "yaml-1.1",
    }).trimEnd();
    output.out(watch === true ? `---\n${text}` : text);
  } else for (const line of lines) output.out(line);
}

/** What makes a change: neither the time that passes, nor the order, which rotates. */
export function essenceOf(value: unknown): string {
  const text = JSON.stringify(value, (key, part: unknown) => {
    // Of a shared log the position grows with each renewal.
    if (/(?:ttl|seconds|^position)$/i.test(key)) return undefined;
    return Array.isArray(part) ? part.map(essenceOf).sort() : part;
  });
  return text.replaceAll(/\d+ (?:s|min|h)\b/g, "");
}

/** A text in a colour, if the stream is a terminal with colours; NO_COLOR counts. */
export function coloured(
  colour: "green" | "yellow" | "red",
  text: string,
  stream: NodeJS.WriteStream,
): string {
  return styleText(colour, text, { stream });
}
