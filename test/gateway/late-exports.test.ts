import { describe, expect, test } from "vitest";
import { day, MINUTE, openSharedService } from "./shared-service.ts";

describe("an export that is reported up to 5 minutes late", () => {
  test.each(["put", "patch"] as const)(
    "counts from its creation where its cluster was live, by %s",
    async (method) => {
      const world = openSharedService();
      await world.put("east", {}, 3600);
      await world.put("west", {}, 3600);
      await world.at(day(3));
      await world.put("east", {}, 3600);
      await world.put("west", {}, 3600);
      await world.at(day(3) + 2 * MINUTE);
      await world.put("west", { exportedAt: day(3) + 2 * MINUTE });
      await world.at(day(3) + 3 * MINUTE);
      await world[method]("east", { exportedAt: day(3) + MINUTE });
      expect(world.owner()).toBe("east");
    },
  );

  test.each(["put", "patch", "renewal and patch"] as const)(
    "counts from its cluster's return where that was away when it was created, by %s",
    async (method) => {
      const world = openSharedService();
      await world.put("west", {}, 3600);
      await world.put("east", {}, 5);
      await world.at(day(3));
      await world.put("west", {}, 3600);
      await world.put("east", {}, 5);
      await world.at(day(3) + 2 * MINUTE);
      await world.put("west", { exportedAt: day(3) + 2 * MINUTE });
      await world.at(day(3) + 3 * MINUTE);
      if (method === "renewal and patch") await world.renew("east");
      await world[method === "put" ? "put" : "patch"]("east", { exportedAt: day(3) + MINUTE });
      expect(world.owner()).toBe("west");
    },
  );
});
