import { readFileSync } from "node:fs";
import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { UsageError } from "../../config/values.ts";
import { LEAST_KEY_CHARACTERS, TransferKeys } from "../../transfer/signature.ts";

/** Writes a file that is there whole or not at all, and there for good when the promise resolves. */
export async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Makes what a directory lists (new, renamed and removed names) survive a power cut. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Reads a token from a file; white space around it is ignored.
 * @throws {UsageError} if the file has no token
 */
export async function readToken(file: string): Promise<string> {
  return tokenIn(file, await readFile(file, "utf8").catch(unreadable));
}

/**
 * Reads the tokens that a file holds, one a line: all of them are valid, so that one can replace another without a gap.
 * @throws {UsageError} if it holds none, or a line has more than one word
 */
export async function readTokens(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(unreadable);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length === 0 ? [tokenIn(file, text)] : lines.map((line) => tokenIn(file, line));
}

/**
 * Reads a token from a file, without letting other work run meanwhile: a push waits for no thread of the pool.
 * @throws {UsageError} if the file has no token
 */
export function readTokenAtOnce(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    return unreadable(error as Error);
  }
  return tokenIn(file, text);
}

function unreadable({ message }: Error): never {
  throw new UsageError(`cannot read the token file: ${message}`);
}

function tokenIn(file: string, text: string): string {
  const token = text.trim();
  if (token === "") throw new UsageError(`the token file ${file} is empty: clusterset-doh token > ${file}`);
  if (/\s/.test(token)) throw new UsageError(`the token file ${file} holds more than one word`);
  return token;
}

/** The key that a primary signs with, from a file that may change while the gateway runs. @throws {UsageError} if the file has no key */
export async function loadTransferKey(file: string) {
  let secret = "";
  let keys = new TransferKeys([]);
  /**
   * Reads the file again. If that fails, the last key stays in force.
   * @returns whether the key changed
   * @throws {UsageError} where the file holds no key
   */
  const refresh = async (): Promise<boolean> => {
    const read = await readToken(file);
    if (read.length < LEAST_KEY_CHARACTERS)
      throw new UsageError(
        `transfer.keyFile: the key in ${file} has less than ${LEAST_KEY_CHARACTERS} characters: clusterset-doh token > ${file}`,
      );
    if (read === secret) return false;
    secret = read;
    keys = new TransferKeys([secret]);
    return true;
  };
  await refresh();
  return { current: () => keys, refresh };
}
