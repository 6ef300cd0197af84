/** Prints a claim with whether it is true; one that is not makes the example end with exit code 1. */
export function check(claim: string, isTrue: boolean): void {
  console.log(`${isTrue ? "✓" : "✗"} ${claim}`);
  if (!isTrue) process.exitCode = 1;
}
