/**
 * Lanes without agents: several limits at once over any asynchronous work, fair between tenants.
 *
 * A partner takes four requests at once, and each customer may have two of them. One customer queues twenty before the
 * other asks for its first, and the other waits for one service all the same.
 */
import { Lanes } from "lanekeeper/lanes";

const lanes = new Lanes({ perResource: { partner: 4 }, perTenant: 2 });
const startedAt = performance.now();
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function request(tenant: string, number: number): Promise<void> {
  await lanes.use({ tenant, resource: "partner" }, async (permit) => {
    const waited = permit.waited.tenant + permit.waited.resource;
    const at = ((performance.now() - startedAt) / 1000).toFixed(2);
    console.log(`${at} s  ${tenant.padEnd(6)} request ${number} starts, waited ${waited.toFixed(2)} s`);
    await sleep(100);
  });
}

const all = Array.from({ length: 8 }, (_, number) => request("acme", number + 1));
await sleep(20);
all.push(...Array.from({ length: 3 }, (_, number) => request("globex", number + 1)));

await sleep(20);
for (const { lane, bound, inFlight, waiting } of lanes.snapshot()) {
  console.log(`        ${lane}: ${inFlight} of ${bound} in flight, ${waiting} waiting`);
}
await Promise.all(all);
