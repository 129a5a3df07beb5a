import { readFileSync } from "node:fs";

/** One stage of a Dockerfile: `FROM from AS name`. */
export interface Stage {
  name: string;
  from: string;
  /** `args` is what follows the name, line continuations joined. */
  instructions: { name: string; args: string }[];
}

/** The Dockerfile syntax that infra/container uses; anything else is an error here or in `buildImage`. */
export function readDockerfile(path: string): Stage[] {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join("\n")
    .replace(/\\\n\s*/g, " ")
    .split("\n");
  const stages: Stage[] = [];
  for (const line of lines) {
    const [, name, args] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === undefined || args === undefined) throw new Error(`${path}: no instruction: ${line}`);
    if (name === "FROM") {
      const [, from, stage] = /^(\S+) AS (\S+)$/.exec(args) ?? [];
      if (from === undefined || stage === undefined)
        throw new Error(`${path}: a stage without a name: ${args}`);
      stages.push({ name: stage, from, instructions: [] });
    } else stages.at(-1)!.instructions.push({ name, args });
  }
  return stages;
}

export interface ImageConfig {
  user: string;
  workdir: string;
  volumes: string[];
  env: Record<string, string>;
  labels: Record<string, string>;
  entrypoint: string[];
  cmd: string[];
}

/** The configuration that the instructions of the last stage add up to. */
export function imageConfig(stages: readonly Stage[]): ImageConfig {
  const all = stages.at(-1)!.instructions;
  const last = (name: string) => all.findLast((one) => one.name === name)?.args ?? "";
  const list = (name: string) => JSON.parse(last(name) || "[]") as string[];
  const pairs = (name: string) =>
    all
      .filter((one) => one.name === name)
      .flatMap(({ args }) => [...args.matchAll(/(\S+?)=(?:"([^"]*)"|(\S+))/g)])
      .map(([, key, quoted, plain]) => [key!, quoted ?? plain!] as const);
  return {
    user: last("USER"),
    workdir: last("WORKDIR"),
    volumes: all.filter(({ name }) => name === "VOLUME").map(({ args }) => args),
    env: Object.fromEntries(pairs("ENV")),
    labels: Object.fromEntries(pairs("LABEL")),
    entrypoint: list("ENTRYPOINT"),
    cmd: list("CMD"),
  };
}
