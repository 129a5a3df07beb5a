import { textOf } from "./pages.ts";

/** What a reader of a tutorial does, in order. */
export type Step =
  | { readonly kind: "file"; readonly path: string; readonly text: string }
  /** A command that goes on, without its `&`. */
  | { readonly kind: "start"; readonly line: string }
  /** A command that ends; what it prints has every one of these parts. */
  | { readonly kind: "run"; readonly line: string; readonly expected: readonly string[] };

/** The steps of a page: files in YAML, named by their first line, and commands with parts of their output behind `#`. */
export function stepsOf(page: string): Step[] {
  return [...textOf(page).matchAll(/^```(yaml|sh)\n(.*?)^```/gms)].flatMap(([, language, block]) => {
    if (language === "sh")
      return block!
        .trim()
        .replaceAll(/\\\n\s*/g, " ")
        .split("\n")
        .map(stepOf);
    const path = /^# (\S+)\n/.exec(block!)?.[1];
    if (path === undefined) throw new Error(`${page} has a file without a name:\n${block}`);
    return [{ kind: "file", path, text: block! } as const];
  });
}

function stepOf(line: string): Step {
  if (line.endsWith(" &")) return { kind: "start", line: line.slice(0, -2) };
  const [, command, words] = /^(.*?\S) {2,}# (.*)$/.exec(line) ?? [undefined, line, ""];
  const expected = [...words!.matchAll(/"Status":\d|"([^"]+)"|(\S+)/g)].map(
    ([all, quoted, word]) => quoted ?? word ?? all,
  );
  return { kind: "run", line: command!, expected };
}
