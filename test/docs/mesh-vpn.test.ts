import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../../src/hosts/cli/program.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { blocksIn } from "./pages.ts";

const PAGE = "docs/how-to/mesh-vpn.md";

it("the gateway takes the config file of the mesh, whose listener has a rule", () => {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-mesh-"));
  const config = join(folder, "gateway.yaml");
  writeFileSync(config, blocksIn(PAGE, "yaml")[0]!);
  expect(readServeConfig({ config }).dns.listen).toMatchObject([{ rule: "mesh" }]);
  rmSync(folder, { recursive: true });
});

it("the page's export prints headscale's extra records", async () => {
  const [command] = blocksIn(PAGE, "sh")[0]!.split(" > ");
  const lines: string[] = [];
  await run(["node", ...command!.split(" ").slice(1)], { out: (line) => lines.push(line), err: () => {} });
  expect(JSON.parse(lines.join("\n"))).toContainEqual({
    name: "api.shop.prod.svc.federation.example.com",
    type: "A",
    value: "192.0.2.10",
  });
});
