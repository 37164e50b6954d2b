import { databaseCheck } from './check.ts';

/** Database triggers that must be enabled: they make tables append-only or rows immutable, or they update counters and flags. */
export const GUARDS: readonly (readonly [table: string, trigger: string])[] = [
  ['accepted_terms', 'accepted_terms_kept'],
  ['admin_audit', 'admin_audit_append_only'],
  ['app_clock', 'set_app_shift'],
  ['beta_conversions', 'beta_conversions_append_only'],
  ['beta_conversions', 'beta_conversions_no_truncate'],
  ['clips', 'clips_count'],
  ['clips', 'clips_storage_delete'],
  ['clips', 'clips_storage_insert'],
  ['clips', 'clips_storage_update'],
  ['entries', 'entries_kept'],
  ['erasures', 'erasures_append_only'],
  ['exclusions', 'exclusions_kept'],
  ['game_record_erasures', 'game_record_erasures_append_only'],
  ['game_records', 'game_records_guarded'],
  ['game_records', 'game_records_kept'],
  ['game_records', 'game_records_no_truncate'],
  ['game_records', 'game_records_storage_delete'],
  ['game_records', 'game_records_storage_insert'],
  ['game_records', 'game_records_storage_update'],
  ['game_states', 'game_states_storage_delete'],
  ['game_states', 'game_states_storage_insert'],
  ['game_states', 'game_states_storage_update'],
  ['ledger', 'ledger_append_only'],
  ['ledger', 'ledger_no_truncate'],
  ['payments', 'payments_fixed'],
  ['payments', 'payments_kept'],
  ['payments', 'payments_no_truncate'],
  ['payout_batches', 'payout_batches_fixed'],
  ['payout_batches', 'payout_batches_kept'],
  ['players', 'players_hide_clips'],
  ['reward_leaves', 'reward_leaves_fixed'],
  ['reward_trees', 'reward_trees_fixed'],
  ['round_winners', 'round_winners_kept'],
  ['rounds', 'rounds_guarded'],
  ['rounds', 'rounds_kept'],
  ['scores', 'scores_keys'],
  ['simulations', 'simulations_append_only'],
  ['tickets', 'tickets_guarded'],
  ['tickets', 'tickets_kept'],
];

export const guards = databaseCheck(
  'guards',
  'the triggers that protect immutable tables and rows exist and are enabled',
  `select format('the trigger %s of %s is %s', g.name, g.relation, case when t.oid is null then 'missing' else 'disabled' end) as what
   from (values ${GUARDS.map(([table, trigger]) => `('${table}', '${trigger}')`).join(', ')}) g(relation, name)
   left join pg_trigger t on t.tgrelid = to_regclass(g.relation) and t.tgname = g.name
   where t.tgenabled is distinct from 'O' and t.tgenabled is distinct from 'A'`,
);
