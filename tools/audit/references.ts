import type { Queryable } from '#platform/db/sql.ts';
import { type Check, DifferenceList, differences, firstDayOf, firstId, IS_OPEN, isOpenId, setMomentSql } from './check.ts';

/**
 * One or more columns that reference a row of another table without a foreign key. A foreign key is not used, because the other table belongs to
 * another area or because checking each inserted row costs too much.
 */
export interface Reference {
  readonly from: string;
  /** Name of `from` in messages; only needed when `from` is a subquery. */
  readonly label?: string;
  /**
   * SQL expressions for the referencing values, one per column of `key`. In these expressions, `r` is the row of `from`. A row with a null value
   * references no row.
   */
  readonly columns: string | readonly string[];
  readonly to: string;
  readonly key?: string | readonly string[];
  /** SQL condition that selects the rows of `from` to check. */
  readonly where?: string;
}

/**
 * SQL condition that excludes the rows of wallets that burned tokens. These wallets may never have signed in, but may have completed quests that
 * count burns.
 */
const NOT_BURNED = 'not exists (select from burns b where b.wallet = r.wallet)';

/**
 * Tables whose wallets must be in `players`, because only signed-in wallets score, play, chat or upload. The conditions in `where` exclude burns and
 * rows that result from burns, because a wallet can burn tokens without a sign-in.
 */
const WALLETS: readonly (readonly [table: string, column?: string, where?: string])[] = [
  ['activities', 'wallet', `kind <> 'burn'`],
  ['battle_seats'],
  ['battles', 'created_by'],
  ['beta_conversions'],
  ['burn_events', 'created_by'],
  ['chat_messages'],
  ['claims', 'requested_by'],
  ['clips'],
  ['game_players'],
  ['game_records'],
  ['game_states'],
  ['ledger', 'wallet', `kind <> 'quest' or ${NOT_BURNED}`],
  ['link_attempts'],
  ['linked_accounts'],
  ['plays'],
  ['quest_checks', 'wallet', NOT_BURNED],
  ['quest_completions', 'wallet', NOT_BURNED],
  ['referral_days', 'referrer'],
  ['referral_links'],
  ['referrals', 'referrer'],
  ['referrals'],
  ['replay_refusals'],
  ['rounds', 'created_by', `kind = 'legacy'`],
  ['scores'],
  ['sessions'],
  ['tickets'],
  ['unlinked_accounts'],
  ['wallet_weeks', 'wallet', `kind <> 'burn'`],
];

const GAMES: readonly (readonly [table: string, expression?: string, where?: string])[] = [
  ['activities', 'r.game_id', `kind in ('play', 'score', 'void', 'restore', 'second-void', 'clip')`],
  ['clip_counts'],
  ['clips'],
  ['finals', 'substr(r.board, 6)', `board like 'game:%'`],
  ['game_counters'],
  ['game_players'],
  ['plays'],
  ['replay_refusals'],
  ['standings', 'substr(r.board, 6)', `board like 'game:%'`],
  ['wallet_weeks', 'r.subject', `kind in ('play', 'score', 'clip')`],
];

