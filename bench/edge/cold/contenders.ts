import { decode } from "dns-packet";
import { request } from "undici";
import { freePort } from "../../../test/e2e/servers/ports.ts";
import { encodeQuery } from "../../resolve/cases.ts";
import { type Answering, type Deployment, isolates } from "../location.ts";
import { buildFixedScripts } from "../workerd/bundles.ts";
import type { WorkerdSpec } from "../workerd/workerd.ts";
import { type FirstAnswer, type FirstAnswerOptions, firstAnswer } from "./first-answer.ts";

/** A process that is started, asked and ended. */
export interface ColdContender {
  readonly name: string;
  readonly start: (options?: FirstAnswerOptions) => Promise<FirstAnswer>;
}

export const FIXED = "fixed bytes";
export const CACHED = "gateway, what the query needs is in the cache";
export const HONO = "Hono, fixed bytes";
export const UNCACHED = "gateway, nothing in the cache";

const QUERY = encodeQuery("service-0.team-0.svc.clusterset.local", "A");
/** How long an isolate lives on that is to leave in the cache what it fetched, in milliseconds. */
const LEAVE_IN_CACHE = 500;

/** What is started cold. */
export async function coldContenders(
  deployment: Deployment,
  object: Answering,
  cache: Answering,
): Promise<ColdContender[]> {
  const port = await freePort();
  const path = `/dns-query?dns=${Buffer.from(QUERY).toString("base64url")}`;
  const gateway = isolates(deployment, [port], object, cache);
  const fixed = await buildFixedScripts({ headers: {}, body: Buffer.from(QUERY) });
  const single = (script: string): WorkerdSpec => ({
    name: "single",
    services: [{ name: "single", modules: [["worker.js", script]] }],
    sockets: [{ port, service: "single" }],
  });
  const empty = async () => {
    await request(cache.url, { method: "DELETE" });
    // An object that nobody asks for 10 s is evicted; what starting it again takes is measured elsewhere.
    await (await request(`${object.url}/api/v1/transfer/state`)).body.dump();
  };
  return [
    { name: FIXED, start: (options) => firstAnswer(single(fixed.fixed), path, () => {}, options) },
    { name: HONO, start: (options) => firstAnswer(single(fixed.fixedHono), path, () => {}, options) },
    {
      name: UNCACHED,
      start: async (options) => {
        await empty();
        return firstAnswer(gateway, path, checkDnsAnswer, options);
      },
    },
    {
      name: CACHED,
      start: async (options) => {
        await empty();
        await firstAnswer(gateway, path, checkDnsAnswer, { linger: LEAVE_IN_CACHE });
        // The state that it left is too old by the time that this one asks.
        return firstAnswer(gateway, path, checkDnsAnswer, options);
      },
    },
  ];
}

function checkDnsAnswer(body: Buffer): void {
  const { answers = [], rcode } = decode(body) as ReturnType<typeof decode> & { rcode: string };
  if (answers.length === 0) throw new Error(`the first answer has no records: ${rcode}`);
}
