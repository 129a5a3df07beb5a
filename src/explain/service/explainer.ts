import { nearServices, servicesIn } from "../near/near-services.ts";
import type { ServiceExplainer } from "../service-explainer.ts";
import { explainService } from "./decisions.ts";
import { judgeMissing } from "./missing.ts";
import { recordsFrom } from "./records.ts";

/** Explains services by the functions that merge them. */
export const SERVICE_EXPLAINER: ServiceExplainer = {
  explainService,
  recordsFrom,
  judgeMissing,
  nearServices,
  servicesIn,
};
