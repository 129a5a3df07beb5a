import * as z from "zod";
import type { FoundingDay } from "../shared/shared-log.ts";
import { StoreError } from "../store-error.ts";
import type { RedisConnection } from "./connection.ts";
import { FORMAT_VERSION, type LogKeys } from "./keys.ts";
import { HEAD } from "./log-scripts.ts";

/** An entry, as far as it shows whether the log goes on from it. */
export interface Mark {
  /** 0 for the beginning of the log. */
  readonly position: number;
  readonly id: string;
}

/** Where a log is. */
export interface LogHead extends Mark {
  readonly founding: FoundingDay | undefined;
  /** The first entry that the log has after the position that was asked for: its own position, and the id of the entry before it. */
  readonly next: { readonly position: number; readonly before: string } | undefined;
}

const Reply = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string(), z.string()]);
export const Founding = z.strictObject({ at: z.number(), over: z.boolean() });

/**
 * Reads where the log is.
 * @param after a position
 * @throws {StoreError} STORE_FAILED, also where it has another format
 */
export async function readHead(connection: RedisConnection, keys: LogKeys, after: number): Promise<LogHead> {
  const reply = await connection.script(HEAD, [keys.head, keys.log], [String(after)]);
  const [format, position, id, founding, next, before] = Reply.parse(reply);
  if (format !== "" && format !== FORMAT_VERSION) throw otherFormat(format);
  return {
    ...{ position: Number(position), id },
    founding: founding === "" ? undefined : Founding.safeParse(JSON.parse(founding)).data,
    next: next === "" ? undefined : { position: Number.parseInt(next, 10), before },
  };
}

/** What a release gets that does not know the format of what is kept. */
export function otherFormat(format: string): StoreError {
  return new StoreError(
    "STORE_FAILED",
    `what is kept there has the format version ${format}, and this release reads ${FORMAT_VERSION}: choose another prefix (store.prefix), or the release that wrote it`,
  );
}
