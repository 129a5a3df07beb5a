import { textOf } from "./pages.ts";

/** What a reader of a page does, in order. */
export type Step =
  | { readonly kind: "file"; readonly path: string; readonly text: string }
  /** A command that goes on, without its `&`. */
  | { readonly kind: "start"; readonly line: string }
  /** A command that ends; what it prints has every one of these parts. */
  | { readonly kind: "run"; readonly line: string; readonly expected: readonly string[] };

/** The steps of a page until a heading: files in YAML, named by their first line, and commands. */
export function stepsOf(page: string, until?: string): Step[] {
  const text = textOf(page).split(until === undefined ? "\0" : `\n${until}\n`)[0]!;
  return [...text.matchAll(/^```(yaml|sh)\n(.*?)^```/gms)].flatMap(([, language, block]) => {
    if (language === "sh") return stepsIn(block!);
    const path = /^# (\S+\.yaml)\n/.exec(block!)?.[1];
    return path === undefined ? [] : [{ kind: "file", path, text: block! } as const];
  });
}

/** The commands of a block of shell code. */
export function stepsIn(block: string): Step[] {
  return commandsIn(block).map(stepOf);
}

/** Whole commands: loops over several lines, and lines that end with a backslash, are one. */
function commandsIn(block: string): string[] {
  const commands: string[] = [];
  let open = "";
  for (const line of block.trim().split("\n")) {
    open += open === "" ? line : `\n${line}`;
    const isLoop = /^for .*; do$/.test(open.split("\n")[0]!) && !/^done\b/m.test(open);
    if (line.endsWith("\\") || isLoop) continue;
    commands.push(open.replaceAll(/\\\n\s*/g, " "));
    open = "";
  }
  return commands;
}

function stepOf(line: string): Step {
  if (line.endsWith(" &")) return { kind: "start", line: line.slice(0, -2) };
  const [, command, words] = /^(.*?\S) {2,}# (.*)$/s.exec(line) ?? [undefined, line, ""];
  const expected = [...words!.matchAll(/"Status":\d|"([^"]+)"|(\S+)/g)].map(
    ([all, quoted, word]) => quoted ?? word ?? all,
  );
  return { kind: "run", line: command!, expected };
}
