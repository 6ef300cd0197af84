/** Tokens that model requests took. A vendor that does not tell leaves 0. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}
