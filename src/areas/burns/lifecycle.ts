import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { burnEventActivated, burnEventEnded } from './events.ts';
import { openBoards } from './ranges.ts';
import { type BurnEventRow, COLUMNS, readEvent } from './rows.ts';
import type { BurnEventTerms } from './schemas.ts';

/** Events that a wallet may have pending; those that nobody activated within a week do not stand in its way. */
export const MOST_PENDING = 5;

// One of a wallet's events is described at a time, so that its pending ones can be counted.
const lockWallet = statement('lock_wallet_burn_events', `select pg_advisory_xact_lock(hashtext('coinop-burn-events'), hashtext($1))`);
const countPending = statement<{ n: number }>(
  'count_pending_burn_events',
  `select count(*)::int as n from burn_events where created_by = $1 and state = 'pending' and created_at > (select app_now() - interval '7 days')`,
);
const insert = statement<BurnEventRow>(
  'insert_burn_event',
  `insert into burn_events (id, title, description, mint, duration_sec, created_by) values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
);

/**
 * Describes an event that burns the reward mint. Burns count for it once it is activated.
 * @throws 409 when the wallet has too many pending ones; 503 when there is no reward mint
 */
export async function createEvent(app: App, tx: Tx, wallet: string, { title, description, durationSec }: BurnEventTerms): Promise<BurnEventRow> {
  const mint = app.chain.rewardMint.toBase58();
  await tx.query(lockWallet, [wallet]);
  const pending = (await tx.query(countPending, [wallet]))[0]?.n ?? 0;
  if (pending >= MOST_PENDING) throw fail(409, `a wallet has at most ${MOST_PENDING} pending burn events of the last 7 days, activate one first`);
  const [event] = await tx.query(insert, [newId(), title, description ?? null, mint, durationSec, wallet]);
  if (!event) throw new Error('a burn event was not stored');
  return event;
}

// Whoever activates waits for whoever else does, and then sees it; the unique index says the same.
const lockActivations = statement('lock_burn_activations', `select pg_advisory_xact_lock(hashtext('coinop-burn-activations'))`);
const findActive = statement<{ id: string }>('find_active_burn_event', `select id::text from burn_events where state = 'active'`);
// Blocks have their time in whole seconds, by a clock that may be behind ours: what is burned right after the activation must not come before it.
const activate = statement<BurnEventRow>(
  'activate_burn_event',
  `update burn_events set state = 'active', activated_at = t.at, ends_at = t.at + make_interval(secs => duration_sec)
   from (select date_trunc('second', app_now() - interval '10 seconds') as at) t where id = $1 returning ${COLUMNS}`,
);

/**
 * Activates a pending event: burns count for it from now on, for as long as it lasts.
 * @param wallet who asks, and must have described it; null for an operator
 * @throws 404; 403 it is somebody else's, or the wallet is no organiser; 409 it is not pending, or another is active
 */
export async function activateEvent(app: App, id: string, wallet: string | null): Promise<BurnEventRow> {
  return await app.tx(async (tx) => {
    await tx.query(lockActivations);
    await endDue(tx);
    const { createdBy, status } = await readEvent(tx, id, { lock: true });
    const { organisers } = app.config;
    if (wallet !== null && createdBy !== wallet) throw fail(403, 'a burn event is activated by its creator or an operator');
    if (wallet !== null && organisers !== null && !organisers.has(wallet)) throw fail(403, 'this wallet may not activate burn events');
    if (status !== 'pending') throw fail(409, `the burn event is ${status}, and only a pending one can be activated`);
    const [active] = await tx.query(findActive);
    if (active) throw fail(409, `burn event ${active.id} is active, and only one is at a time`);
    const [event] = await tx.query(activate, [id]);
    if (!event?.endsAt) throw new Error(`burn event ${id} was not activated`);
    await openBoards(tx, id);
    tx.emit(burnEventActivated, { burnEventId: event.id, title: event.title, mint: event.mint, endsAt: event.endsAt });
    return event;
  });
}

const dueNow = `state = 'active' and ends_at <= app_now()`;
const findDue = statement<{ id: string }>('find_due_burn_event', `select id::text from burn_events where ${dueNow}`);
const updateDue = statement<BurnEventRow>('end_due_burn_event', `update burn_events set state = 'ended' where ${dueNow} returning ${COLUMNS}`);
// All of the second in which it is ended still counts: a burn that was made before is never lost.
const updateNow = statement<BurnEventRow>(
  'end_burn_event',
  `update burn_events set state = 'ended', ends_at = least(ends_at, date_trunc('second', app_now()) + interval '1 second') where id = $1 returning ${COLUMNS}`,
);

const report = (tx: Tx, { id, title, burned, participants }: BurnEventRow): void =>
  tx.emit(burnEventEnded, { burnEventId: id, title, burnTotal: burned, participants });

async function endDue(tx: Tx): Promise<void> {
  for (const event of await tx.query(updateDue)) report(tx, event);
}

const isDue = async (db: Queryable): Promise<boolean> => (await db.query(findDue)).length > 0;

/** Ends the event whose time is over. Harmless at any time and in any number of processes. */
export async function endBurnEvents(app: App): Promise<void> {
  if (await isDue(app.db)) await app.tx(endDue);
}

/**
 * Ends an active event now. Burns of before count, whenever they are read.
 * @throws 404; 409 where it is not active
 */
export async function endEvent(app: App, id: string): Promise<BurnEventRow> {
  return await app.tx(async (tx) => {
    await endDue(tx);
    const { status } = await readEvent(tx, id, { lock: true });
    if (status !== 'active') throw fail(409, `the burn event is ${status}, and only an active one can be ended`);
    const [event] = await tx.query(updateNow, [id]);
    if (!event) throw new Error(`burn event ${id} is gone`);
    report(tx, event);
    return event;
  });
}
