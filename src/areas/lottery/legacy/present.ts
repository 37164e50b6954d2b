import type { z } from 'zod';
import { type Payment, readPayment } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { receiptOf } from '../receipts.ts';
import type { RoundRow } from '../rows.ts';
import { type LegacyRoundView, presentCommon } from '../schemas.ts';
import { ticketAccount } from './payment.ts';
import type { TicketRow } from './rows.ts';
import type { TicketView } from './schemas.ts';

interface WinningTicket {
  readonly index: number;
  readonly wallet: string;
}
const selectWinners = statement<WinningTicket & { round: string }>(
  'select_winning_tickets',
  `select id::text as round, (audit::jsonb #>> '{winners,0,index}')::int as index, audit::jsonb #>> '{winners,0,wallet}' as wallet
   from rounds where id = any($1::uuid[]) and kind = 'legacy' and state = 'finalized'`,
);

/**
 * Reads the winning tickets of rounds, by the id of the round. Only a finalized round has one. A round of free tickets also has a winning ticket, but
 * no prize.
 */
export async function readWinners(db: Queryable, rounds: readonly string[]): Promise<ReadonlyMap<string, WinningTicket>> {
  if (rounds.length === 0) return new Map();
  return new Map((await db.query(selectWinners, [rounds])).map((winner) => [winner.round, winner]));
}

/** Returns the current prize of a legacy round: the sum of the prices of all tickets, base units. */
export const prizePool = ({ ticketPrice, entries }: RoundRow): string => String(BigInt(ticketPrice ?? 0) * BigInt(entries));

type View = z.input<typeof LegacyRoundView>;

/** Returns the response bodies of legacy rounds. */
export async function presentLegacyRounds(db: Queryable, rows: readonly RoundRow[]): Promise<View[]> {
  const finalized = rows.filter(({ state }) => state === 'finalized').map(({ id }) => id);
  const winners = await readWinners(db, finalized);
  return rows.map((row) => present(row, winners.get(row.id)));
}

/** Returns the response body of a legacy round. */
export async function presentLegacyRound(db: Queryable, row: RoundRow): Promise<View> {
  return present(row, (await readWinners(db, row.state === 'finalized' ? [row.id] : [])).get(row.id));
}

function present(row: RoundRow, winner: WinningTicket | undefined): View {
  const { id, createdBy, parameters, ticketPrice, maxTickets, entryRules } = row;
  const isPaid = parameters?.kind === 'legacy' && ticketPrice !== '0';
  return {
    ...presentCommon(row),
    createdBy,
    prizePool: prizePool(row),
    ticketPrice: ticketPrice ?? '0',
    maxTickets,
    entryRules: { ...entryRules },
    payTo: isPaid ? { mint: parameters.mint, treasury: parameters.treasury, tokenAccount: ticketAccount(parameters).toBase58(), memo: id } : null,
    winningTicket: winner?.index ?? null,
    winner: winner?.wallet ?? null,
  };
}

/** Returns the response body of a ticket, with the status of its refunds. */
export async function presentTicket(app: App, ticket: TicketRow): Promise<z.input<typeof TicketView>> {
  const { id, round, wallet, signature, state, found, reason, refunds, entry, requestedAt, decidedAt } = ticket;
  const payments = await Promise.all(refunds.map(({ payment }) => readPayment(app.db, payment)));
  const accepted = state === 'confirmed' ? entry : null;
  const status = state === 'checking' ? 'pending' : state === 'refused' && !found ? 'not-found' : 'finalized';
  return {
    ...{ ticketId: id, roundId: round, wallet, status: state, ticketNumber: accepted?.index ?? null },
    transaction: signature === null ? null : { signature, status },
    receipt: accepted ? receiptOf(app, accepted) : null,
    reason,
    refunds: payments.flatMap((payment) => (payment ? [presentRefund(payment)] : [])),
    ...{ requestedAt, decidedAt },
  };
}

const presentRefund = ({ id, amount, currency, status, signature }: Payment) => ({ paymentId: id, amount, currency, status, signature });
