import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkAudit } from '#platform/auth/audit-log.ts';
import { contradictions } from '#test/support/invariants.ts';
import { faultsOfLine } from './oracle.ts';
import type { OwnTarget } from './target.ts';
import type { World } from './world.ts';

/** What is still on its way when the last request is answered has this long to arrive, ms. */
const SETTLE_MS = 60_000;
const MOST_TOLD = 20;

/** What an attack has left behind: processes that are gone, a service that does not answer, logs that tell too much, a record that does not add up. */
export async function aftermath(target: OwnTarget, world: World): Promise<string[]> {
  const faults: string[] = [];
  for (const process of [target.api, target.worker]) if (!process.isRunning) faults.push(`the ${process.name} has died`);
  for (const path of ['/healthz', '/readyz']) {
    const status = await fetch(`${target.url}${path}`, { signal: AbortSignal.timeout(30_000) }).then(
      (response) => response.status,
      (error: unknown) => String(error),
    );
    if (status !== 200) faults.push(`${path} answers ${status}`);
  }
  const lines = target.lines.flatMap((line) => faultsOfLine(line, world));
  faults.push(...lines.slice(0, MOST_TOLD));
  faults.push(...(await unsettled(target)));
  const db = new pg.Client({ connectionString: target.env.DATABASE_URL });
  await db.connect();
  try {
    const { fault } = await checkAudit({ query: async ({ text }, values) => (await db.query(text, values ? [...values] : [])).rows });
    if (fault !== null) faults.push(`the log of admin actions: ${fault}`);
  } finally {
    await db.end();
  }
  return faults;
}

/** What does not add up between ledger, standings, scores and boards, once everything has had its time. */
async function unsettled({ env }: OwnTarget): Promise<string[]> {
  const places = { databaseUrl: env.DATABASE_URL ?? '', redisUrl: env.REDIS_URL ?? '', redisPrefix: env.REDIS_PREFIX ?? '' };
  const until = Date.now() + SETTLE_MS;
  for (;;) {
    const found = await contradictions(places);
    if (found.length === 0 || Date.now() > until) return found.slice(0, MOST_TOLD);
    await sleep(500);
  }
}
