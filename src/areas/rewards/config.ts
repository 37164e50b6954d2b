import type { Expected } from '#areas/arcade';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { DEFAULT_RULES, type RewardRules } from './rules.ts';

/** Rules, and which version of them; 0 while nobody has set any. */
export interface StoredRules {
  rules: RewardRules;
  version: number;
}

/** The name of the rules' rows in `settings`: each version is kept, the newest counts. */
const REWARDS = 'rewards';

const selectRules = statement<StoredRules>(
  'select_reward_rules',
  'select value as rules, version from settings where name = $1 order by version desc limit 1',
);
const lockRules = statement('lock_reward_rules', `select pg_advisory_xact_lock(hashtext('settings/rewards'))`);
const insertRules = statement('insert_reward_rules', 'insert into settings (name, version, value) values ($1, $2, $3)');

/** The rules as they stand. A day's own are those in force when its epoch's row is made, and stay in it. */
export async function readRules(db: Queryable): Promise<StoredRules> {
  return (await db.query(selectRules, [REWARDS]))[0] ?? { rules: DEFAULT_RULES, version: 0 };
}

/**
 * Sets the rules; what already is as asked keeps its version. They hold for epochs that are not begun yet.
 * @throws 412 when they are at no version that `expected` takes
 */
export async function putRules(tx: Tx, rules: RewardRules, expected: Expected): Promise<StoredRules> {
  await tx.query(lockRules);
  const present = await readRules(tx);
  const takes = expected === null || (expected === '*' ? present.version > 0 : expected.includes(present.version));
  if (!takes) throw fail(412, 'If-Match must be the present ETag');
  if (present.version > 0 && canonicalize(present.rules) === canonicalize(rules)) return present;
  const version = present.version + 1;
  await tx.query(insertRules, [REWARDS, version, JSON.stringify(rules)]);
  return { rules, version };
}
