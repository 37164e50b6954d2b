import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { burnEventActivated, burnEventEnded } from './events.ts';
import { openBoards } from './ranges.ts';
import { type BurnEventRow, build, EVENT_COLUMNS, readEvent } from './rows.ts';
import type { BurnEventTerms } from './schemas.ts';

/** Maximum pending events per wallet. Events that were created more than 7 days ago do not count. */
export const MAX_PENDING = 5;

// Serializes the creation of events by one wallet, so that the count of its pending events is exact.
const lockWallet = statement('lock_wallet_burn_events', `select pg_advisory_xact_lock(hashtext('coinop-burn-events'), hashtext($1))`);

/**
 * Creates a pending event for the mint of the reward token. Burns do not count before the event is activated.
 * @throws 409 when the wallet has `MAX_PENDING` pending events; 503 when no reward mint is configured
 */
export async function createEvent(app: App, tx: Tx, wallet: string, { title, description, durationSec }: BurnEventTerms): Promise<BurnEventRow> {
  const mint = app.chain.rewardMint.toBase58();
  await tx.query(lockWallet, [wallet]);
  const pending = build
    .selectFrom('burn_events')
    .select('id')
    .where('created_by', '=', wallet)
    .where('state', '=', 'pending')
    .where('created_at', '>', sql<string>`(select app_now() - interval '7 days')`)
    .limit(MAX_PENDING);
  if ((await run(tx, pending)).length === MAX_PENDING)
    throw fail(409, `a wallet may have at most ${MAX_PENDING} pending burn events of the last 7 days; activate one first`);
  const values = { id: newId(), title, description: description ?? null, mint, duration_sec: durationSec, created_by: wallet };
  const [event] = await run(tx, build.insertInto('burn_events').values(values).returning(EVENT_COLUMNS));
  if (!event) throw new Error('the burn event was not stored');
  return event;
}

// Serializes activations, so that each of them sees whether another event is active. A unique index also allows only one active event.
const lockActivations = statement('lock_burn_activations', `select pg_advisory_xact_lock(hashtext('coinop-burn-activations'))`);
/**
 * The start of an event that is activated now: 10 s before the activation, so that a burn right after the activation counts. Block times are whole
 * seconds of the chain's clock, which may be behind the service's clock.
 */
const start = build.selectNoFrom(sql<string>`date_trunc('second', app_now() - interval '10 seconds')`.as('at')).as('t');

/**
 * Activates a pending event. Burns count from now until the event's duration is over.
 * @param wallet address of the caller; null for an operator
 * @throws 404 when the event does not exist; 403 when the wallet did not create the event or is not an organiser; 409 when the event is not pending,
 * or another event is active
 */
export async function activateEvent(app: App, id: string, wallet: string | null): Promise<BurnEventRow> {
  return await app.tx(async (tx) => {
    await tx.query(lockActivations);
    await endDue(tx);
    const { createdBy, status } = await readEvent(tx, id, { lock: true });
    const { organisers } = app.config;
    if (wallet !== null && createdBy !== wallet) throw fail(403, 'only the creator of a burn event or an operator may activate it');
    if (wallet !== null && organisers !== null && !organisers.has(wallet))
      throw fail(403, 'the wallet is not an organiser, so it may not activate burn events');
    if (status !== 'pending') throw fail(409, `the burn event is ${status}; only a pending event can be activated`);
    const [active] = await run(tx, build.selectFrom('burn_events').select('id').where('state', '=', 'active'));
    if (active) throw fail(409, `burn event ${active.id} is active; only one event can be active at a time`);
    const activation = build
      .updateTable('burn_events')
      .from(start)
      .set(({ ref }) => ({ state: 'active', activated_at: ref('t.at'), ends_at: sql<string>`t.at + make_interval(secs => duration_sec)` }))
      .where('id', '=', id)
      .returning(EVENT_COLUMNS);
    const [event] = await run(tx, activation);
    if (!event?.endsAt) throw new Error(`burn event ${id} was not activated`);
    await openBoards(tx, id);
    tx.emit(burnEventActivated, { burnEventId: event.id, title: event.title, mint: event.mint, endsAt: event.endsAt });
    return event;
  });
}

const isOver = sql<boolean>`ends_at <= (select app_now())`;

const emitEnded = (tx: Tx, { id, title, burned, participants }: BurnEventRow): void =>
  tx.emit(burnEventEnded, { burnEventId: id, title, burnTotal: burned, participants });

async function endDue(tx: Tx): Promise<void> {
  const end = build.updateTable('burn_events').set({ state: 'ended' }).where('state', '=', 'active').where(isOver);
  for (const event of await run(tx, end.returning(EVENT_COLUMNS))) emitEnded(tx, event);
}

async function isDue(db: Queryable): Promise<boolean> {
  const due = build.selectFrom('burn_events').select('id').where('state', '=', 'active').where(isOver);
  return (await run(db, due)).length > 0;
}

/** Ends the active event if its time is over. Idempotent; several processes may call it concurrently. */
export async function endBurnEvents(app: App): Promise<void> {
  if (await isDue(app.db)) await app.tx(endDue);
}

/** Ends an active event now. Burns that happened before the end are counted, even if the service reads them from the chain later. */
export async function endEvent(app: App, id: string): Promise<BurnEventRow> {
  return await app.tx(async (tx) => {
    await endDue(tx);
    const { status } = await readEvent(tx, id, { lock: true });
    if (status !== 'active') throw fail(409, `the burn event is ${status}; only an active event can be ended`);
    // Sets the end to the next whole second, because block times are whole seconds. So a burn that was made just before this call counts.
    const endsAt = sql<string>`least(ends_at, date_trunc('second', app_now()) + interval '1 second')`;
    const end = build.updateTable('burn_events').set({ state: 'ended', ends_at: endsAt }).where('id', '=', id);
    const [event] = await run(tx, end.returning(EVENT_COLUMNS));
    if (!event) throw new Error(`burn event ${id} was not ended`);
    emitEnded(tx, event);
    return event;
  });
}
