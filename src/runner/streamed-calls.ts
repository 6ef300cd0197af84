import type { ToolCall } from "../protocol/message.ts";

interface StreamedCall {
  readonly id: string;
  readonly name: string;
  argsText: string;
  isFinished: boolean;
}

/**
 * Puts the calls of a streamed answer together, however their pieces are mixed, and tells each once it and all before it
 * are finished.
 *
 * Takes anything; what is told may be trusted only as far as the whole response bears it out. A stream that begins
 * again, or whose call has no arguments in it, has nothing more told: those are for the whole response to say.
 */
export class StreamedCalls {
  readonly #calls = new Map<unknown, StreamedCall>();
  readonly #onCall: (call: ToolCall) => void;
  #next = 0;
  #isShut = false;

  constructor(onCall: (call: ToolCall) => void) {
    this.#onCall = onCall;
  }

  take({ type, index, id, name, argsText }: Partial<Record<string, unknown>>): void {
    const call = this.#calls.get(index);
    switch (type) {
      case "tool_call_start":
        if (call !== undefined || typeof id !== "string" || typeof name !== "string") this.#isShut = true;
        else this.#calls.set(index, { id, name, argsText: "", isFinished: false });
        return;
      case "tool_call_delta":
        // What comes for a call that is closed belongs to nobody.
        if (call?.isFinished === false && typeof argsText === "string") call.argsText += argsText;
        return;
      case "tool_call_end":
        if (call !== undefined) call.isFinished = true;
        this.#tell();
    }
  }

  #tell(): void {
    for (;;) {
      const call = this.#calls.get(this.#next);
      if (this.#isShut || call?.isFinished !== true) return;
      // Some vendors send them with the whole response only: an empty text is not yet {}.
      if (call.argsText.trim() === "") this.#isShut = true;
      else this.#onCall({ id: call.id, name: call.name, args: call.argsText });
      this.#next++;
    }
  }
}