export const REFERENCES: readonly Reference[] = [
  ...WALLETS.map(([from, column = 'wallet', where]) => ({ from, columns: `r.${column}`, to: 'players', key: 'wallet', ...(where ? { where } : {}) })),
  ...GAMES.map(([from, columns = 'r.game_id', where]) => ({ from, columns, to: 'games', ...(where ? { where } : {}) })),
  { from: 'scores', columns: ['r.game_id', 'r.game_version'], to: 'game_versions', key: ['game_id', 'version'] },
  { from: 'games', columns: ['r.id', 'r.version'], to: 'game_versions', key: ['game_id', 'version'] },
  {
    from: 'scores',
    columns: ['r.play_id', 'r.wallet', 'r.game_id'],
    to: 'plays',
    key: ['id', 'wallet', 'game_id'],
    where: `play_id is not null and ${isOpenId('r.play_id')}`,
  },
  { from: 'scores', columns: 'r.battle_id', to: 'battles' },
  {
    from: 'scores',
    columns: ['r.play_id', 'r.id'],
    to: 'score_plays',
    key: ['play_id', 'score_id'],
    where: `play_id is not null and ${isOpenId('r.play_id')}`,
  },
  {
    from: 'scores',
    columns: ['r.wallet', 'r.idempotency_key', 'r.id'],
    to: 'score_keys',
    key: ['wallet', 'key', 'score_id'],
    // The keys of an exported month are deleted before the month is detached.
    where: `not exists (select from closed_partitions k where k.relation = 'scores' and k.exported_at is not null
      and r.id >= ${firstId(`(${firstDayOf('k.month')})`)} and r.id < ${firstId(`(${firstDayOf('(k.month + 1)')})`)})`,
  },
  { from: 'score_plays', columns: ['r.score_id', 'r.play_id'], to: 'scores', key: ['id', 'play_id'], where: isOpenId('r.score_id') },
  { from: 'score_keys', columns: ['r.score_id', 'r.wallet', 'r.key'], to: 'scores', key: ['id', 'wallet', 'idempotency_key'] },
  { from: 'score_restorations', columns: 'r.score_id', to: 'scores' },
  { from: 'play_seeds', columns: 'r.play_id', to: 'plays' },
  { from: 'score_replays', columns: 'r.score_id', to: 'scores' },
  { from: 'score_replays', columns: 'r.play_id', to: 'play_seeds', key: 'play_id' },
  { from: 'activities', columns: 'r.battle_id', to: 'battles' },
  { from: 'activities', columns: 'r.game_id', to: 'burn_events', key: 'id::text', where: `kind = 'burn'` },
  { from: 'wallet_weeks', columns: 'r.subject', to: 'burn_events', key: 'id::text', where: `kind = 'burn'` },
  { from: 'ledger', columns: `split_part(r.source_id, ':', 1)`, to: 'quests', where: `source = 'quest'` },
  { from: 'quests', columns: ['r.id', 'r.version'], to: 'quest_versions', key: ['quest_id', 'version'] },
  { from: 'quest_checks', columns: 'r.quest_id', to: 'quests', where: `quest_id <> ''` },
  { from: 'quest_completions', columns: ['r.quest_id', 'r.version'], to: 'quest_versions', key: ['quest_id', 'version'] },
  { from: 'referrals', columns: ['r.code', 'r.referrer'], to: 'referral_links', key: ['code', 'wallet'] },
  { from: 'referral_days', columns: 'r.referrer', to: '(select distinct referrer from referrals)', key: 'referrer' },
  { from: 'board_refreshes', columns: ['r.board', 'r.wallet'], to: '(select distinct board, wallet from standings)', key: ['board', 'wallet'] },
  { from: 'finals', columns: ['r.period', 'r.bucket'], to: 'closed_periods', key: ['period', 'bucket'] },
  { from: 'reward_leaves', columns: 'r.epoch', to: 'epochs', key: 'epoch', where: 'index = 0' },
  { from: 'reward_allocations', columns: 'r.epoch', to: 'epochs', key: 'epoch' },
  { from: 'reward_exclusions', columns: 'r.epoch', to: 'epochs', key: 'epoch' },
  { from: 'reward_trees', columns: 'r.epoch', to: 'epochs', key: 'epoch', where: 'level = 0 and chunk = 0' },
  { from: 'reward_imports', columns: 'r.epoch', to: 'epochs', key: 'epoch', where: `state = 'done'` },
  { from: 'chat_messages', columns: 'r.entry', to: 'entries' },
  { from: 'round_winners', columns: ['r.round', 'r.index', 'r.wallet'], to: 'entries', key: ['round', 'index', 'wallet'] },
  { from: 'payments', columns: 'r.lane', to: 'payout_lanes', key: 'lane', where: `state in ('batched', 'confirmed')` },
  { from: 'payout_findings', columns: 'r.lane', to: 'payout_lanes', key: 'lane' },
  { from: '(select p.id from payout_findings f, unnest(f.payments) p(id))', label: 'payout_findings', columns: 'r.id', to: 'payments' },
  { from: '(select c.id from chain_attempts a, unnest(a.carried) c(id))', label: 'chain_attempts', columns: 'r.id', to: 'chain_transactions' },
  { from: 'token_accounts_opened', columns: 'r.cause', to: '(select id from claims union all select id from payout_batches)' },
  { from: 'chain_transactions', columns: 'r.subject', to: 'claims', key: 'id::text', where: `kind = 'claim'` },
  { from: 'chain_transactions', columns: 'r.subject', to: 'payout_batches', key: 'id::text', where: `kind = 'payout-batch'` },
  { from: 'chain_transactions', columns: 'r.subject', to: 'rounds', key: 'id::text', where: `kind = 'draw-commitment'` },
  { from: 'chain_transactions', columns: `split_part(r.subject, ':', 1)`, to: 'epochs', key: 'epoch::text', where: `kind like 'epoch-%'` },
  {
    from: 'chain_transactions',
    columns: `split_part(r.subject, ':', 1)`,
    to: 'payout_lanes',
    key: 'lane::text',
    where: `kind in ('open-payout-lane', 'advance-nonce')`,
  },
];

