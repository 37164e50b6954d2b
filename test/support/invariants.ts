import { readConfig } from '#config';
import { runChecks } from '#tools/audit/audit.ts';
import { boards } from '#tools/audit/checks/boards.ts';
import { playerChecks, scoreChecks } from '#tools/audit/checks/players.ts';
import { pointChecks } from '#tools/audit/checks/points.ts';

/** Addresses of the database and of the Redis of a system. */
export interface SystemAddresses {
  databaseUrl: string;
  redisUrl: string;
  redisPrefix: string;
}

const CHECKS = [...pointChecks, boards, ...playerChecks, ...scoreChecks];

/**
 * Returns the differences that the audit finds between ledger, standings, scores and the boards in Redis; empty if there are none. A check
 * that could not run counts as a difference.
 */
export async function contradictions({ databaseUrl, redisUrl, redisPrefix }: SystemAddresses): Promise<string[]> {
  const config = readConfig({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix });
  const results = await runChecks(config, CHECKS, { recheck: { attempts: 2, intervalMs: 20 } });
  return results.flatMap(({ check, listed, failure }) => [...listed, ...(failure === null ? [] : [failure])].map((what) => `${check.name}: ${what}`));
}
