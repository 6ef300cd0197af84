/** One server-sent event, its data read as JSON. */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads the events of a response as they come; leaving early hangs up. */
export async function* serverSentEvents(response: Response): AsyncGenerator<ServerSentEvent, void, undefined> {
  let rest = "";
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s) as [string, string]));
      yield { event: fields.get("event") ?? "message", data: JSON.parse(fields.get("data") ?? "null") };
    }
  }
}
