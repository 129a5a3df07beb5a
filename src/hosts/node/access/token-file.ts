import { readFile } from "node:fs/promises";
import { UsageError } from "../../../config/values/usage-error.ts";

/**
 * Reads a token from a file; white space around it is ignored.
 * @throws {UsageError} if the file has no token
 */
export async function readToken(file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the token file: ${(error as Error).message}`);
  }
  const token = text.trim();
  if (token === "") throw new UsageError(`the token file ${file} is empty: clusterset-doh token > ${file}`);
  if (/\s/.test(token)) throw new UsageError(`the token file ${file} holds more than one word`);
  return token;
}
