import { sql } from 'kysely';
import { lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { appealsTables } from './entities.ts';
import type { AppealDecision, AppealRequest, AppealView, OwnAppeal } from './schemas.ts';

/** Maximum open appeals of a wallet. */
export const MAX_OPEN = 20;

const build = queryBuilder(appealsTables);

/**
 * SQL: the time of a decision about a wallet. Reads the tables of other areas directly, so that each kind of decision takes one condition here. $1: the
 * wallet. $2: the kind. $3: the id, or null.
 */
const DECISION = `
   select coalesce(decided_at, at) as since from scores where $2 = 'score' and id = $3 and wallet = $1 and status <> 'accepted'
   union all
   select banned_at from players where $2 = 'ban' and wallet = $1 and banned_at is not null
   union all
   select coalesce(removed_at, created_at) from clips where $2 = 'clip' and id = $3 and wallet = $1 and state in ('removing', 'removed')
   union all
   select deleted_at from chat_messages where $2 = 'chat' and id = $3 and wallet = $1 and deleted_at is not null
   union all
   select coalesce(banned_at, changed_at) from chat_sanctions
   where $2 = 'chat' and $3::uuid is null and source = 'chat' and account = $1 and (banned_at is not null or muted_until > (select app_now()))`;
const existsDecision = statement<{ exists: boolean }>('exists_contested_decision', `select exists (${DECISION}) as exists`);
// The unique index makes a second appeal against the same decision a conflict.
const insertAppeal = statement<{ id: string }>(
  'insert_appeal',
  `insert into appeals (id, wallet, kind, case_id, since, text)
   select $4, $1, $2, $3, d.since, $5 from (${DECISION}) d(since) on conflict do nothing returning id::text`,
);

const OWN_COLUMNS = [
  'id as appealId',
  'kind',
  'case_id as caseId',
  isoInstant('since').as('since'),
  'text',
  isoInstant('at').as('at'),
  'status',
  'answer',
  isoInstant<string | null>('decided_at').as('decidedAt'),
] as const;
const COLUMNS = [...OWN_COLUMNS, 'wallet', 'decided_by as decidedBy'] as const;
const count = sql<number>`count(*)::int`.as('n');

/**
 * Stores a wallet's answer to a decision that concerns it.
 * @throws 404 when there is no decision of this kind about the wallet; 409 when the wallet answered the decision before, or has `MAX_OPEN` open appeals
 */
export async function appeal(tx: Tx, wallet: string, { kind, id, text }: AppealRequest): Promise<OwnAppeal> {
  // Serializes the appeals of the wallet, so that the number of its open appeals is exact.
  await lockPlayers(tx, [wallet]);
  const [open] = await run(tx, build.selectFrom('appeals').select(count).where('wallet', '=', wallet).where('status', '=', 'open'));
  if (open && open.n >= MAX_OPEN) throw fail(409, `a wallet may have at most ${MAX_OPEN} open appeals; wait for an answer`);
  const [stored] = await tx.query(insertAppeal, [wallet, kind, id ?? null, newId(), text]);
  if (!stored) {
    const [decision] = await tx.query(existsDecision, [wallet, kind, id ?? null]);
    throw decision?.exists ? fail(409, 'this decision was appealed before') : fail(404, 'there is no such decision about this wallet');
  }
  const [row] = await run(tx, build.selectFrom('appeals').select(OWN_COLUMNS).where('id', '=', stored.id));
  if (!row) throw new Error('the appeal was not stored');
  return row;
}

/** Reads a page of a wallet's appeals, newest first, and the number of all of them. */
export async function listOwnAppeals(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ appeals: OwnAppeal[]; total: number }> {
  const own = build.selectFrom('appeals').where('wallet', '=', wallet);
  const [appeals, [all]] = await Promise.all([
    run(db, own.select(OWN_COLUMNS).orderBy('id', 'desc').limit(limit).offset(offset)),
    run(db, own.select(count)),
  ]);
  return { appeals, total: all?.n ?? 0 };
}

/** Reads a page of the appeals in a state, open ones oldest first and decided ones newest first, and the number of all of them. */
export async function listAppeals(
  db: Queryable,
  { status, wallet, limit, offset }: { status: AppealView['status']; wallet?: string | undefined; limit: number; offset: number },
): Promise<{ appeals: AppealView[]; total: number }> {
  const inState = build.selectFrom('appeals').where('status', '=', status);
  const chosen = wallet === undefined ? inState : inState.where('wallet', '=', wallet);
  const page = chosen.select(COLUMNS).orderBy('id', status === 'open' ? 'asc' : 'desc');
  const [appeals, [all]] = await Promise.all([run(db, page.limit(limit).offset(offset)), run(db, chosen.select(count))]);
  return { appeals, total: all?.n ?? 0 };
}

/**
 * Decides an open appeal. A repeated decision changes nothing.
 * @throws 404 when the appeal does not exist; 409 when it was decided otherwise
 */
export async function decideAppeal(tx: Tx, id: string, { decision, answer }: AppealDecision, by: string): Promise<AppealView> {
  const status = decision === 'grant' ? 'granted' : 'refused';
  const change = build.updateTable('appeals').set({ status, answer, decided_by: by, decided_at: sql`app_now()` });
  await run(tx, change.where('id', '=', id).where('status', '=', 'open'));
  const [row] = await run(tx, build.selectFrom('appeals').select(COLUMNS).where('id', '=', id));
  if (!row) throw fail(404, 'no such appeal');
  if (row.status !== status) throw fail(409, `the appeal was ${row.status} before`);
  return row;
}

/** Replaces the texts of a wallet's appeals that are not newer than `until`. The decisions stay. */
export async function forgetAppealsOf(tx: Tx, wallet: string, until: string): Promise<void> {
  await run(tx, build.updateTable('appeals').set({ text: '-' }).where('wallet', '=', wallet).where('at', '<=', until));
}
