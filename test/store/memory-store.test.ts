import { createMemoryStore } from "../../src/store/memory-store.ts";
import { describeStore } from "./contract.ts";

describeStore("memory", async () => ({ store: createMemoryStore(), reopen: async (store) => store }));
