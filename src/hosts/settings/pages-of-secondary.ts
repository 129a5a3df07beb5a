import type { EdgeConfig } from "../../config/edge-config.ts";
import { createDirectory } from "../../http/pages/directory.ts";
import type { PageSettings } from "../../http/pages/page-parts.ts";
import type { Secondary } from "../../transfer/secondary.ts";

/** The pages of a gateway that answers from another one's image: it knows services, but neither conflicts nor what others were asked. */
export function pagesOfSecondary(
  secondary: Secondary,
  { publicUrl, outsideZones }: Pick<EdgeConfig, "publicUrl" | "outsideZones">,
): PageSettings {
  return {
    directory: createDirectory(() =>
      secondary.image === undefined ? undefined : { image: secondary.image },
    ),
    publicUrl,
    reach: () => ({ outside: outsideZones }),
  };
}
