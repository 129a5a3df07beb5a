import { readFileSync } from "node:fs";
import { open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { UsageError } from "../../config/values.ts";
import { LEAST_KEY_CHARACTERS, TransferKeys } from "../../transfer/signature.ts";

/** Writes a file that is there whole or not at all, and there for good when the promise resolves. */
export async function writeDurably(path: string, content: Buffer | string, mode = 0o600): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await writeFile(temporary, content, { mode, flush: true });
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

/** @param what names the file in the error @throws {UsageError} */
export function readText(file: string, what = file): Promise<string> {
  return readFile(file, "utf8").catch((error: Error) => {
    throw new UsageError(`cannot read ${what}: ${error.message}`);
  });
}

const TOKEN_FILE = "the token file";

/**
 * Reads a token from a file; white space around it is ignored.
 * @param what names the file in errors
 * @throws {UsageError} if the file has no token
 */
export async function readToken(file: string, what = TOKEN_FILE): Promise<string> {
  return tokenIn(file, await readText(file, what), what);
}

/**
 * Reads the tokens that a file holds, one a line: all of them are valid, so that one can replace another
 * without a gap.
 * @throws {UsageError} if it holds none, or a line has more than one word
 */
export async function readTokens(file: string): Promise<string[]> {
  const text = await readText(file, TOKEN_FILE);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length === 0 ? [tokenIn(file, text)] : lines.map((line) => tokenIn(file, line));
}

/**
 * Reads a token from a file, without letting other work run meanwhile: a push waits for no thread of the
 * pool.
 * @throws {UsageError} if the file has no token
 */
export function readTokenAtOnce(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${TOKEN_FILE}: ${(error as Error).message}`);
  }
  return tokenIn(file, text);
}

function tokenIn(file: string, text: string, what = TOKEN_FILE): string {
  const token = text.trim();
  if (token === "") throw new UsageError(`${what} ${file} is empty: clusterset-doh token > ${file}`);
  if (/\s/.test(token)) throw new UsageError(`${what} ${file} holds more than one word`);
  return token;
}

/**
 * Files that settings name. Values are those of the start until `refresh` reads others; a file that cannot be
 * read leaves the last ones.
 */
export class WatchedFiles {
  readonly #readers: (() => Promise<boolean>)[] = [];

  /**
   * @param read reads one file, or several that belong together
   * @param use makes a value of what was read; called again when that has changed
   * @returns a function that returns the last value
   * @throws {UsageError} those of `read` and `use`
   */
  async watch<Content, Value>(
    read: () => Promise<Content>,
    use: (content: Content) => Value,
  ): Promise<() => Value> {
    let content = await read();
    let value = use(content);
    this.#readers.push(async () => {
      const next = await read();
      if (isDeepStrictEqual(next, content)) return false;
      value = use(next);
      content = next;
      return true;
    });
    return () => value;
  }

  /**
   * Watches each on its own: one that cannot be read keeps its last value, and the others change.
   * @returns a function that returns the last contents
   * @throws {UsageError} the first error of `read`
   */
  async watchEach<Item, Content>(
    items: readonly Item[],
    read: (item: Item) => Promise<Content>,
  ): Promise<() => Content[]> {
    const watched = items.map((item) =>
      this.watch(
        () => read(item),
        (content) => content,
      ),
    );
    const current = await Promise.all(watched);
    return () => current.map((content) => content());
  }

  /**
   * Reads all again, in the order in which they were watched.
   * @returns whether one changed
   * @throws {Error} that names all which failed, after all were read
   */
  async refresh(): Promise<boolean> {
    let hasChanged = false;
    const errors: Error[] = [];
    for (const reader of this.#readers)
      try {
        if (await reader()) hasChanged = true;
      } catch (error) {
        errors.push(error as Error);
      }
    if (errors.length > 1) throw new AggregateError(errors, errors.map(({ message }) => message).join("; "));
    if (errors.length > 0) throw errors[0];
    return hasChanged;
  }
}

/** What a file has; without a file there is nothing. @throws {UsageError} that of `read` */
export async function watchFile<Content>(
  file: string | undefined,
  read: (file: string) => Promise<Content>,
  files: WatchedFiles,
): Promise<() => Content | undefined> {
  if (file === undefined) return () => undefined;
  return files.watch(
    () => read(file),
    (content) => content,
  );
}

/** The key that a primary signs with. @throws {UsageError} if the file has no key */
export function watchTransferKey(file: string, files: WatchedFiles): Promise<() => TransferKeys> {
  return files.watch(
    () => readToken(file, "the key file"),
    (secret) => {
      if (secret.length >= LEAST_KEY_CHARACTERS) return new TransferKeys([secret]);
      throw new UsageError(
        `transfer.keyFile: the key in ${file} has less than ${LEAST_KEY_CHARACTERS} characters: clusterset-doh token > ${file}`,
      );
    },
  );
}
