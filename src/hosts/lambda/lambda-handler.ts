import { Hono } from "hono";
import { type APIGatewayProxyResult, handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import type { App } from "../../http/app.ts";
import { DEFAULT_REFRESH_POLICY } from "../../transfer/refresh-policy.ts";
import { clientAddressOf, type LambdaRequestContext } from "./client-address.ts";

/** Answers events of API Gateway (HTTP and REST APIs), function URLs and application load balancers. */
export type LambdaHandler = (event: LambdaEvent, context?: LambdaContext) => Promise<APIGatewayProxyResult>;

interface LambdaEnvironment {
  Bindings: { readonly requestContext: LambdaRequestContext };
}

/** The Lambda function of a secondary. */
export function createLambdaHandler(secondary: Pick<App, "fetch">): LambdaHandler {
  const app = new Hono<LambdaEnvironment>();
  app.all("*", async ({ req, env }) => {
    const clientAddress = clientAddressOf(env.requestContext, req.raw.headers);
    const left: Promise<void>[] = [];
    const response = await secondary.fetch(
      req.raw,
      { address: clientAddress, certificate: "none" },
      (work) => void left.push(work),
    );
    // Lambda halts the process with the response: nothing goes on in the background.
    await Promise.race([Promise.all(left), pause(DEFAULT_REFRESH_POLICY.wait)]);
    return response;
  });
  const answer = handle(app) as LambdaHandler;
  return (event, context) => answer(withoutStage(event), context);
}

/** An HTTP API with a stage of another name than `$default` has that name before each path. */
function withoutStage(event: LambdaEvent): LambdaEvent {
  if (!("rawPath" in event)) return event;
  const prefix = `/${event.requestContext.stage}/`;
  return event.rawPath.startsWith(prefix)
    ? { ...event, rawPath: event.rawPath.slice(prefix.length - 1) }
    : event;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
