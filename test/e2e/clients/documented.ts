import { readFileSync } from "node:fs";

const document = readFileSync(new URL("../../../docs/how-to/plain-dns.md", import.meta.url), "utf8");

/** The gateway that docs/how-to/plain-dns.md speaks of, to be replaced by one that runs. */
const ADDRESS = "192.0.2.53";
const CA_FILE = "/etc/ssl/clusterset-doh.crt";

/** Where the gateway of a test is. */
export interface Reached {
  readonly port: number;
  readonly caFile?: string;
}

/**
 * A block of docs/how-to/plain-dns.md, with the place of this gateway in it.
 * @param language what stands behind the fence
 * @param index which of the blocks in that language
 * @throws {Error} if there is none, or it names no place
 */
export function documented(language: string, index: number, { port, caFile }: Reached): string {
  const blocks = [...document.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))];
  const block = blocks[index]?.[1];
  if (block === undefined) throw new Error(`docs/how-to/plain-dns.md has no block ${index} of ${language}`);
  const placed = block.replace(new RegExp(`${ADDRESS}([:@#])(?:53|853)\\b`), `127.0.0.1$1${port}`);
  if (placed === block || placed.includes(ADDRESS))
    throw new Error(`the block does not name one place:\n${block}`);
  return caFile === undefined ? placed : placed.replaceAll(CA_FILE, caFile);
}
