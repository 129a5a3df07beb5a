import type { Section } from "../report.ts";
import { buildScripts } from "./bundles.ts";
import { measureThroughput } from "./throughput.ts";

/** The Worker in bare workerd. */
export const edgeSection: Section = {
  name: "edge",
  summary: "the Worker in bare workerd: throughput, cold start, image load, requests to the object, pushes",
  async measure(effort, progress) {
    progress("bundling");
    const scripts = await buildScripts();
    return [...(await measureThroughput(scripts, effort, progress))];
  },
};
