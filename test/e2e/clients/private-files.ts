import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A command line in namespaces of its own, which see these files in `/etc` and end with the command. */
export function withPrivateFiles({
  command,
  args,
  folder,
  etc,
}: {
  command: string;
  args: readonly string[];
  folder: string;
  /** Files below `/etc`, by their path there. They need not exist outside. */
  etc: Readonly<Record<string, string>>;
}) {
  const etcFolder = join(folder, "etc");
  for (const [path, text] of Object.entries(etc)) {
    const file = join(etcFolder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const script = 'mount -t overlay overlay -o "lowerdir=$1:/etc" /etc && shift && exec "$@"';
  return {
    command: "unshare",
    args: [...asRoot, ...namespaces, "sh", "-c", script, "sh", etcFolder, command, ...args],
  };
}
