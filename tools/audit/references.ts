import type { Queryable } from '#platform/db/sql.ts';
import { type Check, differences, Found } from './check.ts';

/** A column that names a row of another table, without a foreign key: across areas, or because a check per row would cost too much. */
export interface Reference {
  readonly from: string;
  /** What `from` is called where it is no table. */
  readonly called?: string;
  /** An expression over the row `r`; null names nothing. Several: `to` has as many. */
  readonly names: string | readonly string[];
  readonly to: string;
  readonly key?: string | readonly string[];
  /** Which rows of `from`. */
  readonly where?: string;
}

/** SQL: not of a wallet that has burned. Quests of burns are open to wallets that never signed in. */
const NOT_BURNED = 'not exists (select from burns b where b.wallet = r.wallet)';

/** Who scores, plays, chats or uploads has signed in. Burns are anybody's, and so is what follows from them. */
const WALLETS: readonly (readonly [table: string, column?: string, where?: string])[] = [
  ['activities', 'wallet', `kind <> 'burn'`],
  ['battle_seats'],
  ['battles', 'created_by'],
  ['beta_conversions'],
  ['burn_events', 'created_by'],
  ['chat_messages'],
  ['claims', 'requested_by'],
  ['clips'],
  ['game_records'],
  ['game_states'],
  ['ledger', 'wallet', `kind <> 'quest' or ${NOT_BURNED}`],
  ['link_attempts'],
  ['linked_accounts'],
  ['plays'],
  ['quest_completions', 'wallet', NOT_BURNED],
  ['referral_days', 'referrer'],
  ['referral_links'],
  ['referrals', 'referrer'],
  ['referrals'],
  ['rounds', 'created_by', `kind = 'legacy'`],
  ['scores'],
  ['sessions'],
  ['tickets'],
  ['unlinked_accounts'],
  ['wallet_weeks', 'wallet', `kind <> 'burn'`],
];

const GAMES: readonly (readonly [table: string, expression?: string, where?: string])[] = [
  ['activities', 'r.game_id', `kind in ('play', 'score', 'void', 'clip')`],
  ['clip_counts'],
  ['clips'],
  ['finals', 'substr(r.board, 6)', `board like 'game:%'`],
  ['game_counters'],
  ['plays'],
  ['standings', 'substr(r.board, 6)', `board like 'game:%'`],
  ['wallet_weeks', 'r.subject', `kind in ('play', 'score', 'clip')`],
];

export const REFERENCES: readonly Reference[] = [
  ...WALLETS.map(([from, column = 'wallet', where]) => ({ from, names: `r.${column}`, to: 'players', key: 'wallet', ...(where ? { where } : {}) })),
  ...GAMES.map(([from, names = 'r.game_id', where]) => ({ from, names, to: 'games', ...(where ? { where } : {}) })),
  { from: 'scores', names: ['r.game_id', 'r.game_version'], to: 'game_versions', key: ['game_id', 'version'] },
  { from: 'games', names: ['r.id', 'r.version'], to: 'game_versions', key: ['game_id', 'version'] },
  { from: 'scores', names: ['r.play_id', 'r.wallet', 'r.game_id'], to: 'plays', key: ['id', 'wallet', 'game_id'], where: 'play_id is not null' },
  { from: 'scores', names: 'r.battle_id', to: 'battles' },
  { from: 'activities', names: 'r.battle_id', to: 'battles' },
  { from: 'activities', names: 'r.game_id', to: 'burn_events', key: 'id::text', where: `kind = 'burn'` },
  { from: 'wallet_weeks', names: 'r.subject', to: 'burn_events', key: 'id::text', where: `kind = 'burn'` },
  { from: 'ledger', names: `split_part(r.source_id, ':', 1)`, to: 'quests', where: `source = 'quest'` },
  { from: 'quests', names: ['r.id', 'r.version'], to: 'quest_versions', key: ['quest_id', 'version'] },
  { from: 'quest_completions', names: ['r.quest_id', 'r.version'], to: 'quest_versions', key: ['quest_id', 'version'] },
  { from: 'referrals', names: ['r.code', 'r.referrer'], to: 'referral_links', key: ['code', 'wallet'] },
  { from: 'referral_days', names: 'r.referrer', to: '(select distinct referrer from referrals)', key: 'referrer' },
  { from: 'board_refreshes', names: ['r.board', 'r.wallet'], to: '(select distinct board, wallet from standings)', key: ['board', 'wallet'] },
  { from: 'finals', names: ['r.period', 'r.bucket'], to: 'closed_periods', key: ['period', 'bucket'] },
  { from: 'reward_leaves', names: 'r.epoch', to: 'epochs', key: 'epoch', where: 'index = 0' },
  { from: 'reward_trees', names: 'r.epoch', to: 'epochs', key: 'epoch', where: 'level = 0 and chunk = 0' },
  { from: 'reward_imports', names: 'r.epoch', to: 'epochs', key: 'epoch', where: `state = 'done'` },
  { from: 'chat_messages', names: 'r.entry', to: 'entries' },
  { from: 'round_winners', names: ['r.round', 'r.index', 'r.wallet'], to: 'entries', key: ['round', 'index', 'wallet'] },
  { from: 'payments', names: 'r.lane', to: 'payout_lanes', key: 'lane', where: `state in ('batched', 'confirmed')` },
  { from: 'payout_findings', names: 'r.lane', to: 'payout_lanes', key: 'lane' },
  { from: '(select p.id from payout_findings f, unnest(f.payments) p(id))', called: 'payout_findings', names: 'r.id', to: 'payments' },
  { from: 'token_accounts_opened', names: 'r.cause', to: '(select id from claims union all select id from payout_batches)' },
  { from: 'chain_transactions', names: 'r.subject', to: 'claims', key: 'id::text', where: `kind = 'claim'` },
  { from: 'chain_transactions', names: 'r.subject', to: 'payout_batches', key: 'id::text', where: `kind = 'payout-batch'` },
  { from: 'chain_transactions', names: 'r.subject', to: 'rounds', key: 'id::text', where: `kind = 'draw-commitment'` },
  { from: 'chain_transactions', names: `split_part(r.subject, ':', 1)`, to: 'epochs', key: 'epoch::text', where: `kind like 'epoch-%'` },
  {
    from: 'chain_transactions',
    names: `split_part(r.subject, ':', 1)`,
    to: 'payout_lanes',
    key: 'lane::text',
    where: `kind in ('open-payout-lane', 'advance-nonce')`,
  },
];

