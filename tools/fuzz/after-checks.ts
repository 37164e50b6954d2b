import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { verifyAdminAudit } from '#platform/auth/audit-log.ts';
import { contradictions } from '#test/support/invariants.ts';
import type { ClientState } from './client-state.ts';
import { findLogFaults } from './expectations.ts';
import type { OwnTarget } from './target.ts';

/** Maximum time for queued work to finish after the last request, ms. */
const SETTLE_MS = 60_000;
const MAX_LISTED = 20;

/**
 * Checks a system after an attack and returns the faults. The API and the worker process must still run, the health endpoints must return 200, the
 * logs must contain no secrets and no errors, and the data must be consistent.
 */
export async function checkAfterwards(target: OwnTarget, state: ClientState): Promise<string[]> {
  const faults: string[] = [];
  for (const process of [target.api, target.worker]) if (!process.isRunning) faults.push(`the ${process.name} process exited`);
  for (const path of ['/healthz', '/readyz']) {
    const status = await fetch(`${target.url}${path}`, { signal: AbortSignal.timeout(30_000) }).then(
      (response) => response.status,
      (error: unknown) => String(error),
    );
    if (status !== 200) faults.push(`${path} returned ${status}`);
  }
  const lines = target.lines.flatMap((line) => findLogFaults(line, state));
  faults.push(...lines.slice(0, MAX_LISTED));
  faults.push(...(await findContradictions(target)));
  const db = new pg.Client({ connectionString: target.env.DATABASE_URL });
  await db.connect();
  try {
    const { fault } = await verifyAdminAudit({ query: async ({ text }, values) => (await db.query(text, values ? [...values] : [])).rows });
    if (fault !== null) faults.push(`admin audit log: ${fault}`);
  } finally {
    await db.end();
  }
  return faults;
}

/**
 * Waits at most `SETTLE_MS` until ledger, standings, scores and boards agree, because queued jobs may still change them. Returns the remaining
 * differences.
 */
async function findContradictions({ env }: OwnTarget): Promise<string[]> {
  const addresses = { databaseUrl: env.DATABASE_URL ?? '', redisUrl: env.REDIS_URL ?? '', redisPrefix: env.REDIS_PREFIX ?? '' };
  const until = Date.now() + SETTLE_MS;
  for (;;) {
    const found = await contradictions(addresses);
    if (found.length === 0 || Date.now() > until) return found.slice(0, MAX_LISTED);
    await sleep(500);
  }
}
