import { checkRecordName, type TextStore } from "../remembered/text-store.ts";
import type { RedisWriter } from "./redis-writer.ts";
import { RECORD } from "./scripts.ts";

/** Texts in a hash of Valkey or Redis. @param table a name */
export function createRecordTable(writer: RedisWriter, table: string): TextStore {
  const { connection, keys } = writer;
  const key = keys.records(table);
  return {
    place: key,
    names: () => connection.run((client) => client.hKeys(key)),
    read: async (name) => (await connection.run((client) => client.hGet(key, name))) ?? undefined,
    async keep(name, text) {
      checkRecordName(name);
      await writer.write(RECORD, [key], [name, text]);
    },
  };
}