/**
 * Columns that look like references but are not in `REFERENCES`. Each value names the checks that compare the column, or says why no check compares
 * it.
 */
export const OTHER_COLUMNS: Readonly<Record<string, string>> = {
  'activities.batch': 'activity-batches',
  'plays.batch': 'activity-batches',
  'scores.batch': 'activity-batches',
  'activities.source_id': 'activities, other-activities',
  'activity_failures.source_id': 'activity-failures reports all of them',
  'appeals.case_id': 'the score, clip or message of the appeal; no points and no money depend on it',
  'burn_cursors.mint': 'an address on the chain',
  'burn_events.mint': 'an address on the chain',
  'burn_gaps.mint': 'an address on the chain',
  'burn_ranges.board': 'burn-ranges',
  'burn_ranges.wallet': 'a bound of a range, of any wallet',
  'burn_refusal_candidates.mint': 'an address on the chain',
  'burn_refusals.event_id': 'the event that a memo names, which may not exist',
  'burn_refusals.mint': 'an address on the chain',
  'burn_refusals.wallet': 'any wallet may burn',
  'burn_standings.board': 'burn-standings',
  'burn_standings.wallet': 'burn-standings',
  'burn_transactions.mint': 'an address on the chain',
  'burns.wallet': 'any wallet may burn',
  'cabinets.possessed_by': 'free text of operators',
  'carried_games.game_id': 'game-counters, tallies',
  'carried_games.wallet': 'game-counters, tallies',
  'carried_points.referred': 'referral-sums',
  'carried_points.wallet': 'standings',
  'chat_messages.source_id': 'an id of the bridged chat',
  'claims.epoch': 'claims',
  'claims.wallet': 'claims',
  'denied_wallets.wallet': 'any wallet may be denied',
  'entries.wallet': 'entries, chat-entries',
  'epoch_accounts.mint': 'vaults',
  'epochs.rules_version': 'epoch-rules',
  'erasures.subject': 'erasures',
  'final_sums.board': 'final-sums',
  'finals.wallet': 'finals',
  'kept_engagements.source_id': 'an id of the social network',
  'ledger.source_id': 'score-points, quest-points, conversions, referral-shares; an adjustment has no other row',
  'outbox.wallet': 'recipient of an event; purged after an hour',
  'payments.cause_id': 'prizes, refunds; manual payments reference no row',
  'payments.wallet': 'prizes, refunds; manual payments go to any wallet',
  'payout_batches.mint': 'an address on the chain',
  'payout_findings.batch': 'untrusted memo text',
  'payout_findings.payments': 'compared as payout_findings: id of payments',
  'storage_usage.wallet': 'storage-usage',
  'reward_exclusions.wallet': 'epoch-points',
  'reward_leaves.wallet': 'epoch-points; an import may name any wallet',
  'reward_projections.rules_version': 'a cache',
  'round_winners.mint': 'a currency, not an address',
  'standings.wallet': 'standings, game-boards',
  'token_accounts_opened.mint': 'an address on the chain',
  'token_accounts_opened.wallet': 'given by its cause',
};

