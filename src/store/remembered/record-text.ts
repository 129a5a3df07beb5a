import { jsonOf } from "./json-text.ts";

/** A record whose checksum and name fit. */
export interface SoundRecord {
  readonly revision: number;
  readonly value: unknown;
  readonly text: string;
}

/** Writes a record as text: its SHA-256 in hex, a space, and `[name, revision, value]` as JSON. */
export async function encodeRecord(name: string, revision: number, value: unknown): Promise<string> {
  const body = `[${JSON.stringify(name)},${revision},${jsonOf(value)}]`;
  return `${await digestOf(body)} ${body}`;
}

/** Reads a record; undefined for no text, and for one that is torn, altered, or of another name. */
export async function decodeRecord(name: string, text: string | undefined): Promise<SoundRecord | undefined> {
  if (text === undefined) return undefined;
  const space = text.indexOf(" ");
  const body = text.slice(space + 1);
  if (space === -1 || text.slice(0, space) !== (await digestOf(body))) return undefined;
  const [of, revision, value] = JSON.parse(body) as [string, number, unknown];
  return of === name ? { revision, value, text } : undefined;
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
