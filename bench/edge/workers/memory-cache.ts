/**
 * A location's cache, in memory, as workerd's Cache API speaks to it: GET is `match` (504 where there is
 * nothing), PUT is `put` with the whole response as its body, PURGE is `delete`. `GET /counts` tells how
 * often each was asked, `DELETE /` forgets everything.
 */
import type { CacheCounts } from "../counts.ts";

interface Kept {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: readonly (readonly [string, string])[];
  /** Unix milliseconds. */
  readonly until: number;
}

const kept = new Map<string, Kept>();
const counts: CacheCounts = { hits: 0, misses: 0, puts: 0, deletes: 0, bytes: 0 };

export default {
  async fetch(request: Request): Promise<Response> {
    const { method, url } = request;
    if (new URL(url).pathname === "/counts") return Response.json(counts);
    if (method === "DELETE") {
      kept.clear();
      return new Response(null, { status: 204 });
    }
    if (method === "PUT") {
      counts.puts++;
      kept.set(url, parse(new Uint8Array(await request.arrayBuffer())));
      return new Response(null, { status: 204 });
    }
    if (method === "PURGE") {
      counts.deletes++;
      return new Response(null, { status: kept.delete(url) ? 200 : 404 });
    }
    const found = kept.get(url);
    if (found === undefined || found.until <= Date.now()) {
      counts.misses++;
      return new Response(null, { status: 504, headers: { "cf-cache-status": "MISS" } });
    }
    counts.hits++;
    counts.bytes += found.body.length;
    return new Response(found.body, { headers: [...found.headers, ["cf-cache-status", "HIT"]] });
  },
};

/** A response as it stands on the wire: status line, header fields, an empty line, the body. */
function parse(response: Uint8Array<ArrayBuffer>): Kept {
  let end = 0;
  while (!(response[end] === 13 && response[end + 1] === 10 && response[end + 2] === 13)) end++;
  const [, ...lines] = new TextDecoder().decode(response.subarray(0, end)).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const field = (name: string) => headers.find(([known]) => known.toLowerCase() === name)?.[1] ?? "";
  if (field("transfer-encoding") !== "") throw new Error("this cache keeps bodies of known length only");
  const seconds = Number(/max-age=(\d+)/.exec(field("cache-control"))?.[1] ?? 0);
  return { body: response.slice(end + 4), headers, until: Date.now() + seconds * 1000 };
}
