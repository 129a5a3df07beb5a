import type { HostUnderTest } from "../../conformance/host-under-test.ts";
import { connectTo } from "../../conformance/hosts/socket-fetch.ts";
import type { Fetch } from "../../conformance/http-case.ts";
import { describeHost } from "../../conformance/suite.ts";
import { isLostInProxy } from "../edge/harness/dev-process.ts";
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

/** Sends a request again, once, that got lost in the proxy of `wrangler dev`. */
async function fetchThrough(fetch: Fetch, request: Request): Promise<Response> {
  const again = request.clone();
  const response = await fetch(request);
  if (response.status !== 500) return response;
  const text = await response.clone().text();
  return isLostInProxy({ status: 500, text }, request.method) ? fetch(again) : response;
}

describeHost(workerd);
