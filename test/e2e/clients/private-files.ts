import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A program to which some files in `/etc` are others than to the rest of the machine. */
export interface PrivateProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** A folder for the files. */
  readonly folder: string;
  /** Files below `/etc`, by their path there. They need not exist outside. */
  readonly etc: Readonly<Record<string, string>>;
}

/**
 * The command line of a program in namespaces of its own: what configures a whole machine, such as managed
 * policies, is there for this program alone, and gone with it. Its processes end when this command does,
 * however that happens.
 */
export function withPrivateFiles({ command, args, folder, etc }: PrivateProgram): {
  command: string;
  args: string[];
} {
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
