import { statement } from '#platform/db/sql.ts';

/** Serializes the transactions that insert quests, until they end, so that each of them sees the number of quests. */
export const lockInsertions = statement('lock_quests', `select pg_advisory_xact_lock(hashtext('coinop-quests'))`);
