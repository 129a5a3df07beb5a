import { describe, it } from "vitest";
import type { AllowedOrigins } from "../../src/http/messages/fields.ts";
import { closedOriginCases } from "../conformance/cases/cross-origin.ts";
import { checkCase, titled } from "../conformance/http-case.ts";
import { FakeGateway, NOW } from "./fake-gateway.ts";
import { openApp } from "./open-app.ts";

const app = (allowedOrigins?: AllowedOrigins) =>
  openApp({
    gateway: new FakeGateway(),
    clock: () => NOW,
    zones: [],
    version: "0",
    ...(allowedOrigins !== undefined && { allowedOrigins }),
  });

describe("CORS", () => {
  it.each(titled(closedOriginCases))("by default, %s", (_, entry) => checkCase(app().fetch, entry));
});
