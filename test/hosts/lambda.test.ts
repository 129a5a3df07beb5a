import type { LambdaEvent } from "hono/aws-lambda";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/access/client.ts";
import { createLambdaHandler, type LambdaHandler } from "../../src/hosts/lambda/lambda-handler.ts";
import { createSecondaryHost, readSecondarySettings } from "../../src/hosts/secondary-host.ts";
import type { Background } from "../../src/transfer/secondary.ts";
import { NAME, RECORD } from "../conformance/cases/doh.ts";
import { credentialsOf } from "../conformance/host-under-test.ts";
import { eventOf, recordedEvent, responseOf } from "../conformance/hosts/lambda-event.ts";
import { type PrimaryHost, startPrimary } from "../conformance/hosts/primary.ts";
import { makeRequest } from "../conformance/http-case.ts";
import { httpWorld } from "../conformance/http-world.ts";
import { acknowledged, pushApi } from "../conformance/push-client.ts";
import { decode } from "../resolve/ask.ts";
import { snapshotBody } from "../snapshot/lines/push-lines.ts";

type LoadBalancerEvent = Extract<LambdaEvent, { readonly requestContext: { readonly elb: object } }>;

const TOKENS = ["cluster-a", "cluster-b"].map((clusterId) => ({ clusterId, token: `${clusterId}-token` }));

describe("recorded events", () => {
  let primary: PrimaryHost;
  let handler: LambdaHandler;
  beforeAll(async () => {
    primary = await startPrimary({
      zones: ["clusterset.test"],
      push: { credentials: credentialsOf(TOKENS) },
    });
    handler = createLambdaHandler(
      await createSecondaryHost(readSecondarySettings(primary.environment), () => {}),
    );
    const template = recordedEvent("http-api-post");
    // By way of the function: it hands pushes on.
    const { send } = pushApi(async (request) =>
      responseOf(await handler(await eventOf(request, template, "192.0.2.1"))),
    );
    for (const snapshot of httpWorld) {
      const { clusterId } = snapshot;
      const sent = { token: `${clusterId}-token`, body: snapshotBody(snapshot) };
      await acknowledged(send("PUT", `${clusterId}/snapshot`, sent));
    }
  });
  afterAll(() => primary?.stop());

  it.each(["http-api-get", "http-api-post", "function-url-post", "load-balancer-post"])(
    "%s gets a DNS message in base64",
    async (name) => {
      const result = await handler(recordedEvent<LambdaEvent>(name));
      expect(result).toMatchObject({
        statusCode: 200,
        isBase64Encoded: true,
        headers: {
          "content-type": "application/dns-message",
          "cache-control": expect.stringMatching(/max-age/),
        },
      });
      const message = Buffer.from(result.body, "base64");
      expect(message.toString("base64")).toBe(result.body);
      expect(result.headers?.["content-length"]).toBe(String(message.length));
      expect(decode(message).answer).toEqual([RECORD]);
    },
  );

  it("rest-api-get gets a DNS message in base64, and each field as a list", async () => {
    const result = await handler(recordedEvent<LambdaEvent>("rest-api-get"));
    expect(result).toMatchObject({
      statusCode: 200,
      isBase64Encoded: true,
      multiValueHeaders: { "content-type": ["application/dns-message"] },
    });
    expect(decode(Buffer.from(result.body, "base64")).answer).toEqual([RECORD]);
  });

  it("function-url-get gets JSON as it is", async () => {
    const result = await handler(recordedEvent<LambdaEvent>("function-url-get"));
    expect(result).toMatchObject({ statusCode: 200, isBase64Encoded: false });
    expect(JSON.parse(result.body)).toMatchObject({ Answer: [{ name: `${NAME}.`, data: "10.1.0.1" }] });
  });

  it("a stage's name before the path does not count", async () => {
    const recorded = recordedEvent("http-api-get");
    const event = {
      ...recorded,
      rawPath: `/prod${recorded.rawPath}`,
      requestContext: { ...recorded.requestContext, stage: "prod" },
    };
    expect((await handler(event)).statusCode).toBe(200);
    const other = { ...event, requestContext: { ...event.requestContext, stage: "test" } };
    expect((await handler(other)).statusCode).toBe(404);
  });
});

describe("the client's address", () => {
  const seen: (Partial<Client> | undefined)[] = [];
  const handler = createLambdaHandler({
    fetch: async (_, client) => {
      seen.push(client);
      return new Response("ok");
    },
  });
  const forged = { "x-forwarded-for": "10.0.0.1" };

  it.each([
    ["API Gateway's word, whatever the client wrote", "http-api-get", forged, "192.0.2.44"],
    ["a function URL's word", "function-url-get", forged, "2001:db8::44"],
    ["a REST API's word", "rest-api-get", forged, "192.0.2.44"],
  ])("is %s", async (_, name, headers, address) => {
    const recorded = recordedEvent(name);
    await handler({ ...recorded, headers: { ...recorded.headers, ...headers } });
    expect(seen.at(-1)).toEqual({ address: address, certificate: "none" });
  });

  it("is what the load balancer appended to what the client wrote", async () => {
    const recorded = recordedEvent<LoadBalancerEvent>("load-balancer-post");
    const headers = { ...recorded.headers, "x-forwarded-for": "10.0.0.1, 192.0.2.44" };
    await handler({ ...recorded, headers });
    expect(seen.at(-1)?.address).toBe("192.0.2.44");
  });

  it("is unknown if the event does not contain it", async () => {
    const recorded = recordedEvent<LoadBalancerEvent>("load-balancer-post");
    await handler({ ...recorded, headers: {} });
    expect(seen.at(-1)?.address).toBeUndefined();
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
    let finish = () => {};
    let isAnswered = false;
    const work = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const answered = createLambdaHandler(leaving(work))(event).then((result) => {
      isAnswered = true;
      return result;
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

it("answers while the primary cannot be reached: SERVFAIL, not ready, 502 for pushes", async () => {
  const handler = createLambdaHandler(
    await createSecondaryHost(
      readSecondarySettings({ CLUSTERSET_PRIMARY_URL: "http://127.0.0.1:1", CLUSTERSET_TRANSFER_TOKEN: "t" }),
      () => {},
    ),
  );
  const template = recordedEvent("function-url-post");
  const fetch = async (request: Request) =>
    responseOf(await handler(await eventOf(request, template, "192.0.2.1")));
  const answer = decode(Buffer.from((await handler(template)).body, "base64"));
  expect(answer.rcode).toBe("SERVFAIL");
  expect((await fetch(makeRequest({ path: "/readyz" }))).status).toBe(503);
  expect((await fetch(makeRequest({ path: "/healthz" }))).status).toBe(200);
  const pushed = await pushApi(fetch).put();
  expect(pushed.status).toBe(502);
  expect(await pushed.json()).toMatchObject({ code: "PRIMARY_UNREACHABLE" });
});
