import { sql } from 'kysely';
import { CURRENT_TIMELINE } from '#platform/db/servers.ts';
import { statement } from '#platform/db/sql.ts';
import { build } from '../build.ts';

/** The identity of a PostgreSQL database: its system identifier, and the number of its timeline, which increases with each restore and failover. */
export interface DatabaseIdentity {
  readonly system: string;
  readonly timeline: number;
}

/** The last stored identity of the database, and the reasons why payouts are paused. */
export interface ReconciliationState {
  system: string | null;
  timeline: number | null;
  mismatchReason: string | null;
  manualReason: string | null;
}

const COLUMNS = 'system_identifier as system, timeline, doubt as "mismatchReason", held as "manualReason"';
export const selectReconciliation = statement<ReconciliationState>('select_payout_watch', `select ${COLUMNS} from payout_watch`);
export const lockReconciliation = statement<ReconciliationState>('lock_payout_watch', `select ${COLUMNS} from payout_watch for update`);
export const selectIdentity = statement<DatabaseIdentity>(
  'select_database_identity',
  `select system_identifier::text as system, ${CURRENT_TIMELINE} as timeline from pg_control_system()`,
);
export const updateReconciliation = (system: string | null, timeline: number | null, mismatchReason: string | null) =>
  build.updateTable('payout_watch').set({ system_identifier: system, timeline, doubt: mismatchReason, checked_at: sql`app_now()` });
export const updateManualReason = (reason: string | null, by: string) => build.updateTable('payout_watch').set({ held: reason, held_by: by });

/**
 * Selects a row when the database was restored or failed over, and the lanes were not reconciled since then. In a transaction that plans payments, the
 * row means that the database may have lost the record that these payments were paid.
 */
export const selectFailover = statement<{ timeline: number }>(
  'select_unreconciled_failover',
  `select timeline from payout_watch where timeline <> ${CURRENT_TIMELINE}`,
);
