/** The function for AWS Lambda: `npm run build:lambda` makes one file of it. docs/how-to/deploy/other-hosts.md has its environment variables. */
import { VERSION } from "../../assembly/stages.ts";
import { createSecondaryHost, readSecondarySettings } from "../secondary-host.ts";
import { createLambdaHandler } from "./lambda-handler.ts";

export const handler = createLambdaHandler(
  await createSecondaryHost(readSecondarySettings(process.env), VERSION),
);
