import type { HostUnderTest } from "../../conformance/host-under-test.ts";
import { connectTo } from "../../conformance/hosts/socket-fetch.ts";
import { describeHost } from "../../conformance/suite.ts";
import { startWorker } from "../edge/wrangler.ts";

/** The Worker in workerd with a real Durable Object, started by `wrangler dev`. */
const workerd: HostUnderTest = {
  name: "workerd",
  async start({ push, ...config }) {
    const worker = await startWorker({ config, credentials: push?.credentials ?? [] });
    const client = connectTo(worker.url);
    return {
      fetch: client.fetch,
      stop: async () => {
        await client.close();
        await worker.stop();
      },
    };
  },
};

describeHost(workerd);
