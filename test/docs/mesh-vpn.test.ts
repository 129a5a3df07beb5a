import { expect, it } from "vitest";
import { run } from "../../src/hosts/cli/program.ts";
import { configFiles } from "../config/config-files.ts";
import { blocksIn } from "./pages.ts";

const PAGE = "docs/how-to/mesh-vpn.md";
const config = configFiles();

it("the gateway takes the config file of the mesh, whose listener has a rule", () => {
  expect(config.read(blocksIn(PAGE, "yaml")[0]!).dns.listen).toMatchObject([{ rule: "mesh" }]);
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