/** Columns that look like names of rows, and what becomes of them: the check that compares them, or why nothing can. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  'activities.batch': 'activity-batches',
  'activities.source_id': 'activities, other-activities',
  'activity_failures.source_id': 'activity-failures lists them all',
  'burn_cursors.mint': 'the chain’s',
  'burn_events.mint': 'the chain’s',
  'burn_gaps.mint': 'the chain’s',
  'burn_ranges.board': 'burn-ranges',
  'burn_ranges.wallet': 'a bound of a range',
  'burn_standings.board': 'burn-standings',
  'burn_standings.wallet': 'burn-standings',
  'burn_transactions.mint': 'the chain’s',
  'burns.wallet': 'anybody’s',
  'cabinets.possessed_by': 'whatever operators name',
  'chat_messages.source_id': 'another chat’s',
  'claims.epoch': 'claims',
  'claims.wallet': 'claims',
  'entries.wallet': 'entries, chat-entries',
  'epoch_accounts.mint': 'vaults',
  'epochs.rules_version': 'epoch-rules',
  'finals.wallet': 'finals',
  'kept_engagements.source_id': 'the social network’s',
  'ledger.source_id': 'score-points, quest-points, conversions, referral-shares',
  'outbox.wallet': 'whom an event is for: kept for an hour',
  'payments.cause_id': 'prizes, refunds; what is owed by hand has no row',
  'payments.wallet': 'prizes, refunds; anybody’s by hand',
  'payout_batches.mint': 'the chain’s',
  'payout_findings.batch': 'what a stranger’s memo says',
  'payout_findings.payments': 'one by one',
  'reward_leaves.wallet': 'epoch-points; anybody’s in an import',
  'reward_projections.rules_version': 'a cache',
  'round_winners.mint': 'one of two currencies',
  'standings.wallet': 'standings, game-boards',
  'token_accounts_opened.mint': 'the chain’s',
  'token_accounts_opened.wallet': 'its cause names it',
};

const list = (one: string | readonly string[]): readonly string[] => (typeof one === 'string' ? [one] : one);

/** What a reference is called: `scores.play_id, wallet, game_id → plays`. */
export const nameOf = ({ from, called = from, names, to }: Reference): string => `${called}: ${list(names).join(', ').replaceAll('r.', '')} of ${to}`;

/** SQL: the rows of a table that name what is not there. Each row of it is read once, and compared with all that it names. */
function orphansSql(references: readonly Reference[]): string {
  const joins: string[] = [];
  const missing = references.map((reference) => {
    const { to, names, key = 'id', where = 'true' } = reference;
    const columns = list(names);
    const keys = list(key).map((column, i) => `${column} as key${i}`);
    const named = (t: string) =>
      `(select ${keys.join(', ')} from ${to} k) ${t} on ${columns.map((column, i) => `${t}.key${i} = ${column}`).join(' and ')}`;
    const known = joins.findIndex((join, i) => join === named(`t${i}`));
    const at = known < 0 ? joins.push(named(`t${joins.length}`)) - 1 : known;
    const said = `format('%s: %s is named, and is not there', '${nameOf(reference).replaceAll("'", "''")}', concat_ws(', ', ${columns.join(', ')}))`;
    return { said, is: `(t${at}.key0 is null and (${where}) and ${columns.map((column) => `${column} is not null`).join(' and ')})` };
  });
  return `
    select unnest(array_remove(array[${missing.map(({ said, is }) => `case when ${is} then ${said} end`).join(', ')}], null)) as what
    from ${references[0]?.from} r ${joins.map((join) => `left join ${join}`).join(' ')} where ${missing.map(({ is }) => is).join(' or ')}`;
}

/** @param references those of one table; what each names by is there once at most */
export const findOrphans = (db: Queryable, references: readonly Reference[]) => differences(db, orphansSql(references));

/** Names across areas, table by table: a statement each, which sees both tables as of one moment. */
export const orphans: Check = {
  name: 'orphans',
  invariant: 'whatever names a row of another table names one that is there',
  live: true,
  async run({ db }) {
    const found = new Found();
    for (const references of Map.groupBy(REFERENCES, ({ from }) => from).values()) found.addAll(await findOrphans(db, references));
    return found;
  },
};
