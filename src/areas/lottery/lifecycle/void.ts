import { sql } from 'kysely';
import { stringify } from 'uuid';
import { advanceRound } from '#jobs/rounds.ts';
import type { VoidReason } from '#lib/draw/audit.ts';
import { sha256, utf8 } from '#lib/draw/bytes.ts';
import { parametersHash } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { roundClosed, roundVoid } from '../events.ts';
import { refundTickets } from '../legacy/refund.ts';
import { build } from '../rows.ts';
import type { OpenedRound } from './rows.ts';

const end = (round: string, reason: VoidReason, audit: string) =>
  build
    .updateTable('rounds')
    .set({ state: 'void', void_reason: reason, audit, closed_at: sql`coalesce(closed_at, app_now())`, ended_at: sql`app_now()` })
    .where('id', '=', round);

/** Voids a round that has no commitment. Precondition: the transaction has locked the round's row. */
export async function voidUncommitted(tx: Tx, { id, kind }: Pick<OpenedRound, 'id' | 'kind'>, reason: VoidReason, audit: string): Promise<void> {
  await run(tx, end(id, reason, audit));
  tx.emit(roundVoid, { roundId: id, kind, reason, successor: null });
}

/**
 * Voids a committed round. A chat round gets a successor with the same entries and prizes; the tickets of a legacy round are refunded.
 * Precondition: the transaction has locked the round's row.
 */
export async function voidCommitted(tx: Tx, app: App, round: OpenedRound, reason: VoidReason, audit: string): Promise<void> {
  await run(tx, end(round.id, reason, audit));
  if (round.kind === 'legacy') await refundTickets(tx, app, round.id);
  const successor = round.kind === 'chat' ? await createSuccessor(tx, round) : null;
  tx.emit(roundVoid, { roundId: round.id, kind: round.kind, reason, successor });
}

const insertSuccessor = statement<{ entries: number }>(
  'insert_successor',
  `insert into rounds (id, kind, state, title, created_by, picks, range, max_entries_per_wallet, prizes, duration_sec, parameters, parameters_hash,
     opens_at, closes_at, closed_at, successor_of, entries)
   select $2, kind, 'closing', title, created_by, picks, range, max_entries_per_wallet, prizes, duration_sec, $3, $4,
     opens_at, closes_at, app_now(), id, (select count(*)::int from entries where round = $1)
   from rounds where id = $1 returning entries`,
);
// Numbers the copied entries from 0 again, so that the successor's indexes have no gap when entries of the void round are missing.
const copyEntries = statement(
  'copy_entries',
  `insert into entries (round, index, id, wallet, numbers, source, message_id, at)
   select $2, row_number() over (order by index) - 1, gen_random_uuid(), wallet, numbers, source, message_id, at from entries where round = $1`,
);

/**
 * Derives the id of a void round's successor: the first 16 bytes of sha256("coinop/successor/1" LF id), as a UUID of version 8. The id is
 * deterministic, so that a database restored from a backup creates the same successor and finds the successor's commitment on the chain.
 */
function successorId(round: string): string {
  const bytes = sha256(utf8(`coinop/successor/1\n${round}`)).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}

/**
 * Creates the successor of a void round with the same entries.
 * @returns the id of the successor
 */
async function createSuccessor(tx: Tx, round: OpenedRound): Promise<string> {
  const id = successorId(round.id);
  const parameters = { ...round.parameters, round: id };
  const [successor] = await tx.query(insertSuccessor, [round.id, id, JSON.stringify(parameters), parametersHash(parameters)]);
  await tx.query(copyEntries, [round.id, id]);
  tx.emit(roundClosed, { roundId: id, kind: round.kind, entries: successor?.entries ?? 0 });
  tx.enqueue(advanceRound, { round: id });
  return id;
}
