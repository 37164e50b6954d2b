/** A table with rows about a wallet. */
export interface ExportedTable {
  readonly table: string;
  /** SQL that selects the rows of the wallet `$1`, with the name `t`: what follows `from`. An index finds these rows. */
  readonly rows: string;
  /** Columns that the export leaves out: secrets, and columns that would help to avoid the next decision. */
  readonly without?: readonly string[];
}

/** Rows whose column `wallet` is the wallet. */
const own = (table: string, ...without: string[]): ExportedTable => ({ table, rows: `${table} t where t.wallet = $1`, without });

/** Every table whose rows the export contains, in the order of the export. A contract test finds a table that is missing. */
export const EXPORTED: readonly ExportedTable[] = [
  own('players', 'overlap_ms'),
  own('wallet_names'),
  own('linked_accounts'),
  own('unlinked_accounts'),
  own('link_attempts', 'key', 'secret'),
  own('sessions', 'key'),
  own('plays', 'batch'),
  own('scores', 'batch', 'body_hash', 'reasons', 'decided_by'),
  {
    table: 'score_restorations',
    rows: 'scores s join score_restorations t on t.score_id = s.id where s.wallet = $1',
    without: ['restored_by', 'voided_by'],
  },
  { table: 'play_seeds', rows: 'plays p join play_seeds t on t.play_id = p.id where p.wallet = $1' },
  { table: 'score_replays', rows: 'scores s join score_replays t on t.score_id = s.id where s.wallet = $1' },
  own('replay_refusals'),
  own('game_records'),
  own('game_states'),
  own('activities'),
  own('ledger'),
  own('carried_points'),
  own('carried_games'),
  own('beta_conversions'),
  own('quest_completions'),
  own('wallet_weeks'),
  own('referral_links'),
  own('referrals'),
  { table: 'referral_days', rows: 'referral_days t where t.referrer = $1' },
  own('battle_seats'),
  { table: 'battles', rows: 'battle_seats s join battles t on t.id = s.battle_id where s.wallet = $1' },
  own('chat_messages', 'text_hash'),
  { table: 'chat_sanctions', rows: `chat_sanctions t where t.source = 'chat' and t.account = $1`, without: ['by'] },
  own('clips'),
  own('storage_usage'),
  // Entries of legacy rounds have no numbers; each of them is a ticket.
  { table: 'entries', rows: 'entries t where t.wallet = $1 and cardinality(t.numbers) > 0' },
  own('tickets'),
  own('exclusions'),
  own('accepted_terms'),
  own('burns'),
  own('burn_refusals'),
  {
    table: 'reward_leaves',
    rows: 'epochs e cross join generate_series(1, e.allocation) a join reward_leaves t on t.epoch = e.epoch and t.allocation = a and t.wallet = $1',
  },
  { table: 'reward_exclusions', rows: 'epochs e join reward_exclusions t on t.epoch = e.epoch and t.wallet = $1', without: ['excluded_by'] },
  own('claims'),
  own('payments'),
  own('token_accounts_opened'),
  own('notifications', 'by'),
  own('appeals', 'decided_by'),
  own('account_deletions'),
];

/** Tables with the address of a wallet that the export leaves out, with the reason. */
export const NOT_EXPORTED: Readonly<Record<string, string>> = {
  board_refreshes: 'a queue of changes of boards, each for some seconds',
  quest_checks: 'a queue of quests to check, each for some seconds',
  score_keys: 'the idempotency keys of the exported scores',
  outbox: 'a queue of events, each for an hour; the rows that caused them are exported',
  denied_wallets: 'the list of another party; a refused ticket says that the wallet is on the list',
  burn_cursors: 'the address is a token',
  burn_gaps: 'the address is a token',
  burn_refusal_candidates: 'the address is a token',
  burn_transactions: 'the address is a token',
  burn_events: 'the address is a token, and the creator is an organiser of public events',
  burn_ranges: 'sums of the exported burns',
  burn_standings: 'sums of the exported burns',
  commitments: 'the address is an account of the draws program',
  finals: 'ranks that follow from the ledger of all wallets',
  standings: 'sums of the exported ledger and scores',
  game_players: 'follows from the exported plays and scores',
  round_winners: 'the prizes are exported payments',
  wallet_notes: 'operators write them for operators; people answer a lawful request for them',
};
