/** What a cold isolate does at the least: takes the image out of the location's cache, or from the object, and does nothing with it. */
interface Environment {
  /** Where the image is in the cache. */
  readonly IMAGE_URL: string;
}

export default {
  async fetch(_request: Request, { IMAGE_URL }: Environment): Promise<Response> {
    const found = await caches.default.match(IMAGE_URL);
    const image = new Uint8Array((await found?.arrayBuffer()) ?? new ArrayBuffer(0));
    return new Response(`${image.length}`);
  },
};
