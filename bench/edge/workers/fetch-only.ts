/** What a cold isolate does at the least: takes the root out of the location's cache; this one does nothing with it. */
interface Environment {
  /** Where the root is in the cache. */
  readonly ROOT_URL: string;
}

export default {
  async fetch({ url }: Request, { ROOT_URL }: Environment): Promise<Response> {
    if (url.endsWith("/started")) return new Response("started");
    const found = await caches.default.match(ROOT_URL);
    const root = new Uint8Array((await found?.arrayBuffer()) ?? new ArrayBuffer(0));
    return new Response(`${root.length}`);
  },
};
