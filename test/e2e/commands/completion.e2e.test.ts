import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliPath } from "../harness/cli.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { waitFor } from "../servers/wait.ts";

const PROMPT = "READY> ";

/** The files of their homes are those that docs/reference/command-line.md names, and a prompt. */
const shells = [
  {
    name: "bash",
    command: "bash --rcfile .bashrc -i",
    home: { ".bashrc": `source <(clusterset-doh completion bash)\nPS1='${PROMPT}'\n` },
  },
  {
    name: "zsh",
    command: "zsh -d -i",
    home: { ".zshrc": `source <(clusterset-doh completion zsh)\nPS1='${PROMPT}'\n` },
  },
  {
    name: "zsh that has its completion already",
    command: "zsh -d -i",
    home: {
      ".zshrc": `autoload -Uz compinit && compinit -i\nsource <(clusterset-doh completion zsh)\nPS1='${PROMPT}'\n`,
    },
  },
  {
    name: "fish",
    command: "fish -i",
    home: {
      // Written by `clusterset-doh completion fish` before the prompt.
      ".config/fish/config.fish": `mkdir -p ~/.config/fish/completions
clusterset-doh completion fish > ~/.config/fish/completions/clusterset-doh.fish
function fish_prompt; echo -n '${PROMPT}'; end\n`,
    },
  },
];

/** Types lines into a shell with a terminal; returns the arguments of the command that each line ran. */
async function typed(
  { command, home }: (typeof shells)[number],
  lines: readonly string[],
): Promise<string[]> {
  const folder = temporaryFolder("shell");
  for (const [path, text] of Object.entries(home)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  mkdirSync(join(folder, "bin"));
  writeFileSync(
    join(folder, "bin/clusterset-doh"),
    `#!/bin/sh\n[ "$1" = completion ] && exec '${process.execPath}' '${cliPath}' "$@"\necho "RAN($*)"\n`,
    { mode: 0o755 },
  );
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", "script", "-qec", command, "/dev/null"], {
    cwd: folder,
    env: { PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder, TERM: "xterm", LANG: "C.UTF-8" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let shown = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
  const ran = () => [...shown.matchAll(/RAN\((.*?)\)/g)].map(([, args]) => args!.trim());
  const until = (what: string, isShown: () => boolean) =>
    waitFor(what, isShown).catch(() => expect.fail(`${what}: ${shown}`));
  try {
    await until("the prompt", () => shown.includes(PROMPT));
    for (const [index, line] of lines.entries()) {
      child.stdin.write(line);
      await until(`a command after ${JSON.stringify(line)}`, () => ran().length > index);
    }
    return ran();
  } finally {
    child.kill("SIGKILL");
  }
}

describe("completion, in a shell with a terminal", async () => {
  await ensureTool("zsh");
  await ensureTool("fish");
  test.each(shells)("$name completes a command, an option and a choice", async (shell) => {
    const lines = ["qu\t\r", "query --manif\t\r", "check --output y\t\r", "check -o y\t\r"].map(
      (line) => `clusterset-doh ${line}`,
    );
    expect(await typed(shell, lines)).toEqual([
      "query",
      "query --manifests",
      "check --output yaml",
      "check -o yaml",
    ]);
  });
});
