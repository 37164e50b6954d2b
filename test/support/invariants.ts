import { readConfig } from '#config';
import { runChecks } from '#tools/audit/audit.ts';
import { boards } from '#tools/audit/checks/boards.ts';
import { playerChecks, scoreChecks } from '#tools/audit/checks/players.ts';
import { pointChecks } from '#tools/audit/checks/points.ts';

/** Where a system's record and its boards are. */
export interface Places {
  databaseUrl: string;
  redisUrl: string;
  redisPrefix: string;
}

const CHECKS = [...pointChecks, boards, ...playerChecks, ...scoreChecks];

/**
 * What does not add up between ledger, standings, scores and the boards in Redis, by the checks of the audit: empty when all is well.
 * Something that could not be looked at is no less of a contradiction.
 */
export async function contradictions({ databaseUrl, redisUrl, redisPrefix }: Places): Promise<string[]> {
  const config = readConfig({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix });
  const results = await runChecks(config, CHECKS, { patience: { looks: 2, everyMs: 20 } });
  return results.flatMap(({ check, listed, failure }) => [...listed, ...(failure === null ? [] : [failure])].map((what) => `${check.name}: ${what}`));
}
