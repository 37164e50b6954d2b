import type { ExpectedVersions } from '#areas/arcade';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './query-builder.ts';
import { DEFAULT_RULES, type RewardRules } from './rules.ts';

/** Reward rules and their version number. Version 0 means the default rules. */
export interface StoredRules {
  rules: RewardRules;
  version: number;
}

/** Name of the reward rules in the table `settings`. The table keeps every version; the highest version is in force. */
const SETTINGS_NAME = 'rewards';

const selectRules = statement<StoredRules>(
  'select_reward_rules',
  'select value as rules, version from settings where name = $1 order by version desc limit 1',
);
const lockRules = statement('lock_reward_rules', `select pg_advisory_xact_lock(hashtext('settings/rewards'))`);

/** Returns the reward rules in force. An epoch keeps the rules that were in force when its row was inserted. */
export async function readRules(db: Queryable): Promise<StoredRules> {
  return (await db.query(selectRules, [SETTINGS_NAME]))[0] ?? { rules: DEFAULT_RULES, version: 0 };
}

/**
 * Stores the reward rules for epochs that are created later. If the given rules equal the rules in force, the version does not change.
 * @throws 412 when the version in force is not in `expected`
 */
export async function putRules(tx: Tx, rules: RewardRules, expected: ExpectedVersions): Promise<StoredRules> {
  await tx.query(lockRules);
  const present = await readRules(tx);
  const matches = expected === null || (expected === '*' ? present.version > 0 : expected.includes(present.version));
  if (!matches) throw fail(412, 'If-Match must be the current ETag');
  if (present.version > 0 && canonicalize(present.rules) === canonicalize(rules)) return present;
  const version = present.version + 1;
  await run(tx, build.insertInto('settings').values({ name: SETTINGS_NAME, version, value: JSON.stringify(rules) }));
  return { rules, version };
}
