import { decode } from "dns-packet";
import { request } from "undici";
import { freePort } from "../../../test/e2e/servers/ports.ts";
import { encodeQuery } from "../../resolve/cases.ts";
import { type Answering, type Deployment, isolates } from "../location.ts";
import { buildFixedScripts } from "../workerd/bundles.ts";
import type { WorkerdSpec } from "../workerd/workerd.ts";
import type { WorkerService } from "../workerd/workerd-config.ts";
import { type FirstAnswer, type FirstAnswerOptions, firstAnswer } from "./first-answer.ts";

/** A process that is started, asked and ended. */
export interface ColdContender {
  readonly name: string;
  readonly start: (options?: FirstAnswerOptions) => Promise<FirstAnswer>;
}

export const FIXED = "fixed bytes";
export const FETCH_ONLY = "takes the root from the cache, no more";
export const CACHED = "gateway, root and segment in the cache";
export const HONO = "Hono, fixed bytes";
export const UNCACHED = "gateway, nothing in the cache";

const QUERY = encodeQuery("service-0.team-0.svc.clusterset.local", "A");
/** How long an isolate lives on that is to leave in the cache what it fetched, in milliseconds. */
const LEAVE_IN_CACHE = 500;

/** What is started cold. @param root the bytes of the root that the object serves */
export async function coldContenders(
  deployment: Deployment,
  object: Answering,
  cache: Answering,
  root: Uint8Array,
): Promise<ColdContender[]> {
  const { scripts } = deployment;
  const port = await freePort();
  const path = `/dns-query?dns=${Buffer.from(QUERY).toString("base64url")}`;
  const gateway = isolates(deployment, [port], object, cache);
  const fixed = await buildFixedScripts({ headers: {}, body: Buffer.from(QUERY) });
  const rootUrl = `${cache.url}/root`;
  const single = (script: string, more: Partial<WorkerService> = {}): WorkerdSpec => ({
    name: "single",
    services: [
      { name: "single", modules: [["worker.js", script]], ...more },
      { name: "cache", address: `127.0.0.1:${cache.port}` },
    ],
    sockets: [{ port, service: "single" }],
  });
  const fetchOnly = single(scripts.fetchOnly, {
    bindings: [{ name: "ROOT_URL", text: rootUrl }],
    cache: "cache",
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
    {
      name: FETCH_ONLY,
      start: async (options) => {
        await keepInCache(rootUrl, root);
        const check = (body: Buffer) => {
          if (Number(body.toString()) !== root.length) throw new Error("the root was not in the cache");
        };
        return firstAnswer(fetchOnly, "/", check, options);
      },
    },
  ];
}

function checkDnsAnswer(body: Buffer): void {
  const { answers = [], rcode } = decode(body) as ReturnType<typeof decode> & { rcode: string };
  if (answers.length === 0) throw new Error(`the first answer has no records: ${rcode}`);
}

/** Puts bytes into the cache as the Cache API would. */
async function keepInCache(url: string, bytes: Uint8Array): Promise<void> {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\ncache-control: max-age=86400\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), bytes]);
  const { statusCode } = await request(url, { method: "PUT", body });
  if (statusCode !== 204) throw new Error(`the cache answered ${statusCode}`);
}
