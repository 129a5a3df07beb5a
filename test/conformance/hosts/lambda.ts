import { createLambdaHandler } from "../../../src/hosts/lambda/lambda-handler.ts";
import { createSecondaryHost, readSecondarySettings } from "../../../src/hosts/secondary-host.ts";
import type { HostUnderTest } from "../host-under-test.ts";
import { eventOf, recordedEvent, responseOf } from "./lambda-event.ts";
import { pass } from "./moved-clock.ts";
import { startPrimary } from "./primary.ts";

const CLIENT = "127.0.0.1";

/** The handler of AWS Lambda, fed with events of API Gateway's HTTP APIs; its primary is a Node gateway. */
export const lambdaByHttpApi = lambdaHost("Lambda behind API Gateway", "http-api-post");

/** The same, fed with events of a function URL. */
export const lambdaByFunctionUrl = lambdaHost("Lambda function URL", "function-url-post");

function lambdaHost(name: string, recorded: string): HostUnderTest {
  return {
    name,
    async start(settings) {
      const primary = await startPrimary(settings);
      const handler = createLambdaHandler(
        await createSecondaryHost(readSecondarySettings(primary.environment), () => {}),
      );
      const template = recordedEvent(recorded);
      return {
        fetch: async (request) => responseOf(await handler(await eventOf(request, template, CLIENT))),
        pass,
        stop: primary.stop,
      };
    },
  };
}
