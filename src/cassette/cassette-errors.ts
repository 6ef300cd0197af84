import { LanekeeperError } from "../base/errors.ts";

/**
 * A model was asked for something that its cassette does not hold (`Semantics 10.2`).
 *
 * Nothing was asked of a live model. Look at the fields that differ from the nearest recording; if the change is meant,
 * record the cassette again.
 */
export class CassetteMismatchError extends LanekeeperError {
  static override readonly errorName: string = "CassetteMismatchError";

  /** What differs from the nearest recording: `messages`, `settings`, … */
  readonly fields: readonly string[];

  constructor(message: string, fields: readonly string[]) {
    super(message);
    this.fields = [...fields];
  }

  protected override details(): Record<string, unknown> {
    return { fields: [...this.fields] };
  }
}
