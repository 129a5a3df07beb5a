import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { UsageError } from "../../../config/values.ts";

/**
 * Reads a token from a file; white space around it is ignored.
 * @throws {UsageError} if the file has no token
 */
export async function readToken(file: string): Promise<string> {
  return tokenIn(
    file,
    await readFile(file, "utf8").catch((error: Error) => {
      throw unreadable(error);
    }),
  );
}

/**
 * Reads the tokens that a file holds, one a line: all of them are valid, so that one can replace another without a gap.
 * @throws {UsageError} if it holds none, or a line has more than one word
 */
export async function readTokens(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw unreadable(error);
  });
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
    throw unreadable(error as Error);
  }
  return tokenIn(file, text);
}

function unreadable({ message }: Error): UsageError {
  return new UsageError(`cannot read the token file: ${message}`);
}

function tokenIn(file: string, text: string): string {
  const token = text.trim();
  if (token === "") throw new UsageError(`the token file ${file} is empty: clusterset-doh token > ${file}`);
  if (/\s/.test(token)) throw new UsageError(`the token file ${file} holds more than one word`);
  return token;
}
