import { expect, it } from "vitest";
import { blocksIn, textOf } from "./pages.ts";

const gateway = textOf("infra/systemd/clusterset-doh-gateway.service");
const sync = textOf("infra/systemd/clusterset-doh-sync@.service");
const page = textOf("docs/how-to/deploy/process.md");

it("the systemd units start a process again after a failure, and not after a wrong configuration", () => {
  for (const unit of [gateway, sync]) {
    expect(unit).toMatch(/^Restart=on-failure$/m);
    expect(unit).toMatch(/^RestartPreventExitStatus=2$/m);
    // Running requests may finish for 5 seconds, 10 after an unexpected error.
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(10);
  }
});

it("the page names the units, their files and their state folder as they are", () => {
  const [commands] = blocksIn("docs/how-to/deploy/process.md", "sh").filter((block) =>
    block.includes("systemctl"),
  );
  expect(commands).toContain("clusterset-doh/infra/systemd/*.service");
  for (const unit of ["clusterset-doh-gateway ", "clusterset-doh-sync@cluster-a "])
    expect(commands).toContain(`enable --now ${unit}`);
  expect(gateway).toContain("LoadCredential=gateway.yaml:/etc/clusterset-doh/gateway.yaml\n");
  expect(gateway).toContain("--state-dir %S/clusterset-doh-gateway\n");
  expect(page).toContain("`/var/lib/clusterset-doh-gateway`");
  for (const file of ["env", "kubeconfig", "token"]) {
    expect(sync).toContain(`/etc/clusterset-doh/%i.${file}\n`);
    expect(page).toContain(`\`cluster-a.${file}\``);
  }
});
