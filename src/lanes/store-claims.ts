import type { Permit } from "./permit.ts";

export class StoreClaims {
  claim(_call: Permit): boolean {
    return false;
  }
  giveUp(_call: Permit, _error: unknown): boolean {
    return false;
  }
}
