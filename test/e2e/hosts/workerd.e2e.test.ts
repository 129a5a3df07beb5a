import type { HostUnderTest } from "../../conformance/host-under-test.ts";
import { connectTo } from "../../conformance/hosts/socket-fetch.ts";
import type { Fetch } from "../../conformance/http-case.ts";
import { describeHost } from "../../conformance/suite.ts";
import { startWorker } from "../edge/wrangler.ts";

/** The Worker in workerd with a real Durable Object, started by `wrangler dev`. */
const workerd: HostUnderTest = {
  name: "workerd",
  async start({ push, ...config }) {
    const worker = await startWorker({ config, credentials: push?.credentials ?? [] });
    const client = connectTo(worker.url);
    return {
      fetch: (request) => fetchThrough(client.fetch, request),
      stop: async () => {
        await client.close();
        await worker.stop();
      },
    };
  },
};

/**
 * Sends a request again, once, that got lost in the proxy of `wrangler dev`: where a Worker answers before it
 * has the whole body, the proxy may fail to write the rest, and answers itself.
 */
async function fetchThrough(fetch: Fetch, request: Request): Promise<Response> {
  if (request.body === null) return fetch(request);
  const again = request.clone();
  const response = await fetch(request);
  const isLost =
    response.status === 500 && /^Error: Network connection lost/.test(await response.clone().text());
  return isLost ? fetch(again) : response;
}

describeHost(workerd);
