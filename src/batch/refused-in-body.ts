/**
 * A rejection that a body is given: nobody may be left to hear it, and that must not end the process (`Semantics 2.8`).
 */
export function refusedInBody(error: unknown): Promise<never> {
  const refused = Promise.reject(error);
  refused.catch(() => {});
  return refused;
}
