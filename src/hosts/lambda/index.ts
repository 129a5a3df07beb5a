/**
 * The function for AWS Lambda: `npm run build:lambda` makes one file of it. docs/how-to/deploy/other-hosts.md
 * has its environment variables.
 */
import { createSecondaryHost, readSecondarySettings } from "../secondary-host.ts";
import { createLambdaHandler } from "./lambda-handler.ts";

export const handler = createLambdaHandler(await createSecondaryHost(readSecondarySettings(process.env)));
