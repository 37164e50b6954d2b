import { type InferResult, sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ApprovalKind } from './config.ts';
import { ApprovalsTable } from './entities.ts';

const build = queryBuilder([ApprovalsTable]);

/** Time after which an approval can no longer be given. */
const VALID_HOURS = 72;

/** Returns the time after which an approval can no longer be given, ISO 8601. */
export const approvalExpiry = ({ requestedAt }: Approval): string => new Date(Date.parse(requestedAt) + VALID_HOURS * 3_600_000).toISOString();

const approvals = build
  .selectFrom('approvals')
  .select(['id', 'kind', 'state', 'amount', 'summary', 'requested_by as requestedBy', 'decided_by as decidedBy'])
  .select([isoInstant('requested_at').as('requestedAt'), isoInstant<string | null>('decided_at').as('decidedAt')]);
/** An action that waits for the approval of a second token, or for which the approval was decided. */
export type Approval = InferResult<typeof approvals>[number];

const addSum = statement<{ token: string }>(
  'add_approval_sum',
  `insert into approval_sums as s (day, kind, token, amount) values (app_day(), $1, $2, $3::numeric)
   on conflict (day, kind, token) do update set amount = s.amount + excluded.amount where s.amount + excluded.amount <= $4::numeric
   returning token`,
);

/** An action that a token requests. */
export interface RequestedAction {
  readonly kind: ApprovalKind;
  readonly amount: bigint;
  /** Name of the requesting token. */
  readonly by: string;
}

/**
 * Returns whether an action needs the approval of a second token: its amount, or for imports and grants the sum of the token's amounts of the day, is
 * above the configured amount. An amount that needs no approval is added to this sum, so the caller must run the action in the same transaction.
 */
export async function needsApproval(app: App, tx: Tx, { kind, amount, by }: RequestedAction): Promise<boolean> {
  const limit = app.config.approvals[kind];
  if (limit === null || amount <= 0n) return false;
  if (amount > limit) return true;
  if (kind === 'limit') return false;
  return (await tx.query(addSum, [kind, by, String(amount), String(limit)])).length === 0;
}

/**
 * Stores an action that waits for the approval of a second token.
 * @param action.summary one sentence that tells the second operator what the action does
 * @param action.payload JSON that the action needs
 */
export async function requestApproval(tx: Tx, action: RequestedAction & { summary: string; payload: object }): Promise<Approval> {
  const { kind, amount, summary, payload, by } = action;
  const id = newId();
  const values = { id, kind, amount: String(amount), summary, payload: JSON.stringify(payload), requested_by: by };
  await run(tx, build.insertInto('approvals').values(values));
  return await readApproval(tx, id);
}

/** Returns an approval. @throws 404 when there is none with this id */
export async function readApproval(db: Queryable, id: string): Promise<Approval> {
  const [found] = await run(db, approvals.where('id', '=', id));
  if (!found) throw fail(404, 'no such approval');
  return found;
}

/** Returns one page of the approvals in a state, newest first, and their number. */
export async function listApprovals(
  db: Queryable,
  state: Approval['state'],
  limit: number,
  offset: number,
): Promise<{ approvals: Approval[]; total: number }> {
  const page = approvals.where('state', '=', state).orderBy('id', 'desc').limit(limit).offset(offset);
  const count = build.selectFrom('approvals').select(sql<number>`count(*)::int`.as('total'));
  const [rows, counted] = await Promise.all([run(db, page), run(db, count.where('state', '=', state))]);
  return { approvals: rows, total: counted[0]?.total ?? 0 };
}

/** An action that is being decided. */
export interface DecidedAction {
  readonly kind: ApprovalKind;
  readonly payload: unknown;
  readonly requestedBy: string;
  readonly decidedBy: string;
}

const lock = (id: string) =>
  build
    .selectFrom('approvals')
    .select(['kind', 'state', 'payload', 'requested_by as requestedBy'])
    .select(sql<boolean>`(select app_now()) > requested_at + make_interval(hours => ${sql.raw(String(VALID_HOURS))})`.as('expired'))
    .where('id', '=', id)
    .forUpdate();

/**
 * Approves or refuses an action, once. `act` runs in the same transaction; when it throws, the approval stays pending. A repeated decision changes
 * nothing.
 * @throws 404 when there is no such approval; 403 when the requesting token would approve its own action; 409 when the opposite was decided, or the
 * time to approve is over
 */
export async function decideApproval(
  app: App,
  id: string,
  decision: 'approved' | 'refused',
  decidedBy: string,
  act: (tx: Tx, action: DecidedAction) => Promise<void>,
): Promise<Approval> {
  return await app.tx(async (tx) => {
    const [row] = await run(tx, lock(id));
    if (!row) throw fail(404, 'no such approval');
    if (row.state === decision) return await readApproval(tx, id);
    if (row.state !== 'pending') throw fail(409, `the approval is ${row.state} already`);
    if (decision === 'approved' && row.requestedBy === decidedBy)
      throw fail(403, 'another token than the one that requested the action must approve it');
    if (decision === 'approved' && row.expired)
      throw fail(409, `the action was requested more than ${VALID_HOURS} hours ago; refuse it and request it again`);
    await act(tx, { kind: row.kind, payload: row.payload, requestedBy: row.requestedBy, decidedBy });
    const decided = build.updateTable('approvals').set({ state: decision, decided_by: decidedBy, decided_at: sql`app_now()` });
    await run(tx, decided.where('id', '=', id));
    return await readApproval(tx, id);
  });
}
