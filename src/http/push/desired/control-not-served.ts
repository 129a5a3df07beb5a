import { ApiError } from "../../messages/api-error.ts";

/** The error of hosts that serve no desired states. */
export const CONTROL_NOT_SERVED = () =>
  new ApiError(
    501,
    "CONTROL_NOT_SERVED",
    "this host serves no desired states: let the worker ask the gateway that takes the pushes, on Node.js, Deno or Bun",
  );
