import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { run } from "../../../src/hosts/cli/program.ts";

async function completion(shell: string): Promise<string> {
  const lines: string[] = [];
  const output = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line) };
  expect(await run(["node", "clusterset-doh", "completion", shell], output)).toBe(0);
  return lines.join("\n");
}

const script = await completion("bash");

/** What bash completes of a line whose last word is being typed. */
function completed(...words: string[]): string[] {
  const line = ["clusterset-doh", ...words].map((word) => `'${word}'`).join(" ");
  const { stdout, stderr } = spawnSync(
    "bash",
    [
      "--norc",
      "-c",
      `${script}\nCOMP_WORDS=(${line}) COMP_CWORD=${words.length}\n_clusterset_doh\nprintf '%s\\n' "\${COMPREPLY[@]}"`,
    ],
    { encoding: "utf8" },
  );
  expect(stderr).toBe("");
  return stdout.split("\n").filter((word) => word !== "");
}

describe("completion bash, in bash", () => {
  it.each([
    [["se"], ["serve"]],
    [["s"], ["serve", "sync", "status"]],
    [
      ["query", "--exp"],
      ["--exports", "--explain"],
    ],
    [["serve", "--check"], ["--check-config"]],
    [
      ["token", "--"],
      ["--host-name", "--out", "--help"],
    ],
    [
      ["check", "--format", ""],
      ["zone", "json"],
    ],
    [["sync", "--pods", "in"], ["insecure"]],
    [["sync", "--log-level", "w"], ["warn"]],
    [["completion", "b"], ["bash"]],
  ])("%j is completed to %j", (words, expected) => {
    expect(completed(...words).sort()).toEqual([...expected].sort());
  });

  it("leaves the values of other options to the completion of files", () => {
    expect(completed("serve", "--config", "")).toEqual([]);
    expect(script).toContain("complete -o default -F _clusterset_doh clusterset-doh");
  });
});
