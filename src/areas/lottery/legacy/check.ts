import type { VersionedTransactionResponse } from '@solana/web3.js';
import { checkTicket as checkTicketJob } from '#jobs/rounds.ts';
import type { LegacyParameters } from '#lib/draw/parameters.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { rpc } from '#platform/solana/solana.ts';
import { type Checking, decide, giveUp } from './decide.ts';
import { judge, treasuryAccounts } from './payment.ts';

/** A transaction of which nothing is known for so long does not land any more, unless it has a durable nonce. */
const LOST = `interval '10 minutes'`;
/** One that is there and cannot be read for so long is left to a later request. */
const UNREADABLE = `interval '1 day'`;

type CheckingRow = Checking & { parameters: LegacyParameters; lost: boolean; unreadable: boolean };
const selectChecking = statement<CheckingRow>(
  'select_checking_ticket',
  `select t.id::text, t.round::text, t.wallet, t.signature, r.parameters,
     t.asked_at <= app_now() - ${LOST} as lost, t.asked_at <= app_now() - ${UNREADABLE} as unreadable
   from tickets t join rounds r on r.id = t.round where t.id = $1 and t.state = 'checking'`,
);

/**
 * Looks at what a ticket was paid with, and accepts or refuses it once that is final. Until then nothing happens: the sweep rings again.
 * Harmless when run twice, by anyone.
 */
export async function checkTicket(app: App, id: string): Promise<void> {
  const ticket = (await app.db.query(selectChecking, [id]))[0];
  if (!ticket) return;
  const judgement = await look(app, ticket).catch((error: unknown) => {
    if (!ticket.unreadable) throw error;
    app.log.error({ err: error, ticket: id }, 'the transaction of a ticket cannot be read');
    return { verdict: 'unread' as const };
  });
  if (judgement.verdict !== 'unread') return await decide(app, ticket, judgement);
  if (ticket.unreadable) return await giveUp(app, ticket, 'the transaction cannot be read, ask again later');
  if (ticket.lost && !(await isKnown(app, ticket.signature))) return await giveUp(app, ticket, 'the chain does not know the transaction');
}

async function look(app: App, { signature, wallet, parameters }: CheckingRow) {
  const found: VersionedTransactionResponse | null = await rpc(() =>
    app.chain.connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }),
  );
  if (found === null) return { verdict: 'unread' as const };
  return judge(found, wallet, parameters, treasuryAccounts(parameters, app.config.chain.rewardMint));
}

const statusesOf = async (app: App, signatures: readonly string[]) =>
  (await rpc(() => app.chain.connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true }))).value;

const isKnown = async (app: App, signature: string) => ((await statusesOf(app, [signature]))[0] ?? null) !== null;

/** Statuses that a node answers at once. */
const AT_ONCE = 256;

// Looked at again after a quarter of the time that it has been waited for: half a second at least, 15 s at most.
const takeDue = statement<{ ticket: string; signature: string; lost: boolean }>(
  'take_due_tickets',
  `update tickets set next_at = app_now() + least(interval '15 seconds', greatest(interval '500 milliseconds', (app_now() - asked_at) / 4))
   where id = any(array(
     select id from tickets where state = 'checking' and next_at <= app_now() order by next_at limit ${AT_ONCE} for update skip locked))
   returning id::text as ticket, signature, asked_at <= app_now() - ${LOST} as lost`,
);

/**
 * Rings for tickets that wait and whose transaction is final by now, or is to be given up: one question for all that are due, so that
 * those who name what does not exist keep nobody waiting.
 */
export async function sweepTickets(app: App): Promise<void> {
  const due = await app.tx((tx) => tx.query(takeDue));
  if (due.length === 0) return;
  const statuses = await statusesOf(
    app,
    due.map(({ signature }) => signature),
  );
  const ready = due.filter(({ lost }, i) => lost || statuses[i]?.confirmationStatus === 'finalized');
  if (ready.length > 0) await app.queues.add(ready.map(({ ticket }) => ({ job: checkTicketJob, payload: { ticket } })));
}
