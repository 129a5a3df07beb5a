/** What a cold isolate does at the least: takes the image out of the location's cache; this one does nothing with it. */
interface Environment {
  /** Where the image is in the cache. */
  readonly IMAGE_URL: string;
}

export default {
  async fetch({ url }: Request, { IMAGE_URL }: Environment): Promise<Response> {
    if (url.endsWith("/started")) return new Response("started");
    const found = await caches.default.match(IMAGE_URL);
    const image = new Uint8Array((await found?.arrayBuffer()) ?? new ArrayBuffer(0));
    return new Response(`${image.length}`);
  },
};
