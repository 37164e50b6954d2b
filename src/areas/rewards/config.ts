import { z } from 'zod';
import type { ExpectedVersions } from '#areas/arcade';
import { canonicalize } from '#lib/canonical.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type Approval, needsApproval, requestApproval } from '#platform/auth/approvals.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './query-builder.ts';
import { DEFAULT_RULES, RewardRules } from './rules.ts';

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
  const stored = (await db.query(selectRules, [SETTINGS_NAME]))[0];
  // Rules that an earlier release stored do not have all fields.
  return stored ? { ...stored, rules: { ...DEFAULT_RULES, ...stored.rules } } : { rules: DEFAULT_RULES, version: 0 };
}

const selectVersion = statement<{ rules: unknown; storedAt: string }>(
  'select_reward_rules_version',
  `select value as rules, ${instant('at')} as "storedAt" from settings where name = $1 and version = $2`,
);

/** Returns a version of the reward rules and the time at which it was stored, or null when the version does not exist. Version 0 has no such time. */
export async function readRulesVersion(db: Queryable, version: number): Promise<{ rules: RewardRules; storedAt: string | null } | null> {
  if (version === 0) return { rules: DEFAULT_RULES, storedAt: null };
  const [row] = await db.query(selectVersion, [SETTINGS_NAME, version]);
  // A version that was stored before a rule existed gets the default of this rule.
  return row ? { rules: RewardRules.parse(row.rules), storedAt: row.storedAt } : null;
}

const isExpected = (version: number, expected: ExpectedVersions): boolean =>
  expected === null || (expected === '*' ? version > 0 : expected.includes(version));

/**
 * Stores the reward rules for epochs that are created later. If the given rules equal the rules in force, the version does not change.
 * @throws 412 when the version in force is not in `expected`
 */
export async function putRules(tx: Tx, rules: RewardRules, expected: ExpectedVersions): Promise<StoredRules> {
  await tx.query(lockRules);
  const present = await readRules(tx);
  if (!isExpected(present.version, expected)) throw fail(412, 'If-Match must be the current ETag');
  if (present.version > 0 && canonicalize(present.rules) === canonicalize(rules)) return present;
  const version = present.version + 1;
  await run(tx, build.insertInto('settings').values({ name: SETTINGS_NAME, version, value: JSON.stringify(rules) }));
  return { rules, version };
}

/** Rules that a second token must approve. `version` is the version in force at the time of the request. */
const RulesAction = z.object({ rules: RewardRules, version: z.number() });

/**
 * Stores reward rules as `putRules`, or requests the approval of a second token when the pool or the cap is raised above the configured amount.
 * @throws 412 when the version in force is not in `expected`
 */
export async function requestRules(app: App, tx: Tx, rules: RewardRules, expected: ExpectedVersions, by: string): Promise<StoredRules | Approval> {
  await tx.query(lockRules);
  const { rules: present, version } = await readRules(tx);
  // Without a cap, one wallet can get the whole pool.
  const highest = (one: RewardRules) => [BigInt(one.pool), BigInt(one.cap ?? one.pool)] as const;
  const [[pool, cap], [oldPool, oldCap]] = [highest(rules), highest(present)];
  const raised = [pool > oldPool ? pool : 0n, cap > oldCap ? cap : 0n];
  const amount = raised.reduce((max, one) => (one > max ? one : max), 0n);
  const action = { kind: 'limit', amount, by } as const;
  if (!(await needsApproval(app, tx, action))) return await putRules(tx, rules, expected);
  if (!isExpected(version, expected)) throw fail(412, 'If-Match must be the current ETag');
  const summary = `reward rules: pool ${rules.pool} (now ${present.pool}), cap ${rules.cap ?? 'none'} (now ${present.cap ?? 'none'})`;
  return await requestApproval(tx, { ...action, summary, payload: { rules, version } });
}

/**
 * Stores reward rules that a second token approved.
 * @throws 409 when other rules were stored since the request
 */
export async function putApprovedRules(tx: Tx, payload: unknown): Promise<void> {
  const { rules, version } = RulesAction.parse(payload);
  await tx.query(lockRules);
  if ((await readRules(tx)).version !== version) throw fail(409, 'the reward rules changed since the request; refuse it and request it again');
  await putRules(tx, rules, null);
}
