import { describeSharedLog } from "./contract.ts";
import { MemoryLog } from "./memory-log.ts";

describeSharedLog("in memory", async () => {
  const log = new MemoryLog(() => Date.now());
  return {
    async connect() {
      const connection = log.connect();
      return {
        log: connection,
        disconnect: () => connection.disconnect(),
        reconnect: () => connection.reconnect(),
      };
    },
    trim: async () => log.trim(),
    close: async () => {},
  };
});
