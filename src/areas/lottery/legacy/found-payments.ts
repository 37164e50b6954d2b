import type { LegacyParameters } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { isContradicted } from '#platform/solana/submission/index.ts';
import { readTicketBalance } from '../entry-rules.ts';
import { PAYMENT_TYPE } from './check.ts';
import { ticketAccount, ticketPayerOf, treasuryAccounts } from './payment.ts';
import { recordPayment, selectRequested } from './request.ts';
import { scanAccount } from './scan.ts';

/** Maximum unread transactions of one round, and of all rounds, per run, so that a stranger's memos that name one round do not delay other rounds. */
const MAX_PER_ROUND = 25;
const MAX_PER_RUN = 100;
const MAX_CONCURRENT_READS = 8;

/** Maximum time by which the clock of the chain may be behind the clock of the database, ms. It was 30 minutes in 2022. */
const MAX_CLOCK_LAG_MS = 3_600_000;

// Rounds that sell paid tickets, and those that closed less than a day ago, whose late payments are refunded. A round is open for at most 30 days.
const SOLD_ROUNDS = `from rounds where kind = 'legacy' and ticket_price > 0 and created_at > (select app_now()) - interval '32 days'
     and (closed_at is null or closed_at > (select app_now()) - interval '1 day')`;
const UNREAD_PAYMENTS = 'select 1 from ticket_payments where read_at is null and next_at <= (select app_now())';
/** SQL that returns rows while `findTicketPayments` has something to read: rounds whose tickets are or were sold lately, and found transactions. */
export const WATCHED_PAYMENTS = `select 1 where exists (select ${SOLD_ROUNDS}) or exists (${UNREAD_PAYMENTS})`;
const selectWatched = statement<{ treasury: string; mint: string; since: number }>(
  'select_rounds_with_paid_tickets',
  `select parameters->>'treasury' as treasury, parameters->>'mint' as mint, (extract(epoch from min(opens_at)) * 1000)::float8 as since
   ${SOLD_ROUNDS} group by 1, 2`,
);

interface LeasedPayment {
  readonly signature: string;
  readonly round: string;
  /** Whether the transaction was found at least a day ago. */
  readonly isOverdue: boolean;
}
// Leases transactions for 2 s; the lease doubles with each attempt, up to 64 s. If a run is killed or cannot read a transaction, a later run leases
// the transaction again.
const leasePayments = statement<LeasedPayment>(
  'lease_ticket_payments',
  `with recursive rounds_of as (
     (select round from ticket_payments where read_at is null order by round limit 1)
     union all
     select (select p.round from ticket_payments p where p.read_at is null and p.round > r.round order by p.round limit 1) from rounds_of r where r.round is not null),
   due as (
     select p.signature from rounds_of r, lateral (
       select signature, slot from ticket_payments where round = r.round and read_at is null and next_at <= (select app_now()) order by slot limit ${MAX_PER_ROUND}) p
     order by p.slot limit ${MAX_PER_RUN})
   update ticket_payments set tries = tries + 1, next_at = app_now() + interval '2 seconds' * power(2, least(tries, 5))
   where signature = any(array(select t.signature from ticket_payments t join due using (signature) where t.next_at <= (select app_now()) for update of t skip locked))
   returning signature, round::text, found_at <= (select app_now()) - interval '1 day' as "isOverdue"`,
);
const markRead = statement<{ signature: string }>(
  'mark_ticket_payment_read',
  'update ticket_payments set read_at = app_now() where signature = $1 and read_at is null returning signature',
);
const purgeRead = statement(
  'purge_ticket_payments',
  `delete from ticket_payments where signature = any(array(
     select signature from ticket_payments where read_at < (select app_now()) - interval '1 day' order by read_at limit 1000 for update skip locked))`,
);

/**
 * Finds payments for tickets on the chain that no wallet has named in a request, for example because a wallet paid through a Solana Action. Records a
 * ticket for each, so that the payment counts or is refunded. Idempotent; several processes may run it concurrently. A payment that is not exactly the
 * price is not recorded: its wallet requests the ticket, and the refund follows.
 */
export async function findTicketPayments(app: App): Promise<void> {
  const watched = await app.db.query(selectWatched);
  const failures: unknown[] = [];
  for (const { treasury, mint, since } of watched)
    await scanAccount(app, ticketAccount({ treasury, mint }), since - MAX_CLOCK_LAG_MS).catch((error: unknown) => failures.push(error));
  // Reads the transactions that are found also when the RPC node cannot list further ones.
  if (!(await isContradicted(app.db, PAYMENT_TYPE))) await readPayments(app, failures);
  await app.tx((tx) => tx.query(purgeRead));
  if (failures.length > 0) throw failures[0];
}

async function readPayments(app: App, failures: unknown[]): Promise<void> {
  const leased = await app.tx((tx) => tx.query(leasePayments));
  const next = leased.values();
  const work = async () => {
    for (const payment of next) await readPayment(app, payment).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_READS }, work));
}

/** Reads a transaction that may pay for a ticket, and records the ticket. When no RPC node has the transaction, a later run reads it. */
async function readPayment(app: App, { signature, round: id, isOverdue }: LeasedPayment): Promise<void> {
  const [round] = await app.db.query(selectRequested, [id]);
  if (round?.parameters.kind !== 'legacy') throw new Error(`round ${id} has no tickets`);
  const wallet = await readPayer(app, signature, round.parameters);
  if (wallet === undefined && !isOverdue) return;
  if (wallet === undefined)
    app.log.error({ signature, round: id }, 'a transaction that may pay for a ticket could not be read for a day; it is skipped');
  const balance = wallet ? await readTicketBalance(app, wallet, id) : null;
  await app.tx(async (tx) => {
    if ((await tx.query(markRead, [signature])).length > 0 && wallet) await recordPayment(app, tx, round, wallet, signature, balance);
  });
}

/** Returns the wallet that paid for a ticket; null when the transaction pays for none, undefined while no RPC node has the complete transaction. */
async function readPayer(app: App, signature: string, parameters: LegacyParameters): Promise<string | null | undefined> {
  const { node, second } = app.chain;
  const found = (await node.transaction(signature, 'confirmed')) ?? (await second?.transaction(signature, 'confirmed'));
  if (!found || found.outcome === null || found.blockTime === null) return undefined;
  return ticketPayerOf(found, parameters, treasuryAccounts(parameters, app.config.chain.rewardMint));
}
