import { expect, it } from "vitest";
import { blocksIn } from "./pages.ts";

const [unit] = blocksIn("docs/how-to/deploy/process.md", "ini");

it("the documented systemd unit starts the gateway again after a failure, and not after a wrong configuration", () => {
  expect(unit).toMatch(/^ExecStart=\S+\/clusterset-doh serve --config \S+$/m);
  expect(unit).toMatch(/^Restart=on-failure$/m);
  expect(unit).toMatch(/^RestartPreventExitStatus=2$/m);
  // Running requests may finish for 5 seconds.
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit!)![1])).toBeGreaterThan(5);
});
