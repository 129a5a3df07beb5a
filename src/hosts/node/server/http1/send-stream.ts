import type { Writable } from "node:stream";

/**
 * Sends a body as it comes, no faster than the client reads. The body is cancelled when the client has gone.
 * @param cut ends the response of a body that failed, so that the client sees no end of it
 */
export async function sendStream(
  body: ReadableStream<Uint8Array>,
  response: Writable,
  cut: () => void,
): Promise<void> {
  const reader = body.getReader();
  let goOn = () => {};
  const gone = () => {
    goOn();
    reader.cancel().catch(() => {});
  };
  const drained = () => goOn();
  response.on("close", gone);
  response.on("drain", drained);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (response.destroyed) break;
      if (done) {
        response.end();
        break;
      }
      if (!response.write(value) && !response.destroyed)
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
    }
  } catch {
    cut();
  } finally {
    response.off("close", gone);
    response.off("drain", drained);
  }
}
