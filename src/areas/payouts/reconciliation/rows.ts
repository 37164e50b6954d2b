import { statement } from '#platform/db/sql.ts';

/** Which database this is: its system, and how often it was restored or failed over. */
export interface Identity {
  readonly system: string;
  readonly timeline: number;
}

/** What is known of this database and of why payouts stand still. */
export interface Watch {
  system: string | null;
  timeline: number | null;
  doubt: string | null;
  held: string | null;
}

const COLUMNS = 'system_identifier as system, timeline, doubt, held';
export const selectWatch = statement<Watch>('select_payout_watch', `select ${COLUMNS} from payout_watch`);
export const lockWatch = statement<Watch>('lock_payout_watch', `select ${COLUMNS} from payout_watch for update`);
export const selectIdentity = statement<Identity>(
  'select_database_identity',
  'select system_identifier::text as system, timeline_id as timeline from pg_control_system(), pg_control_checkpoint()',
);
export const updateWatch = statement(
  'update_payout_watch',
  `update payout_watch set system_identifier = $1, timeline = $2, doubt = $3, checked_at = app_now()`,
);
export const holdPayouts = statement('hold_payouts', 'update payout_watch set held = $1, held_by = $2');
