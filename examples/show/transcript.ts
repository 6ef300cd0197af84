import type { Message } from "lanekeeper";

/** Prints what the model was shown: calls and results in call order, whoever finished first. */
export function showTranscript(messages: readonly Message[]): void {
  console.log("transcript");
  for (const message of messages) {
    if (message.role === "tool") {
      const sign = message.isError ? "✗" : "✓";
      console.log(`  ${sign} ${message.callId.padEnd(14)} ${String(message.content)}`);
    } else if (message.role === "assistant" && message.toolCalls !== undefined) {
      const asked = message.toolCalls.map(({ name, args }) => `${name}(${Object.values(args as object).join(", ")})`);
      console.log(`  assistant asks for ${asked.join(", ")}`);
    } else console.log(`  ${message.role}: ${String(message.content)}`);
  }
}
