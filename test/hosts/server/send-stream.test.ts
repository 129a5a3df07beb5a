import { Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sendStream } from "../../../src/hosts/node/server/http1.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A body whose pieces the test hands in one by one; it notes how often it is asked, and with what it is cancelled. */
function openBody() {
  const asked: ((piece: string | Error | undefined) => void)[] = [];
  let pulls = 0;
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        pulls++;
        const piece = await new Promise<string | Error | undefined>((resolve) => asked.push(resolve));
        if (isCancelled) return;
        if (piece instanceof Error) controller.error(piece);
        else if (piece === undefined) controller.close();
        else controller.enqueue(bytes(piece));
      },
      cancel() {
        isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return {
    stream,
    give: async (piece: string | Error | undefined) => {
      asked.shift()!(piece);
      await turns();
    },
    get pulls() {
      return pulls;
    },
    get isCancelled() {
      return isCancelled;
    },
  };
}

/** A response that takes four bytes at most before its client reads. */
function openResponse() {
  let read = () => {};
  const written: string[] = [];
  const response = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _, callback) {
      written.push(chunk.toString());
      read = callback;
    },
  });
  response.on("error", () => {});
  return {
    response,
    written,
    /** The client reads what was written last. */
    read: async () => {
      read();
      await turns();
    },
  };
}

async function turns() {
  for (let count = 0; count < 5; count++) await turn();
}

/** A response to which a body is being sent. */
async function start() {
  const body = openBody();
  const client = openResponse();
  let cuts = 0;
  let isOver = false;
  const sending = sendStream(body.stream, client.response, () => {
    cuts++;
    client.response.destroy();
  }).then(() => {
    isOver = true;
  });
  await turns();
  return {
    ...{ body, ...client, sending },
    get cuts() {
      return cuts;
    },
    get isOver() {
      return isOver;
    },
  };
}

describe("sendStream", () => {
  it("passes each piece on as it comes, and ends the response with the body", async () => {
    const sent = await start();
    await sent.body.give("ab");
    expect(sent.written).toEqual(["ab"]);
    await sent.read();
    await sent.body.give("c");
    expect(sent.written).toEqual(["ab", "c"]);
    await sent.read();
    expect(sent.response.writableEnded).toBe(false);
    await sent.body.give(undefined);
    await sent.sending;
    expect(sent.response.writableFinished).toBe(true);
    expect(sent.cuts).toBe(0);
  });

  it("asks the body for nothing while the client does not read", async () => {
    const sent = await start();
    await sent.body.give("12345");
    await turns();
    expect(sent.body.pulls).toBe(1);
    await sent.read();
    expect(sent.body.pulls).toBe(2);
    await sent.body.give("67890");
    expect(sent.body.pulls).toBe(2);
    await sent.read();
    expect(sent.body.pulls).toBe(3);
    expect(sent.written).toEqual(["12345", "67890"]);
  });

  it("cuts the response of a body that fails, so that the client sees no end of it", async () => {
    const sent = await start();
    await sent.body.give("ab");
    await sent.read();
    await sent.body.give(new Error("torn"));
    await sent.sending;
    expect(sent.cuts).toBe(1);
    expect(sent.response.writableEnded).toBe(false);
  });

  it("cancels the body when the client goes while the body has nothing", async () => {
    const sent = await start();
    sent.response.destroy();
    await sent.sending;
    expect(sent.body.isCancelled).toBe(true);
    expect([sent.cuts, sent.written]).toEqual([0, []]);
  });

  it("cancels the body when the client goes without reading", async () => {
    const sent = await start();
    await sent.body.give("12345");
    expect(sent.isOver).toBe(false);
    sent.response.destroy();
    await sent.sending;
    expect(sent.body.isCancelled).toBe(true);
    expect(sent.body.pulls).toBe(1);
    expect(sent.written).toEqual(["12345"]);
  });

  it("leaves no listener behind", async () => {
    const sent = await start();
    const before = openResponse().response;
    await sent.body.give(undefined);
    await sent.sending;
    for (const event of ["drain", "close"])
      expect(sent.response.listenerCount(event), event).toBe(before.listenerCount(event));
  });
});
