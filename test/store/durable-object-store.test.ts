import { expect } from "vitest";
import { createDurableObjectStore } from "../../src/store/durable-object-store.ts";
import { describeStore } from "./contract.ts";
import { sqliteDouble } from "./sqlite-double.ts";

const open = (database = sqliteDouble()) =>
  createDurableObjectStore(database, { onWarning: (warning) => expect.fail(warning.message) });

describeStore("Durable Object", async () => {
  const database = sqliteDouble();
  return {
    store: open(database),
    async reopen(opened) {
      await opened.close();
      return open(database);
    },
  };
});