/** SQL conditions that leave out the rows of months that are replaced by sums, by table. */
const OPEN_ROWS: Readonly<Record<string, string>> = {
  activities: IS_OPEN,
  ledger: IS_OPEN,
  play_seeds: isOpenId('play_id'),
  plays: isOpenId('id'),
  score_keys: isOpenId('score_id'),
  score_plays: isOpenId('play_id'),
  score_replays: isOpenId('score_id'),
  score_restorations: isOpenId('score_id'),
  scores: isOpenId('id'),
};
const rowsOf = (table: string): string => (Object.hasOwn(OPEN_ROWS, table) ? `(select * from ${table} where ${OPEN_ROWS[table]})` : table);

const list = (one: string | readonly string[]): readonly string[] => (typeof one === 'string' ? [one] : one);

/** Returns the label of a reference, for example `scores: play_id, wallet, game_id of plays`. */
export const labelOf = ({ from, label = from, columns, to }: Reference): string =>
  `${label}: ${list(columns).join(', ').replaceAll('r.', '')} of ${to}`;

/**
 * Returns SQL that finds references to missing rows. The SQL reads each row of the referencing table once and joins all referenced tables.
 * @param references the references with the same `from`
 */
function orphansSql(references: readonly Reference[]): string {
  const joins: string[] = [];
  const missing = references.map((reference) => {
    const { to, key = 'id', where = 'true' } = reference;
    const columns = list(reference.columns);
    const keys = list(key).map((column, i) => `${column} as key${i}`);
    const named = (t: string) =>
      `(select ${keys.join(', ')} from ${rowsOf(to)} k) ${t} on ${columns.map((column, i) => `${t}.key${i} = ${column}`).join(' and ')}`;
    const known = joins.findIndex((join, i) => join === named(`t${i}`));
    const at = known < 0 ? joins.push(named(`t${joins.length}`)) - 1 : known;
    const sentence = `format('%s: %s is referenced, but missing', '${labelOf(reference).replaceAll("'", "''")}', concat_ws(', ', ${columns.join(', ')}))`;
    return { sentence, condition: `(t${at}.key0 is null and (${where}) and ${columns.map((column) => `${column} is not null`).join(' and ')})` };
  });
  return `
    select unnest(array_remove(array[${missing.map(({ sentence, condition }) => `case when ${condition} then ${sentence} end`).join(', ')}], null)) as what
    from ${rowsOf(references[0]?.from ?? '')} r ${joins.map((join) => `left join ${join}`).join(' ')} where ${missing.map(({ condition }) => condition).join(' or ')}`;
}

/**
 * Returns the references of one table to missing rows.
 * @param references the references with the same `from`; the key of each reference must be unique in its table `to`
 */
export const findOrphans = (db: Queryable, references: readonly Reference[]) => differences(db, orphansSql(references));

/**
 * Checks references across areas, table by table. One statement reads a table and the tables that it references, so the statement reads all these
 * tables in the same snapshot.
 */
export const orphans: Check = {
  name: 'orphans',
  invariant: 'every referenced row of another table exists',
  live: true,
  async run({ db, scope }) {
    const found = new DifferenceList();
    await db.query({ text: setMomentSql(scope, 'session') });
    for (const references of Map.groupBy(REFERENCES, ({ from }) => from).values()) found.addAll(await findOrphans(db, references));
    return found;
  },
};
