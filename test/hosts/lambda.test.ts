import type { LambdaEvent } from "hono/aws-lambda";
import { describe, expect, it } from "vitest";
import type { Client } from "../../src/access/client.ts";
import { createLambdaHandler } from "../../src/hosts/lambda/lambda-handler.ts";
import type { Background } from "../../src/transfer/secondary.ts";
import { type EventV2, recordedEvent } from "../conformance/hosts/lambda-event.ts";

const FORGED = "10.0.0.1";
/** A load balancer appends the address to what the client wrote. */
const APPENDED = `${FORGED}, 192.0.2.44`;
const MESSAGE = Uint8Array.of(0, 255, 254);

/** A function whose application answers with bytes that are no text. */
function open() {
  const seen: { asked: string; body: number; address: string | undefined }[] = [];
  const handler = createLambdaHandler({
    fetch: async (request, client) => {
      const asked = `${request.method} ${request.url.replace(/^https?:\/\/[^/]+/, "").slice(0, 15)}`;
      seen.push({ asked, body: (await request.bytes()).length, address: client?.address });
      return new Response(MESSAGE, { headers: { "content-type": "application/dns-message" } });
    },
  });
  return { seen, handler };
}

describe("a recorded event", () => {
  it.each<[string, object, asked: string, body: number, address: string | undefined]>([
    ["http-api-get", { "x-forwarded-for": FORGED }, "GET /dns-query?dns=", 0, "192.0.2.44"],
    ["rest-api-get", { "x-forwarded-for": FORGED }, "GET /dns-query?dns=", 0, "192.0.2.44"],
    ["function-url-get", { "x-forwarded-for": FORGED }, "GET /resolve?name=w", 0, "2001:db8::44"],
    ["load-balancer-post", { "x-forwarded-for": APPENDED }, "POST /dns-query", 46, "192.0.2.44"],
    ["load-balancer-post", {}, "POST /dns-query", 46, undefined],
  ])(
    "%s with %j is the request of a client at the address that AWS saw, and is answered in base64",
    async (name, headers, asked, body, address) => {
      const { seen, handler } = open();
      const recorded = recordedEvent<LambdaEvent>(name);
      const { "x-forwarded-for": _, ...rest } = recorded.headers ?? {};
      const result = await handler({ ...recorded, headers: { ...rest, ...headers } } as LambdaEvent);
      expect(seen).toEqual([{ asked, body, address }]);
      const base64 = Buffer.from(MESSAGE).toString("base64");
      expect(result).toMatchObject({ statusCode: 200, isBase64Encoded: true, body: base64 });
      const fields = name === "rest-api-get" ? result.multiValueHeaders : result.headers;
      expect([fields?.["content-type"]].flat()).toEqual(["application/dns-message"]);
    },
  );

  it("has its stage's name before the path, which does not count", async () => {
    const { seen, handler } = open();
    const recorded = recordedEvent<EventV2>("http-api-get");
    const event = { ...recorded, rawPath: `/prod${recorded.rawPath}` };
    for (const stage of ["prod", "test"])
      await handler({ ...event, requestContext: { ...recorded.requestContext, stage } });
    expect(seen.map(({ asked }) => asked)).toEqual(["GET /dns-query?dns=", "GET /prod/dns-query"]);
  });
});

describe("what goes on behind a response", () => {
  const event = recordedEvent("http-api-get");
  const leaving = (work: Promise<void>) => ({
    fetch: async (_: Request, __?: Partial<Client>, background?: Background) => {
      background?.(work);
      return new Response("ok");
    },
  });

  it("is waited for, because Lambda halts the process then", async () => {
    const { promise: work, resolve: finish } = Promise.withResolvers<void>();
    let isAnswered = false;
    const answered = createLambdaHandler(leaving(work))(event).finally(() => {
      isAnswered = true;
    });
    await new Promise(setImmediate);
    expect(isAnswered).toBe(false);
    finish();
    expect((await answered).statusCode).toBe(200);
  });

  it("is not waited for without end", async () => {
    const { statusCode } = await createLambdaHandler(leaving(new Promise(() => {})))(event);
    expect(statusCode).toBe(200);
  });
});
