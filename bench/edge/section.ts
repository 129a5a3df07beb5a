import type { Section } from "../report/report.ts";
import { buildScripts } from "./bundles.ts";
import { measureColdStart } from "./cold-start.ts";
import { measureImageMemory } from "./image-memory.ts";
import { measureLargePush } from "./large-push.ts";
import { measureObjectRequests } from "./object-requests.ts";
import { measureThroughput } from "./throughput.ts";

/** The Worker in bare workerd. */
export const edgeSection: Section = {
  name: "edge",
  summary: "the Worker in bare workerd: throughput, cold start, image load, requests to the object, pushes",
  async measure(effort, progress) {
    progress("bundling");
    const scripts = await buildScripts();
    return [
      ...(await measureThroughput(scripts, effort, progress)),
      ...(await measureColdStart(scripts, effort, progress)),
      ...(await measureImageMemory(scripts, effort, progress)),
      ...(await measureObjectRequests(scripts, effort, progress)),
      ...(await measureLargePush(scripts, effort, progress)),
    ];
  },
};
