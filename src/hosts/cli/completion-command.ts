import { Argument, Command } from "commander";
import type { Output } from "../commands/process/output.ts";

/** `clusterset-doh completion`. */
export function completionCommand(output: Output): Command {
  return new Command("completion")
    .description("prints the completion of commands and options for a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
Examples:
  source <(clusterset-doh completion bash)
  clusterset-doh completion fish > ~/.config/fish/completions/clusterset-doh.fish`,
    )
    .action(async (shell, _flags, command: Command) => {
      const { completionOf } = await import("../commands/completion.ts");
      output.out(completionOf(command.parent!, shell).trimEnd());
    });
}
