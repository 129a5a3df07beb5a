/** `node test/transfer/hanging-source-program.ts`: waits for a primary that never answers, with nothing else to do. */
import { Secondary } from "../../src/transfer/secondary.ts";
import { realStages } from "../gateway/real-stages.ts";

const secondary = new Secondary({
  source: {
    state: () => new Promise(() => {}),
    root: () => new Promise(() => {}),
    segment: () => new Promise(() => {}),
  },
  stages: realStages(),
  policy: { stateTimeout: 20, firstWait: 50 },
});
await secondary.freshen(Date.now());
console.log("waited");
