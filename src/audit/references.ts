import type { Queryable } from '../db/sql.ts';
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
  ['ledger', 'wallet', `kind <> 'quest'`],
  ['link_attempts'],
  ['linked_accounts'],
  ['plays'],
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

/** SQL: who may complete quests: those of burns are open to wallets that never signed in. */
const ANYBODY = '(select wallet from players union all select wallet from burns)';

/** SQL: the id in a subject, or none where it is of another form. */
const idIn = (text: string) =>
  `case when ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then ${text}::uuid else '00000000-0000-0000-0000-000000000000'::uuid end`;

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
  { from: 'ledger', names: 'r.wallet', to: ANYBODY, key: 'wallet', where: `kind = 'quest'` },
  { from: 'quest_completions', names: 'r.wallet', to: ANYBODY, key: 'wallet' },
  { from: 'referral_days', names: 'r.referrer', to: 'referrals', key: 'referrer' },
  { from: 'board_refreshes', names: ['r.board', 'r.wallet'], to: 'standings', key: ['board', 'wallet'] },
  { from: 'finals', names: ['r.period', 'r.bucket'], to: 'closed_periods', key: ['period', 'bucket'] },
  { from: 'reward_leaves', names: 'r.epoch', to: 'epochs', key: 'epoch', where: 'index = 0' },
  { from: 'reward_trees', names: 'r.epoch', to: 'epochs', key: 'epoch', where: 'level = 0 and chunk = 0' },
  { from: 'reward_imports', names: 'r.epoch', to: 'epochs', key: 'epoch', where: `state = 'done'` },
  { from: 'claims', names: ['r.epoch', 'r.index'], to: 'reward_leaves', key: ['epoch', 'index'] },
  { from: 'chat_messages', names: 'r.entry', to: 'entries' },
  { from: 'round_winners', names: ['r.round', 'r.index', 'r.wallet'], to: 'entries', key: ['round', 'index', 'wallet'] },
  { from: 'payments', names: 'r.lane', to: 'payout_lanes', key: 'lane', where: `state in ('batched', 'confirmed')` },
  { from: 'payout_findings', names: 'r.lane', to: 'payout_lanes', key: 'lane' },
  { from: '(select p.id from payout_findings f, unnest(f.payments) p(id))', called: 'payout_findings', names: 'r.id', to: 'payments' },
  { from: 'token_accounts_opened', names: 'r.cause', to: '(select id from claims union all select id from payout_batches)' },
  { from: 'chain_transactions', names: idIn('r.subject'), to: 'claims', where: `kind = 'claim'` },
  { from: 'chain_transactions', names: idIn('r.subject'), to: 'payout_batches', where: `kind = 'payout-batch'` },
  { from: 'chain_transactions', names: idIn('r.subject'), to: 'rounds', where: `kind = 'draw-commitment'` },
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

/** SQL: the rows that name what is not there. */
function orphansSql(reference: Reference): string {
  const { from, names, to, key = 'id', where = 'true' } = reference;
  const columns = list(names);
  const same = list(key).map((column, i) => `t.${column} = ${columns[i]}`);
  return `
    select format('%s: %s is named, and is not there', '${nameOf(reference).replaceAll("'", "''")}', concat_ws(', ', ${columns.join(', ')})) as what
    from ${from} r where (${where}) and ${columns.map((column) => `${column} is not null`).join(' and ')}
      and not exists (select from ${to} t where ${same.join(' and ')})`;
}

export const findOrphans = (db: Queryable, reference: Reference) => differences(db, orphansSql(reference));

/** Names across areas, table by table: a statement each, which sees both tables as of one moment. */
export const orphans: Check = {
  name: 'orphans',
  invariant: 'whatever names a row of another table names one that is there',
  live: true,
  async run({ db }) {
    const found = new Found();
    for (const reference of REFERENCES) found.addAll(await findOrphans(db, reference));
    return found;
  },
};
